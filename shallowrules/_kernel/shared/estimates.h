/* The nearest centers of 16 rows, where squared distances in single precision tell which they are. */
#ifndef SHALLOWRULES_ESTIMATES_H
#define SHALLOWRULES_ESTIMATES_H

#include "shared/lanes.h"

/* Rows of doubles, n_columns x 16, as floats: less `origin`, times `scale`. */
static inline void sr_floats_portable(const double *rows, ptrdiff_t n_columns, const double *origin, double scale,
                                      float *out)
{
    for (ptrdiff_t j = 0; j < n_columns; j++)
        for (int r = 0; r < SR_LANES; r++)
            out[j * SR_LANES + r] = (float)((rows[j * SR_LANES + r] - origin[j]) * scale);
}

/* The smallest and the second smallest of each row's squared distances, and the place (0 .. n_centers - 1) of the
 * smallest: three times 16. rows: n_columns x 16; centers: n_centers x n_columns. */
static inline void sr_two_nearest_portable(const float *rows, ptrdiff_t n_columns, const float *centers,
                                           ptrdiff_t n_centers, float *smallest, float *second, float *place)
{
    for (int r = 0; r < SR_LANES; r++)
        smallest[r] = second[r] = INFINITY, place[r] = 0;
    for (ptrdiff_t c = 0; c < n_centers; c++) {
        float sum[SR_LANES] = {0};
        for (ptrdiff_t j = 0; j < n_columns; j++)
            for (int r = 0; r < SR_LANES; r++) {
                const float gap = rows[j * SR_LANES + r] - centers[c * n_columns + j];
                sum[r] += gap * gap;
            }
        for (int r = 0; r < SR_LANES; r++) {
            const float d = sum[r], least = smallest[r], larger = d < least ? least : d;
            second[r] = larger < second[r] ? larger : second[r];
            place[r] = d < least ? (float)c : place[r];
            smallest[r] = d < least ? d : least;
        }
    }
}

#if SR_HAS_X86

__attribute__((target("avx2"))) static inline void sr_floats_avx2(const double *rows, ptrdiff_t n_columns,
                                                                  const double *origin, double scale, float *out)
{
    const __m256d s = _mm256_set1_pd(scale);
    for (ptrdiff_t j = 0; j < n_columns; j++) {
        const __m256d o = _mm256_set1_pd(origin[j]);
        for (int r = 0; r < SR_LANES; r += 4) {
            const __m256d x = _mm256_loadu_pd(rows + j * SR_LANES + r);
            _mm_storeu_ps(out + j * SR_LANES + r, _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_sub_pd(x, o), s)));
        }
    }
}

/* The squared distances to four centers: two vectors for each, in registers. */
__attribute__((target("avx2,fma"), always_inline)) static inline void
sr_four_centers_avx2(const float *rows, ptrdiff_t n_columns, const float *const *centers, __m256 *sums)
{
    for (int i = 0; i < 8; i++)
        sums[i] = _mm256_setzero_ps();
    for (ptrdiff_t j = 0; j < n_columns; j++) {
        const __m256 x = _mm256_loadu_ps(rows + j * SR_LANES), y = _mm256_loadu_ps(rows + j * SR_LANES + 8);
        for (int i = 0; i < 4; i++) {
            const __m256 m = _mm256_set1_ps(centers[i][j]), g = _mm256_sub_ps(x, m), h = _mm256_sub_ps(y, m);
            sums[2 * i] = _mm256_fmadd_ps(g, g, sums[2 * i]);
            sums[2 * i + 1] = _mm256_fmadd_ps(h, h, sums[2 * i + 1]);
        }
    }
}

__attribute__((target("avx2,fma"))) static inline void
sr_two_nearest_avx2(const float *rows, ptrdiff_t n_columns, const float *centers, ptrdiff_t n_centers, float *smallest,
                    float *second, float *place)
{
    __m256 s0 = _mm256_set1_ps(INFINITY), s1 = s0, t0 = s0, t1 = s0, p0 = _mm256_setzero_ps(), p1 = p0;
    for (ptrdiff_t c = 0; c < n_centers; c += 4) {
        const float *four[4];
        __m256 sums[8];
        for (int i = 0; i < 4; i++)
            four[i] = centers + (c + i < n_centers ? c + i : n_centers - 1) * n_columns;
        sr_four_centers_avx2(rows, n_columns, four, sums);
#define SR_KEEP(NUMBER, A, B)                                                                                      \
    if (c + NUMBER < n_centers) {                                                                                  \
        const __m256 at = _mm256_set1_ps((float)(c + NUMBER));                                                     \
        p0 = _mm256_blendv_ps(p0, at, _mm256_cmp_ps(A, s0, _CMP_LT_OQ));                                           \
        p1 = _mm256_blendv_ps(p1, at, _mm256_cmp_ps(B, s1, _CMP_LT_OQ));                                           \
        t0 = _mm256_min_ps(_mm256_max_ps(s0, A), t0), s0 = _mm256_min_ps(A, s0);                                   \
        t1 = _mm256_min_ps(_mm256_max_ps(s1, B), t1), s1 = _mm256_min_ps(B, s1);                                   \
    }
        SR_KEEP(0, sums[0], sums[1])
        SR_KEEP(1, sums[2], sums[3])
        SR_KEEP(2, sums[4], sums[5])
        SR_KEEP(3, sums[6], sums[7])
#undef SR_KEEP
    }
    _mm256_storeu_ps(smallest, s0), _mm256_storeu_ps(smallest + 8, s1);
    _mm256_storeu_ps(second, t0), _mm256_storeu_ps(second + 8, t1);
    _mm256_storeu_ps(place, p0), _mm256_storeu_ps(place + 8, p1);
}

/* 16 floats are two of its vectors: there is nothing wider to gain. */
#define sr_floats_avx512 sr_floats_avx2
#define sr_two_nearest_avx512 sr_two_nearest_avx2

#endif

/* The place of the nearest center of each of 16 rows; returns whether all are certain.
 *
 * rows: of doubles, n_columns x 16; centers, share, margin: of the struct Estimates. What is beyond 1e18 may have been
 * beyond floats before. floats: scratch, n_columns x 16. */
static inline int sr_estimate_nearest(int instructions, const double *rows, ptrdiff_t n_columns, const double *origin,
                                      double scale, const float *centers, ptrdiff_t n_centers, float share,
                                      float margin, float *floats, float *place)
{
    float smallest[SR_LANES], second[SR_LANES];
    int certain = 1;
    SR_CHOOSE(sr_floats, rows, n_columns, origin, scale, floats);
    SR_CHOOSE(sr_two_nearest, floats, n_columns, centers, n_centers, smallest, second, place);
    for (int r = 0; r < SR_LANES; r++) {
        const float most = smallest[r] * (1 + share) + margin, least = second[r] * (1 - share) - margin;
        certain &= (least > most) & (least < 1e18f);
    }
    return certain;
}

#endif
