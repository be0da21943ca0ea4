/* The bounding sweep of `dense_sweep.h` in 16 bits: twice as many rows go through at once, and a row's own step and
 * the count of rows are added in one place.
 *
 * What a row adds is rounded down more coarsely, so that a cut is certain less often: for nodes of many rows, where
 * that is worth it. Units are kept less 2^15, for vectors compare and add signed numbers. Both versions give the same
 * numbers, but for units from estimates of distances, of which both are lower bounds. With AVX-512 the 256 bits of AVX2
 * are used: every such processor has them, and not every one has 16-bit arithmetic in 512.
 */
#ifndef SHALLOWRULES_NARROW_SWEEP_H
#define SHALLOWRULES_NARROW_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "dense_sweep.h"

#define SR_NARROW_CAP UINT16_MAX    /* units of one row */
#define SR_NARROW_ZERO INT16_MIN    /* no units */
#define SR_PAIRS (SR_LANES / 2)     /* sums of a cut: each of two lanes */
#define SR_TALLY_BITS 40            /* of the units in a word of the tally; above them is the number of rows */
#define SR_UNSURE 255               /* no place of a center: which is the nearest, units do not tell */

/* The factor as a float, less what it may be rounded by, so that units are not rounded up. */
static inline float sr_factor_down(double factor)
{
    return (float)(factor * (1 - 1e-6));
}

/* distances: K x 16. units: what each center adds to the cost of its row beyond the nearest, K x 16, rounded down and
 * at most SR_NARROW_CAP; first: the distance to the nearest; beyond: by lane, raised by what is cut off of the farthest
 * center, in units; nearest: 16, the place of the only center without units, or SR_UNSURE. weight: 16 or NULL. */
static inline void sr_narrow_units_portable(const double *distances, ptrdiff_t n_centers, const double *weight,
                                            double scale, int16_t *units, double *first, double *beyond,
                                            unsigned char *nearest)
{
    double farthest[SR_LANES], factor[SR_LANES];
    int n_nearest[SR_LANES] = {0};
    for (int r = 0; r < SR_LANES; r++) {
        first[r] = farthest[r] = distances[r];
        factor[r] = weight ? weight[r] * scale : scale;
    }
    for (ptrdiff_t c = 1; c < n_centers; c++)
        for (int r = 0; r < SR_LANES; r++) {
            const double other = distances[c * SR_LANES + r];
            first[r] = other < first[r] ? other : first[r];
            farthest[r] = other > farthest[r] ? other : farthest[r];
        }
    for (ptrdiff_t c = 0; c < n_centers; c++)
        for (int r = 0; r < SR_LANES; r++) {
            const double value = (distances[c * SR_LANES + r] - first[r]) * factor[r];
            const int32_t unit = (int32_t)(value < SR_NARROW_CAP ? value : SR_NARROW_CAP);
            units[c * SR_LANES + r] = (int16_t)(unit + SR_NARROW_ZERO);
            if (unit == 0)
                nearest[r] = n_nearest[r]++ ? SR_UNSURE : (unsigned char)c;
        }
    for (int r = 0; r < SR_LANES; r++) {
        const double cut_off = (farthest[r] - first[r]) * factor[r] - SR_NARROW_CAP;
        beyond[r] += cut_off > 0.0 ? cut_off : 0.0;
    }
}

/* The same from estimates of squared distances, K x 16, by the struct Estimates' share and margin: units are cut off
 * by what these may be off. scale: units per unit of an estimate; most: estimates up to which that is less than `slack`
 * units, together with rounding down. Returns whether all are, and all nearest centers are known; if not, `beyond` is as
 * it was. */
static inline int sr_estimated_units_portable(const float *estimates, ptrdiff_t n_centers, const double *weight,
                                              double scale, float share, float margin, float most, float slack,
                                              int16_t *units, double *beyond, unsigned char *nearest)
{
    float least[SR_LANES], farthest[SR_LANES], cut_offs[SR_LANES];
    int n_nearest[SR_LANES] = {0}, is_unsure = 0;
    memcpy(least, estimates, sizeof least);
    memcpy(farthest, estimates, sizeof farthest);
    for (ptrdiff_t c = 1; c < n_centers; c++)
        for (int r = 0; r < SR_LANES; r++) {
            const float other = estimates[c * SR_LANES + r];
            least[r] = other < least[r] ? other : least[r];
            farthest[r] = other > farthest[r] ? other : farthest[r];
        }
    for (int r = 0; r < SR_LANES; r++)
        if (!(farthest[r] <= most))
            return 0;
    for (int r = 0; r < SR_LANES; r++) {
        const float factor = sr_factor_down(weight ? weight[r] * scale : scale);
        const float base = least[r] * (1 + share) + 2 * margin, kept = 1 - share;
        const float cut_off = (farthest[r] - least[r]) * factor * 1.00001f + slack - SR_NARROW_CAP;
        for (ptrdiff_t c = 0; c < n_centers; c++) {
            const float gap = estimates[c * SR_LANES + r] * kept - base, value = (gap > 0 ? gap : 0) * factor;
            const int32_t unit = (int32_t)(value < SR_NARROW_CAP ? value : SR_NARROW_CAP);
            units[c * SR_LANES + r] = (int16_t)(unit + SR_NARROW_ZERO);
            if (unit == 0)
                nearest[r] = (unsigned char)c, n_nearest[r]++;
        }
        cut_offs[r] = cut_off > 0 ? cut_off : 0;
        is_unsure |= n_nearest[r] != 1;
    }
    for (int r = 0; r < SR_LANES && !is_unsure; r++)
        beyond[r] += cut_offs[r];
    return !is_unsure;
}

/* The squared distance of each of 16 rows to a center of its own, as `sr_lane_distances` sums it. */
static inline void sr_own_distances_portable(const double *rows, ptrdiff_t n_columns, const double *const *centers,
                                             double *out)
{
    memset(out, 0, SR_LANES * sizeof(double));
    for (ptrdiff_t j = 0; j < n_columns; j++)
        for (int r = 0; r < SR_LANES; r++) {
            const double gap = rows[j * SR_LANES + r] - centers[r][j];
            out[r] += gap * gap;
        }
}

/* Codes clipped to those of the outermost centers; beyond `count`, up to the end of a group, the lowest. */
#define SR_DEFINE_NARROW_PLACES(SUFFIX, ATTRIBUTE)                                                                 \
    ATTRIBUTE static inline void sr_narrow_places##SUFFIX(const uint16_t *restrict codes, ptrdiff_t count,         \
                                                          uint16_t low, uint16_t high, int16_t *restrict place)    \
    {                                                                                                              \
        for (ptrdiff_t i = 0; i < count; i++) {                                                                    \
            const uint16_t code = codes[i] < low ? low : codes[i];                                                 \
            place[i] = (int16_t)(code > high ? high : code);                                                       \
        }                                                                                                          \
        for (ptrdiff_t i = count; i % SR_LANES; i++)                                                               \
            place[i] = (int16_t)low;                                                                               \
    }

SR_DEFINE_NARROW_PLACES(_portable, )

/* As `sr_dense_sweep`, of codes below 2^15, but for what becomes of a row's own step. Its nearest center is left or
 * right of a cut and adds nothing there, so that a step is what the other side adds: own, and cell, twice the place of
 * the row, and one more if the step is downwards. sums: K x 8, with units that are kept less 2^15. */
static inline void sr_narrow_sweep_portable(const int16_t *units, ptrdiff_t n_groups, ptrdiff_t n_centers,
                                            const int32_t *at, const int32_t *q, const int16_t *place, int32_t *sums,
                                            uint16_t *own, uint16_t *cell)
{
    int16_t right[SR_MAX_DENSE][SR_LANES], left[SR_LANES];
    const ptrdiff_t last = n_centers - 1;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        const int16_t *u = units + g * n_centers * SR_LANES, *p = place + g * SR_LANES;
        uint16_t *o = own + g * SR_LANES, *c = cell + g * SR_LANES;
        for (int r = 0; r < SR_LANES; r++) {
            o[r] = 0;
            c[r] = (uint16_t)(2 * p[r]);
            left[r] = INT16_MAX;
            right[last][r] = u[at[last] * SR_LANES + r];
        }
        for (ptrdiff_t j = last - 1; j > 0; j--)
            for (int r = 0; r < SR_LANES; r++) {
                const int16_t x = u[at[j] * SR_LANES + r];
                right[j][r] = x < right[j + 1][r] ? x : right[j + 1][r];
            }
        for (ptrdiff_t j = 0; j < last; j++)
            for (int r = 0; r < SR_LANES; r++) {
                const int16_t x = u[at[j] * SR_LANES + r], y = right[j + 1][r];
                left[r] = x < left[r] ? x : left[r];
                sums[j * SR_PAIRS + r / 2] += p[r] <= q[j] ? left[r] : y;
                if (p[r] > q[j]) { /* the last cut that a row is right of is its own */
                    o[r] = (uint16_t)((left[r] < y ? y : left[r]) - SR_NARROW_ZERO);
                    c[r] = (uint16_t)(2 * p[r] + (left[r] < y));
                }
            }
    }
}

#if SR_HAS_X86
SR_DEFINE_NARROW_PLACES(_avx2, __attribute__((target("avx2"))))

#define SR_NARROW_256(gap, factor)                                                                                 \
    _mm_add_epi32(_mm256_cvttpd_epi32(_mm256_min_pd(_mm256_mul_pd(gap, factor), _mm256_set1_pd(SR_NARROW_CAP))),   \
                  _mm_set1_epi32(SR_NARROW_ZERO))

/* GCC does not convert to 16 bits by vectors: four at a time, and packed. */
__attribute__((target("avx2"))) static inline void sr_narrow_units_avx2(
    const double *distances, ptrdiff_t n_centers, const double *weight, double scale, int16_t *units, double *first,
    double *beyond, unsigned char *nearest)
{
    const __m128i nothing = _mm_set1_epi16(SR_NARROW_ZERO), one = _mm_set1_epi16(1), places = _mm_set1_epi16(255);
    const __m256d cap = _mm256_set1_pd(SR_NARROW_CAP), zero = _mm256_setzero_pd();
    for (int r = 0; r < SR_LANES; r += 8) {
        __m256d least = _mm256_loadu_pd(distances + r), least_too = _mm256_loadu_pd(distances + r + 4);
        __m256d most = least, most_too = least_too, factor = _mm256_set1_pd(scale), factor_too = factor;
        __m128i here = _mm_set1_epi16(256), found = _mm_setzero_si128(); /* a place, and how many in the higher byte */
        for (ptrdiff_t c = 1; c < n_centers; c++) {
            const __m256d d = _mm256_loadu_pd(distances + c * SR_LANES + r);
            const __m256d d_too = _mm256_loadu_pd(distances + c * SR_LANES + r + 4);
            least = _mm256_min_pd(d, least);
            least_too = _mm256_min_pd(d_too, least_too);
            most = _mm256_max_pd(d, most);
            most_too = _mm256_max_pd(d_too, most_too);
        }
        if (weight) {
            factor = _mm256_mul_pd(_mm256_loadu_pd(weight + r), factor);
            factor_too = _mm256_mul_pd(_mm256_loadu_pd(weight + r + 4), factor_too);
        }
        for (ptrdiff_t c = 0; c < n_centers; c++) {
            const __m256d gap = _mm256_sub_pd(_mm256_loadu_pd(distances + c * SR_LANES + r), least);
            const __m256d gap_too = _mm256_sub_pd(_mm256_loadu_pd(distances + c * SR_LANES + r + 4), least_too);
            const __m128i unit = _mm_packs_epi32(SR_NARROW_256(gap, factor), SR_NARROW_256(gap_too, factor_too));
            _mm_storeu_si128((__m128i *)(units + c * SR_LANES + r), unit);
            found = _mm_add_epi16(found, _mm_and_si128(_mm_cmpeq_epi16(unit, nothing), here));
            here = _mm_add_epi16(here, one);
        }
        here = _mm_cmpeq_epi16(_mm_srli_epi16(found, 8), one); /* one is the nearest; SR_UNSURE are all bits of a byte */
        found = _mm_or_si128(_mm_and_si128(found, places), _mm_andnot_si128(here, places));
        _mm_storel_epi64((__m128i *)(nearest + r), _mm_packus_epi16(found, found));
        most = _mm256_max_pd(_mm256_sub_pd(_mm256_mul_pd(_mm256_sub_pd(most, least), factor), cap), zero);
        most_too = _mm256_max_pd(_mm256_sub_pd(_mm256_mul_pd(_mm256_sub_pd(most_too, least_too), factor_too), cap), zero);
        _mm256_storeu_pd(first + r, least);
        _mm256_storeu_pd(first + r + 4, least_too);
        _mm256_storeu_pd(beyond + r, _mm256_add_pd(_mm256_loadu_pd(beyond + r), most));
        _mm256_storeu_pd(beyond + r + 4, _mm256_add_pd(_mm256_loadu_pd(beyond + r + 4), most_too));
    }
}

__attribute__((target("avx2"))) static inline void
sr_own_distances_avx2(const double *rows, ptrdiff_t n_columns, const double *const *centers, double *out)
{
    for (int r = 0; r < SR_LANES; r += 4) {
        const double *a = centers[r], *b = centers[r + 1], *c = centers[r + 2], *d = centers[r + 3];
        __m256d sum = _mm256_setzero_pd();
        for (ptrdiff_t j = 0; j < n_columns; j++) {
            const __m256d gap = _mm256_sub_pd(_mm256_loadu_pd(rows + j * SR_LANES + r),
                                              _mm256_set_pd(d[j], c[j], b[j], a[j]));
            sum = _mm256_add_pd(sum, _mm256_mul_pd(gap, gap));
        }
        _mm256_storeu_pd(out + r, sum);
    }
}

#define SR_ESTIMATED_256(estimate, base, factor)                                                                   \
    _mm256_cvttps_epi32(_mm256_min_ps(                                                                             \
        _mm256_mul_ps(_mm256_max_ps(_mm256_sub_ps(_mm256_mul_ps(estimate, kept), base), zero), factor), cap))

__attribute__((target("avx2"))) static inline int sr_estimated_units_avx2(
    const float *estimates, ptrdiff_t n_centers, const double *weight, double scale, float share, float margin,
    float most, float slack, int16_t *units, double *beyond, unsigned char *nearest)
{
    const __m256 zero = _mm256_setzero_ps(), cap = _mm256_set1_ps(SR_NARROW_CAP), kept = _mm256_set1_ps(1 - share);
    const __m256i nothing = _mm256_set1_epi16(SR_NARROW_ZERO), one = _mm256_set1_epi16(1);
    const __m256i places = _mm256_set1_epi16(255), lowest = _mm256_set1_epi32(SR_NARROW_ZERO);
    __m256i here = _mm256_set1_epi16(256), found = _mm256_setzero_si256(); /* a place, and how many above it */
    __m256 least = _mm256_loadu_ps(estimates), least_too = _mm256_loadu_ps(estimates + 8);
    __m256 far = least, far_too = least_too, base, base_too, cut_off, cut_off_too;
    float factor[SR_LANES], cut_offs[SR_LANES];
    __m256 f, f_too;
    for (ptrdiff_t c = 1; c < n_centers; c++) {
        const __m256 d = _mm256_loadu_ps(estimates + c * SR_LANES), e = _mm256_loadu_ps(estimates + c * SR_LANES + 8);
        least = _mm256_min_ps(d, least), least_too = _mm256_min_ps(e, least_too);
        far = _mm256_max_ps(d, far), far_too = _mm256_max_ps(e, far_too);
    }
    if (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_max_ps(far, far_too), _mm256_set1_ps(most), _CMP_NLE_UQ)))
        return 0;
    for (int r = 0; r < SR_LANES; r++)
        factor[r] = sr_factor_down(weight ? weight[r] * scale : scale);
    f = _mm256_loadu_ps(factor), f_too = _mm256_loadu_ps(factor + 8);
    base = _mm256_add_ps(_mm256_mul_ps(least, _mm256_set1_ps(1 + share)), _mm256_set1_ps(2 * margin));
    base_too = _mm256_add_ps(_mm256_mul_ps(least_too, _mm256_set1_ps(1 + share)), _mm256_set1_ps(2 * margin));
    for (ptrdiff_t c = 0; c < n_centers; c++) {
        const __m256i a = SR_ESTIMATED_256(_mm256_loadu_ps(estimates + c * SR_LANES), base, f);
        const __m256i b = SR_ESTIMATED_256(_mm256_loadu_ps(estimates + c * SR_LANES + 8), base_too, f_too);
        const __m256i packed = _mm256_packs_epi32(_mm256_add_epi32(a, lowest), _mm256_add_epi32(b, lowest));
        const __m256i unit = _mm256_permute4x64_epi64(packed, 0xD8); /* it packs halves */
        SR_STORE_256(units + c * SR_LANES, unit);
        found = _mm256_add_epi16(found, _mm256_and_si256(_mm256_cmpeq_epi16(unit, nothing), here));
        here = _mm256_add_epi16(here, one);
    }
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_srli_epi16(found, 8), one)) != -1)
        return 0;
    found = _mm256_and_si256(found, places);
    _mm_storeu_si128((__m128i *)nearest,
                     _mm_packus_epi16(_mm256_castsi256_si128(found), _mm256_extracti128_si256(found, 1)));
    cut_off = _mm256_mul_ps(_mm256_mul_ps(_mm256_sub_ps(far, least), f), _mm256_set1_ps(1.00001f));
    cut_off_too = _mm256_mul_ps(_mm256_mul_ps(_mm256_sub_ps(far_too, least_too), f_too), _mm256_set1_ps(1.00001f));
    cut_off = _mm256_sub_ps(_mm256_add_ps(cut_off, _mm256_set1_ps(slack)), cap);
    cut_off_too = _mm256_sub_ps(_mm256_add_ps(cut_off_too, _mm256_set1_ps(slack)), cap);
    if (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_max_ps(cut_off, cut_off_too), zero, _CMP_GT_OQ))) {
        _mm256_storeu_ps(cut_offs, cut_off), _mm256_storeu_ps(cut_offs + 8, cut_off_too);
        for (int r = 0; r < SR_LANES; r++)
            beyond[r] += cut_offs[r] > 0 ? cut_offs[r] : 0;
    }
    return 1;
}

/* Write what becomes of the own steps of 16 rows: what the left side of its cut adds, and the right one. */
__attribute__((target("avx2"))) static inline void sr_narrow_own_avx2(__m256i x, __m256i y, __m256i place,
                                                                      uint16_t *own, uint16_t *cell)
{
    const __m256i most = _mm256_xor_si256(_mm256_max_epi16(x, y), _mm256_set1_epi16(SR_NARROW_ZERO));
    const __m256i is_down = _mm256_cmpgt_epi16(y, x);
    SR_STORE_256(own, most);
    SR_STORE_256(cell, _mm256_sub_epi16(_mm256_add_epi16(place, place), is_down));
}

/* 16 rows in a vector, two groups at a time as in `SR_DEFINE_DENSE`. Neighbors are added to 32 bits. */
__attribute__((target("avx2"))) static inline void sr_narrow_sweep_avx2(
    const int16_t *units, ptrdiff_t n_groups, ptrdiff_t n_centers, const int32_t *at, const int32_t *q,
    const int16_t *place, int32_t *sums, uint16_t *own, uint16_t *cell)
{
    __m256i right[SR_MAX_DENSE], right_too[SR_MAX_DENSE];
    const __m256i ones = _mm256_set1_epi16(1), nothing = _mm256_set1_epi16(SR_NARROW_ZERO);
    const ptrdiff_t last = n_centers - 1, size = n_centers * SR_LANES;
    for (ptrdiff_t g = 0; g < n_groups; g += 2) {
        const int is_pair = g + 1 < n_groups; /* else the last group goes through twice, and is added once */
        const ptrdiff_t row = g * SR_LANES, row_too = row + is_pair * SR_LANES;
        const int16_t *u = units + g * size, *v = is_pair ? u + size : u;
        const __m256i ones_too = is_pair ? ones : _mm256_setzero_si256();
        const __m256i p = SR_LOAD_256(place + row), p_too = SR_LOAD_256(place + row_too);
        __m256i x = SR_LOAD_256(u + at[last] * SR_LANES), x_too = SR_LOAD_256(v + at[last] * SR_LANES);
        __m256i own_x = nothing, own_y = nothing, own_x_too = nothing, own_y_too = nothing;
        right[last] = x;
        right_too[last] = x_too;
        for (ptrdiff_t j = last - 1; j > 0; j--) {
            const ptrdiff_t here = at[j] * SR_LANES;
            right[j] = x = _mm256_min_epi16(x, SR_LOAD_256(u + here));
            right_too[j] = x_too = _mm256_min_epi16(x_too, SR_LOAD_256(v + here));
        }
        x = x_too = _mm256_set1_epi16(INT16_MAX);
        for (ptrdiff_t j = 0; j < last; j++) {
            const ptrdiff_t here = at[j] * SR_LANES;
            int32_t *s = sums + j * SR_PAIRS;
            const __m256i y = right[j + 1], y_too = right_too[j + 1];
            const __m256i code = _mm256_set1_epi16((int16_t)q[j]);
            const __m256i is_right = _mm256_cmpgt_epi16(p, code), is_right_too = _mm256_cmpgt_epi16(p_too, code);
            __m256i added, added_too;
            x = _mm256_min_epi16(x, SR_LOAD_256(u + here));
            x_too = _mm256_min_epi16(x_too, SR_LOAD_256(v + here));
            added = _mm256_madd_epi16(SR_BLEND_256(is_right, x, y), ones);
            added_too = _mm256_madd_epi16(SR_BLEND_256(is_right_too, x_too, y_too), ones_too);
            SR_STORE_256(s, _mm256_add_epi32(SR_LOAD_256(s), _mm256_add_epi32(added, added_too)));
            own_x = SR_BLEND_256(is_right, own_x, x);
            own_y = SR_BLEND_256(is_right, own_y, y);
            own_x_too = SR_BLEND_256(is_right_too, own_x_too, x_too);
            own_y_too = SR_BLEND_256(is_right_too, own_y_too, y_too);
        }
        sr_narrow_own_avx2(own_x_too, own_y_too, p_too, own + row_too, cell + row_too);
        sr_narrow_own_avx2(own_x, own_y, p, own + row, cell + row);
    }
}

#define SR_CHOOSE_NARROW(FUNCTION, ...)                                                                            \
    do {                                                                                                           \
        if (instructions >= SR_AVX2)                                                                               \
            FUNCTION##_avx2(__VA_ARGS__);                                                                          \
        else                                                                                                       \
            FUNCTION##_portable(__VA_ARGS__);                                                                      \
    } while (0)
#else
#define SR_CHOOSE_NARROW SR_CHOOSE
#endif

static inline void sr_narrow_units(int instructions, const double *distances, ptrdiff_t n_centers,
                                   const double *weight, double scale, int16_t *units, double *first, double *beyond,
                                   unsigned char *nearest)
{
    SR_CHOOSE_NARROW(sr_narrow_units, distances, n_centers, weight, scale, units, first, beyond, nearest);
}

static inline int sr_estimated_units(int instructions, const float *estimates, ptrdiff_t n_centers,
                                     const double *weight, double scale, float share, float margin, float most,
                                     float slack, int16_t *units, double *beyond, unsigned char *nearest)
{
    int all;
    SR_CHOOSE_NARROW(all = sr_estimated_units, estimates, n_centers, weight, scale, share, margin, most, slack, units,
                     beyond, nearest);
    return all;
}

/* The squared distance of each of 16 rows to its nearest center, as `sr_lane_distances` sums it. rows: n_columns x 16;
 * centers: picked by ids; nearest: places in ids. */
static inline void sr_nearest_distances(int instructions, const double *rows, ptrdiff_t n_columns,
                                        const double *centers, const int *ids, const unsigned char *nearest,
                                        double *first)
{
    const double *center[SR_LANES];
    for (int r = 0; r < SR_LANES; r++)
        center[r] = centers + (ptrdiff_t)ids[nearest[r]] * n_columns;
    SR_CHOOSE_NARROW(sr_own_distances, rows, n_columns, center, first);
}

static inline void sr_narrow_places(int instructions, const uint16_t *codes, ptrdiff_t count, uint16_t low,
                                    uint16_t high, int16_t *place)
{
    SR_CHOOSE_NARROW(sr_narrow_places, codes, count, low, high, place);
}

static inline void sr_narrow_sweep(int instructions, const int16_t *units, ptrdiff_t n_groups, ptrdiff_t n_centers,
                                   const int32_t *at, const int32_t *q, const int16_t *place, int32_t *sums,
                                   uint16_t *own, uint16_t *cell)
{
    SR_CHOOSE_NARROW(sr_narrow_sweep, units, n_groups, n_centers, at, q, place, sums, own, cell);
}

/* Count the rows by code, with their own steps, up and down apart, two words for each code: fewer than 2^24 rows. */
static inline void sr_narrow_tally(const uint16_t *cell, const uint16_t *own, ptrdiff_t count, uint64_t *words)
{
    for (ptrdiff_t i = 0; i < count; i++)
        words[cell[i]] += ((uint64_t)1 << SR_TALLY_BITS) + own[i];
}

/* Add the words of `count` codes to their tallies, and set them to 0. */
static inline void sr_unpack(uint64_t *words, ptrdiff_t count, sr_tally *tally)
{
    const uint64_t units = ((uint64_t)1 << SR_TALLY_BITS) - 1;
    for (ptrdiff_t i = 0; i < count; i++) {
        const uint64_t up = words[2 * i], down = words[2 * i + 1];
        tally[i].step_up += (int64_t)(up & units);
        tally[i].step_down += (int64_t)(down & units);
        tally[i].rows += (int64_t)((up >> SR_TALLY_BITS) + (down >> SR_TALLY_BITS));
        words[2 * i] = words[2 * i + 1] = 0;
    }
}

#endif
