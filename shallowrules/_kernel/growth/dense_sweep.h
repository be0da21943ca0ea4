/* Vector code for nodes of few centers: what each cut of a feature would cost (InducedCost), summed over the rows.
 * Every center is looked at, whatever the values, so that 4 to 16 rows go through at once.
 *
 * Centers 0 .. K-1 stand in the order of the feature; cut j lies between centers j and j+1. A row
 * left of cut j adds the least of its centers 0 .. j, a row right of it the least of j+1 .. K-1. A
 * row whose value lies between the two centers is right of some thresholds there and left of the
 * others: it counts as right, and the amount that it adds once it is left (its own step) is kept separately.
 *
 * The bounding sweep counts in int32, rounded down and capped; the exact one in int64. All versions
 * give the same numbers.
 */
#ifndef SHALLOWRULES_DENSE_SWEEP_H
#define SHALLOWRULES_DENSE_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "../shared/lanes.h"
#include "list_sweep.h"

#define SR_MAX_DENSE 128                 /* centers of a dense node */
#define SR_UNIT_CAP (1 << 24)       /* units of one row: 127 of them fit in a lane */

/* distances: K x 16. sr_dense_units: what each center adds to the cost of its row beyond the nearest,
 * K x 16, rounded down and at most SR_UNIT_CAP; first: the distance to the nearest; largest: 16, raised to the
 * largest of each lane. weight: 16 or NULL.
 * sr_dense_exact_units: the same, rounded to the nearest, at most `cap` (below 2^51), at least one unit if not 0:
 * 1.5 * 2^52 is added, so that the last bits of the sum are the rounded value. */
#define SR_DEFINE_UNITS(SUFFIX, ATTRIBUTE)                                                                         \
    ATTRIBUTE static void sr_dense_units##SUFFIX(const double *distances, ptrdiff_t n_centers,                     \
                                                 const double *weight, double scale, int32_t *units,               \
                                                 double *first, int32_t *largest)                                  \
    {                                                                                                              \
        double factor[SR_LANES], nearest[SR_LANES];                                                                \
        int32_t most[SR_LANES]; /* not in `largest` itself, where each unit might be written too */                \
        sr_nearest##SUFFIX(distances, n_centers, nearest);                                                         \
        for (int r = 0; r < SR_LANES; r++) {                                                                       \
            factor[r] = weight ? weight[r] * scale : scale;                                                        \
            first[r] = nearest[r];                                                                                 \
            most[r] = largest[r];                                                                                  \
        }                                                                                                          \
        for (ptrdiff_t c = 0; c < n_centers; c++)                                                                  \
            for (int r = 0; r < SR_LANES; r++) {                                                                   \
                const double value = (distances[c * SR_LANES + r] - nearest[r]) * factor[r];                       \
                const int32_t unit = (int32_t)(value < SR_UNIT_CAP ? value : SR_UNIT_CAP);                         \
                units[c * SR_LANES + r] = unit;                                                                    \
                most[r] = unit > most[r] ? unit : most[r];                                                         \
            }                                                                                                      \
        for (int r = 0; r < SR_LANES; r++)                                                                         \
            largest[r] = most[r];                                                                                  \
    }                                                                                                              \
                                                                                                                   \
    ATTRIBUTE static void sr_dense_exact_units##SUFFIX(const double *distances, ptrdiff_t n_centers,               \
                                                       const double *weight, double scale, double cap,             \
                                                       int64_t *units)                                             \
    {                                                                                                              \
        double first[SR_LANES];                                                                                    \
        sr_nearest##SUFFIX(distances, n_centers, first);                                                           \
        for (ptrdiff_t c = 0; c < n_centers; c++)                                                                  \
            for (int r = 0; r < SR_LANES; r++) {                                                                   \
                const double gap = distances[c * SR_LANES + r] - first[r], cost = weight ? weight[r] * gap : gap;  \
                double value = cost * scale;                                                                       \
                int64_t bits;                                                                                      \
                value = value < cap ? value : cap;                                                                 \
                value = cost > 0.0 && value < 1.0 ? 1.0 : value;                                                   \
                value += 6755399441055744.0;                                                                       \
                memcpy(&bits, &value, sizeof bits);                                                                \
                units[c * SR_LANES + r] = bits - 0x4338000000000000LL;                                             \
            }                                                                                                      \
    }

static inline void sr_nearest_portable(const double *distances, ptrdiff_t n_centers, double *first)
{
    memcpy(first, distances, SR_LANES * sizeof(double));
    for (ptrdiff_t c = 1; c < n_centers; c++)
        for (int r = 0; r < SR_LANES; r++) {
            const double other = distances[c * SR_LANES + r];
            first[r] = other < first[r] ? other : first[r];
        }
}

SR_DEFINE_UNITS(_portable, )

/* Codes clipped to those of the outermost centers; beyond `count`, up to the end of a group, the lowest. */
#define SR_DEFINE_PLACES(SUFFIX, ATTRIBUTE)                                                                        \
    ATTRIBUTE static void sr_dense_places##SUFFIX(const uint16_t *restrict codes, ptrdiff_t count, int32_t low,    \
                                                  int32_t high, int32_t *restrict place)                           \
    {                                                                                                              \
        for (ptrdiff_t i = 0; i < count; i++) {                                                                    \
            const int32_t code = codes[i] < low ? low : codes[i];                                                  \
            place[i] = code > high ? high : code;                                                                  \
        }                                                                                                          \
        for (ptrdiff_t i = count; i % SR_LANES; i++)                                                               \
            place[i] = low;                                                                                        \
    }

SR_DEFINE_PLACES(_portable, )

/* units: per group of 16 rows, K x 16; at: place of each center in `units`; q: codes of the centers;
 * place: clipped codes, 16 per group; sums: K x 16, added to; own: by row. */
#define SR_DEFINE_DENSE_PORTABLE(NAME, UNIT, HIGHEST)                                                              \
    static inline void NAME(const UNIT *units, ptrdiff_t n_groups, ptrdiff_t n_centers, const int32_t *at,         \
                            const int32_t *q, const int32_t *place, UNIT *sums, UNIT *own)                         \
    {                                                                                                              \
        UNIT right[SR_MAX_DENSE][SR_LANES], left[SR_LANES];                                                             \
        const ptrdiff_t last = n_centers - 1;                                                                      \
        for (ptrdiff_t g = 0; g < n_groups; g++) {                                                                 \
            const UNIT *u = units + g * n_centers * SR_LANES;                                                      \
            const int32_t *p = place + g * SR_LANES;                                                               \
            UNIT *o = own + g * SR_LANES;                                                                          \
            for (int r = 0; r < SR_LANES; r++) {                                                                   \
                o[r] = 0;                                                                                          \
                left[r] = HIGHEST;                                                                                 \
                right[last][r] = u[at[last] * SR_LANES + r];                                                       \
            }                                                                                                      \
            for (ptrdiff_t j = last - 1; j > 0; j--)                                                               \
                for (int r = 0; r < SR_LANES; r++) {                                                               \
                    const UNIT x = u[at[j] * SR_LANES + r];                                                        \
                    right[j][r] = x < right[j + 1][r] ? x : right[j + 1][r];                                       \
                }                                                                                                  \
            for (ptrdiff_t j = 0; j < last; j++)                                                                   \
                for (int r = 0; r < SR_LANES; r++) {                                                               \
                    const UNIT x = u[at[j] * SR_LANES + r], y = right[j + 1][r];                                   \
                    left[r] = x < left[r] ? x : left[r];                                                           \
                    sums[j * SR_LANES + r] += p[r] <= q[j] ? left[r] : y;                                          \
                    o[r] = p[r] > q[j] ? left[r] - y : o[r]; /* the row's own step is at the last cut to its left */  \
                }                                                                                                  \
        }                                                                                                          \
    }

SR_DEFINE_DENSE_PORTABLE(sr_dense_sweep_portable, int32_t, INT32_MAX)
SR_DEFINE_DENSE_PORTABLE(sr_dense_exact_portable, int64_t, INT64_MAX)

#if SR_HAS_X86
/* sr_nearest_portable, W rows in a vector, two vectors at a time: GCC takes its loop apart into one row at a time. */
#define SR_DEFINE_LEAST(NAME, TARGET, W, VEC, LOAD, STORE, MIN)                                                  \
    __attribute__((target(TARGET))) static inline void NAME(const double *distances, ptrdiff_t n_centers,          \
                                                            double *first)                                         \
    {                                                                                                              \
        for (int r = 0; r < SR_LANES; r += 2 * W) {                                                                \
            VEC least = LOAD(distances + r), least_too = LOAD(distances + r + W);                                  \
            for (const double *d = distances + r + SR_LANES; d < distances + n_centers * SR_LANES; d += SR_LANES) { \
                least = MIN(LOAD(d), least);                                                                       \
                least_too = MIN(LOAD(d + W), least_too);                                                           \
            }                                                                                                      \
            STORE(first + r, least);                                                                               \
            STORE(first + r + W, least_too);                                                                       \
        }                                                                                                          \
    }

SR_DEFINE_LEAST(sr_nearest_avx2, "avx2", 4, __m256d, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_min_pd)
SR_DEFINE_LEAST(sr_nearest_avx512, "avx512f", 8, __m512d, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_min_pd)
SR_DEFINE_UNITS(_avx2, __attribute__((target("avx2"))))
SR_DEFINE_UNITS(_avx512, __attribute__((target("avx512f"))))
SR_DEFINE_PLACES(_avx2, __attribute__((target("avx2"))))
SR_DEFINE_PLACES(_avx512, __attribute__((target("avx512f"))))

/* SR_DEFINE_DENSE_PORTABLE, W rows in a vector. Two groups go through together: they share the data read for the
 * centers, and the sums are written once for both. */
#define SR_DEFINE_DENSE(NAME, TARGET, UNIT, HIGHEST, W, VEC, MASK, LOAD, STORE, CODES, SET, MIN, ADD, SUB, GT,     \
                        BLEND)                                                                                     \
    __attribute__((target(TARGET))) static void NAME(                                                              \
        const UNIT *units, ptrdiff_t n_groups, ptrdiff_t n_centers, const int32_t *at, const int32_t *q,           \
        const int32_t *place, UNIT *sums, UNIT *own)                                                               \
    {                                                                                                              \
        VEC right[SR_MAX_DENSE], right_too[SR_MAX_DENSE];                                                          \
        const ptrdiff_t last = n_centers - 1, size = n_centers * SR_LANES;                                         \
        ptrdiff_t g = 0;                                                                                           \
        for (; g + 1 < n_groups; g += 2)                                                                           \
            for (ptrdiff_t lane = 0; lane < SR_LANES; lane += W) {                                                 \
                const UNIT *u = units + g * size + lane, *v = u + size;                                            \
                const ptrdiff_t row = g * SR_LANES + lane;                                                         \
                UNIT *s = sums + lane;                                                                             \
                const VEC p = CODES(place + row), p_too = CODES(place + row + SR_LANES);                           \
                VEC x = LOAD(u + at[last] * SR_LANES), x_too = LOAD(v + at[last] * SR_LANES);                      \
                VEC step = SET(0), step_too = SET(0);                                                              \
                right[last] = x;                                                                                   \
                right_too[last] = x_too;                                                                           \
                for (ptrdiff_t j = last - 1; j > 0; j--) {                                                         \
                    const ptrdiff_t here = at[j] * SR_LANES;                                                       \
                    right[j] = x = MIN(x, LOAD(u + here));                                                         \
                    right_too[j] = x_too = MIN(x_too, LOAD(v + here));                                             \
                }                                                                                                  \
                x = x_too = SET(HIGHEST);                                                                          \
                for (ptrdiff_t j = 0; j < last; j++) {                                                             \
                    const ptrdiff_t here = at[j] * SR_LANES;                                                       \
                    const VEC y = right[j + 1], y_too = right_too[j + 1], code = SET(q[j]);                        \
                    const MASK is_right = GT(p, code), is_right_too = GT(p_too, code);                             \
                    x = MIN(x, LOAD(u + here));                                                                    \
                    x_too = MIN(x_too, LOAD(v + here));                                                            \
                    STORE(s + j * SR_LANES, ADD(LOAD(s + j * SR_LANES), ADD(BLEND(is_right, x, y),                 \
                                                                            BLEND(is_right_too, x_too, y_too))));  \
                    step = BLEND(is_right, step, SUB(x, y));                                                       \
                    step_too = BLEND(is_right_too, step_too, SUB(x_too, y_too));                                   \
                }                                                                                                  \
                STORE(own + row, step);                                                                            \
                STORE(own + row + SR_LANES, step_too);                                                             \
            }                                                                                                      \
        for (ptrdiff_t lane = 0; g < n_groups && lane < SR_LANES; lane += W) {                                     \
            const UNIT *u = units + g * size + lane;                                                               \
            UNIT *s = sums + lane;                                                                                 \
            const VEC p = CODES(place + g * SR_LANES + lane);                                                      \
            VEC x = LOAD(u + at[last] * SR_LANES), step = SET(0);                                                  \
            right[last] = x;                                                                                       \
            for (ptrdiff_t j = last - 1; j > 0; j--)                                                               \
                right[j] = x = MIN(x, LOAD(u + at[j] * SR_LANES));                                                 \
            x = SET(HIGHEST);                                                                                      \
            for (ptrdiff_t j = 0; j < last; j++) {                                                                 \
                const VEC y = right[j + 1];                                                                        \
                const MASK is_right = GT(p, SET(q[j]));                                                            \
                x = MIN(x, LOAD(u + at[j] * SR_LANES));                                                            \
                STORE(s + j * SR_LANES, ADD(LOAD(s + j * SR_LANES), BLEND(is_right, x, y)));                       \
                step = BLEND(is_right, step, SUB(x, y));                                                           \
            }                                                                                                      \
            STORE(own + g * SR_LANES + lane, step);                                                                \
        }                                                                                                          \
    }

#define SR_LOAD_256(p) _mm256_loadu_si256((const __m256i *)(p))
#define SR_STORE_256(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define SR_BLEND_256(m, a, b) _mm256_blendv_epi8(a, b, m)
#define SR_MIN_256_LONG(a, b) _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b))
#define SR_CODES_256_LONG(p) _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(p)))
#define SR_LOAD_512(p) _mm512_loadu_si512((const void *)(p))
#define SR_STORE_512(p, v) _mm512_storeu_si512((void *)(p), v)
#define SR_CODES_512_LONG(p) _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(p)))

SR_DEFINE_DENSE(sr_dense_sweep_avx2, "avx2", int32_t, INT32_MAX, 8, __m256i, __m256i, SR_LOAD_256, SR_STORE_256,
                SR_LOAD_256, _mm256_set1_epi32, _mm256_min_epi32, _mm256_add_epi32, _mm256_sub_epi32,
                _mm256_cmpgt_epi32, SR_BLEND_256)
SR_DEFINE_DENSE(sr_dense_exact_avx2, "avx2", int64_t, INT64_MAX, 4, __m256i, __m256i, SR_LOAD_256, SR_STORE_256,
                SR_CODES_256_LONG, _mm256_set1_epi64x, SR_MIN_256_LONG, _mm256_add_epi64, _mm256_sub_epi64,
                _mm256_cmpgt_epi64, SR_BLEND_256)
SR_DEFINE_DENSE(sr_dense_sweep_avx512, "avx512f", int32_t, INT32_MAX, 16, __m512i, __mmask16, SR_LOAD_512,
                SR_STORE_512, SR_LOAD_512, _mm512_set1_epi32, _mm512_min_epi32, _mm512_add_epi32, _mm512_sub_epi32,
                _mm512_cmpgt_epi32_mask, _mm512_mask_blend_epi32)
SR_DEFINE_DENSE(sr_dense_exact_avx512, "avx512f", int64_t, INT64_MAX, 8, __m512i, __mmask8, SR_LOAD_512,
                SR_STORE_512, SR_CODES_512_LONG, _mm512_set1_epi64, _mm512_min_epi64, _mm512_add_epi64,
                _mm512_sub_epi64, _mm512_cmpgt_epi64_mask, _mm512_mask_blend_epi64)
#endif

static inline void sr_dense_places(int instructions, const uint16_t *codes, ptrdiff_t count, int32_t low,
                                   int32_t high, int32_t *place)
{
    SR_CHOOSE(sr_dense_places, codes, count, low, high, place);
}

static inline void sr_dense_units(int instructions, const double *distances, ptrdiff_t n_centers,
                                  const double *weight, double scale, int32_t *units, double *first,
                                  int32_t *largest)
{
    SR_CHOOSE(sr_dense_units, distances, n_centers, weight, scale, units, first, largest);
}

static inline void sr_dense_exact_units(int instructions, const double *distances, ptrdiff_t n_centers,
                                        const double *weight, double scale, double cap, int64_t *units)
{
    SR_CHOOSE(sr_dense_exact_units, distances, n_centers, weight, scale, cap, units);
}

static inline void sr_dense_sweep(int instructions, const int32_t *units, ptrdiff_t n_groups, ptrdiff_t n_centers,
                                  const int32_t *at, const int32_t *q, const int32_t *place, int32_t *sums,
                                  int32_t *own)
{
    SR_CHOOSE(sr_dense_sweep, units, n_groups, n_centers, at, q, place, sums, own);
}

static inline void sr_dense_exact(int instructions, const int64_t *units, ptrdiff_t n_groups, ptrdiff_t n_centers,
                                  const int32_t *at, const int32_t *q, const int32_t *place, int64_t *sums,
                                  int64_t *own)
{
    SR_CHOOSE(sr_dense_exact, units, n_groups, n_centers, at, q, place, sums, own);
}

/* The most centers of a dense node: beyond it, walking lists is faster. Without vectors it always is. With AVX-512,
 * limits of 24 to 96 were all slower at k = 100 (0.355 to 0.385 s against 0.348); with AVX2, a limit of 64
 * took 1.12 to 1.78 times as long on eight tables of 70 to 128 clusters, and 0.82 times on a table of two columns. */
static inline int sr_dense_limit(int instructions)
{
    return instructions == SR_PORTABLE ? 1 : SR_MAX_DENSE;
}

/* to[i] += from[i] */
#define SR_DEFINE_ADD(SUFFIX, ATTRIBUTE)                                                                           \
    ATTRIBUTE static void sr_add##SUFFIX(int64_t *restrict to, const int64_t *restrict from, ptrdiff_t count)      \
    {                                                                                                              \
        for (ptrdiff_t i = 0; i < count; i++)                                                                      \
            to[i] += from[i];                                                                                      \
    }

SR_DEFINE_ADD(_portable, )
#if SR_HAS_X86
SR_DEFINE_ADD(_avx2, __attribute__((target("avx2"))))
SR_DEFINE_ADD(_avx512, __attribute__((target("avx512f"))))
#endif

static inline void sr_add(int instructions, int64_t *to, const int64_t *from, ptrdiff_t count)
{
    SR_CHOOSE(sr_add, to, from, count);
}

/* Count the rows by code, and their own steps, up and down apart. */
static inline void sr_dense_tally(const int32_t *place, const int32_t *own, ptrdiff_t count, sr_tally *tally)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        sr_tally *here = tally + place[i];
        const int32_t sign = own[i] >> 31;
        here->rows++;
        (&here->step_up)[-sign] += (own[i] ^ sign) - sign;
    }
}

#endif
