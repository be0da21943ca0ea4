/* Squared distances of 16 rows at a time, vectorized over the rows.
 *
 * Every (row, center) pair sums its terms in column order whatever the width of the vectors, and
 * the build forbids fused multiply-add, so all versions give the same bits: a list filled here
 * and a single distance computed elsewhere agree exactly. The instruction set is chosen at run
 * time: one wheel runs everywhere.
 */
#ifndef SHALLOWRULES_LANES_H
#define SHALLOWRULES_LANES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SR_LANES 16
#define SR_NEAREST 8

/* The instruction sets that there are versions for. Which one to use is an argument everywhere, so that
 * tests can run them all on one machine. */
enum { SR_PORTABLE = 0, SR_AVX2 = 1, SR_AVX512 = 2 };

#if defined(__x86_64__) && defined(__GNUC__)
#define SR_HAS_X86 1
#include <immintrin.h>

/* The widest that this machine has. */
static inline int sr_instructions(void)
{
    if (!__builtin_cpu_supports("avx2"))
        return SR_PORTABLE;
    return __builtin_cpu_supports("avx512f") ? SR_AVX512 : SR_AVX2;
}

#define SR_CHOOSE(FUNCTION, ...)                                                                                   \
    do {                                                                                                           \
        if (instructions == SR_AVX512)                                                                             \
            FUNCTION##_avx512(__VA_ARGS__);                                                                        \
        else if (instructions == SR_AVX2)                                                                          \
            FUNCTION##_avx2(__VA_ARGS__);                                                                          \
        else                                                                                                       \
            FUNCTION##_portable(__VA_ARGS__);                                                                      \
    } while (0)
#else
#define SR_HAS_X86 0
static inline int sr_instructions(void) { return SR_PORTABLE; }

#define SR_CHOOSE(FUNCTION, ...) ((void)instructions, FUNCTION##_portable(__VA_ARGS__))
#endif

/* rows: n_columns x 16, column after column; centers: row-major, picked by ids; out: n_centers x 16. */
static inline void sr_lane_distances_portable(const double *rows, ptrdiff_t n_columns, const double *centers,
                                              const int *ids, ptrdiff_t n_centers, double *out)
{
    for (ptrdiff_t c = 0; c < n_centers; c++) {
        const double *center = centers + (ptrdiff_t)ids[c] * n_columns;
        double sum[SR_LANES] = {0};
        for (ptrdiff_t j = 0; j < n_columns; j++) {
            const double coordinate = center[j];
            for (int r = 0; r < SR_LANES; r++) {
                const double gap = rows[j * SR_LANES + r] - coordinate;
                sum[r] += gap * gap;
            }
        }
        for (int r = 0; r < SR_LANES; r++)
            out[c * SR_LANES + r] = sum[r];
    }
}

#if SR_HAS_X86

/* Two vectors of W rows and up to four centers at a time, the sums in registers. */
#define SR_DEFINE_DISTANCES(NAME, TARGET, W, VEC, LOAD, STORE, SET, ADD, SUB, MUL)                                 \
    __attribute__((target(TARGET))) static inline void NAME(const double *rows, ptrdiff_t n_columns,               \
                                                            const double *centers, const int *ids,                 \
                                                            ptrdiff_t n_centers, double *out)                      \
    {                                                                                                              \
        for (ptrdiff_t c = 0; c < n_centers; c += 4) {                                                             \
            const ptrdiff_t last = n_centers - 1;                                                                  \
            const double *c0 = centers + (ptrdiff_t)ids[c] * n_columns;                                            \
            const double *c1 = centers + (ptrdiff_t)ids[c + 1 < last ? c + 1 : last] * n_columns;                  \
            const double *c2 = centers + (ptrdiff_t)ids[c + 2 < last ? c + 2 : last] * n_columns;                  \
            const double *c3 = centers + (ptrdiff_t)ids[c + 3 < last ? c + 3 : last] * n_columns;                  \
            for (int r = 0; r < SR_LANES; r += 2 * W) {                                                            \
                VEC a0 = SET(0), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;                    \
                double *o = out + c * SR_LANES + r;                                                                \
                for (ptrdiff_t j = 0; j < n_columns; j++) {                                                        \
                    const VEC x = LOAD(rows + j * SR_LANES + r), y = LOAD(rows + j * SR_LANES + r + W);            \
                    VEC m, g;                                                                                      \
                    m = SET(c0[j]), g = SUB(x, m), a0 = ADD(a0, MUL(g, g)), g = SUB(y, m), b0 = ADD(b0, MUL(g, g)); \
                    m = SET(c1[j]), g = SUB(x, m), a1 = ADD(a1, MUL(g, g)), g = SUB(y, m), b1 = ADD(b1, MUL(g, g)); \
                    m = SET(c2[j]), g = SUB(x, m), a2 = ADD(a2, MUL(g, g)), g = SUB(y, m), b2 = ADD(b2, MUL(g, g)); \
                    m = SET(c3[j]), g = SUB(x, m), a3 = ADD(a3, MUL(g, g)), g = SUB(y, m), b3 = ADD(b3, MUL(g, g)); \
                }                                                                                                  \
                STORE(o, a0), STORE(o + W, b0);                                                                    \
                if (c + 1 < n_centers)                                                                             \
                    STORE(o + SR_LANES, a1), STORE(o + SR_LANES + W, b1);                                          \
                if (c + 2 < n_centers)                                                                             \
                    STORE(o + 2 * SR_LANES, a2), STORE(o + 2 * SR_LANES + W, b2);                                  \
                if (c + 3 < n_centers)                                                                             \
                    STORE(o + 3 * SR_LANES, a3), STORE(o + 3 * SR_LANES + W, b3);                                  \
            }                                                                                                      \
        }                                                                                                          \
    }

SR_DEFINE_DISTANCES(sr_lane_distances_avx2, "avx2", 4, __m256d, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd,
                    _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd)
SR_DEFINE_DISTANCES(sr_lane_distances_avx512, "avx512f", 8, __m512d, _mm512_loadu_pd, _mm512_storeu_pd,
                    _mm512_set1_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd)

#endif

static inline void sr_lane_distances(int instructions, const double *rows, ptrdiff_t n_columns,
                                     const double *centers, const int *ids, ptrdiff_t n_centers, double *out)
{
    SR_CHOOSE(sr_lane_distances, rows, n_columns, centers, ids, n_centers, out);
}

/* The places (0 .. n_centers - 1) of the 8 smallest of each lane's distances, in keys: 8 x 16.
 *
 * A key is the distance with its last 16 bits replaced by the place, so that one minimum and one
 * maximum move both; the order is that of the distances up to 2^-36, and the caller sorts the few
 * by their exact values. Every center sinks through the sorted keys without a branch. All versions
 * give the same bits. */
static inline void sr_lane_nearest_portable(const double *distances, ptrdiff_t n_centers, double *keys)
{
    for (int r = 0; r < SR_LANES; r++) {
        double held[SR_NEAREST];
        for (int s = 0; s < SR_NEAREST; s++)
            held[s] = INFINITY;
        for (ptrdiff_t c = 0; c < n_centers; c++) {
            uint64_t bits;
            double sinking;
            memcpy(&bits, &distances[c * SR_LANES + r], sizeof bits);
            bits = (bits & ~(uint64_t)0xFFFF) | (uint64_t)c;
            memcpy(&sinking, &bits, sizeof bits);
            for (int s = 0; s < SR_NEAREST; s++) {
                const double other = held[s];
                held[s] = other < sinking ? other : sinking;
                sinking = other < sinking ? sinking : other;
            }
        }
        for (int s = 0; s < SR_NEAREST; s++)
            keys[s * SR_LANES + r] = held[s];
    }
}

#if SR_HAS_X86
/* One version per width: W lanes at a time, the eight sorted keys in registers. */
#define SR_DEFINE_NEAREST(NAME, TARGET, W, VEC, LOAD, STORE, SET, MIN, MAX, PACK)                          \
    __attribute__((target(TARGET))) static inline void NAME(const double *distances, ptrdiff_t n_centers,         \
                                                     double *keys)                                         \
    {                                                                                                      \
        for (int r = 0; r < SR_LANES; r += W) {                                                            \
            VEC k0 = SET(INFINITY), k1 = k0, k2 = k0, k3 = k0, k4 = k0, k5 = k0, k6 = k0, k7 = k0, x, t;   \
            for (ptrdiff_t c = 0; c < n_centers; c++) {                                                    \
                x = PACK(LOAD(distances + c * SR_LANES + r), c);                                           \
                t = MAX(k0, x), k0 = MIN(k0, x), x = t;                                                    \
                t = MAX(k1, x), k1 = MIN(k1, x), x = t;                                                    \
                t = MAX(k2, x), k2 = MIN(k2, x), x = t;                                                    \
                t = MAX(k3, x), k3 = MIN(k3, x), x = t;                                                    \
                t = MAX(k4, x), k4 = MIN(k4, x), x = t;                                                    \
                t = MAX(k5, x), k5 = MIN(k5, x), x = t;                                                    \
                t = MAX(k6, x), k6 = MIN(k6, x), x = t;                                                    \
                k7 = MIN(k7, x);                                                                           \
            }                                                                                              \
            STORE(keys + 0 * SR_LANES + r, k0), STORE(keys + 1 * SR_LANES + r, k1);                        \
            STORE(keys + 2 * SR_LANES + r, k2), STORE(keys + 3 * SR_LANES + r, k3);                        \
            STORE(keys + 4 * SR_LANES + r, k4), STORE(keys + 5 * SR_LANES + r, k5);                        \
            STORE(keys + 6 * SR_LANES + r, k6), STORE(keys + 7 * SR_LANES + r, k7);                        \
        }                                                                                                  \
    }

#define SR_PACK_256(v, c)                                                                                  \
    _mm256_castsi256_pd(_mm256_or_si256(                                                                   \
        _mm256_and_si256(_mm256_castpd_si256(v), _mm256_set1_epi64x(~0xFFFFLL)), _mm256_set1_epi64x(c)))
#define SR_PACK_512(v, c)                                                                                  \
    _mm512_castsi512_pd(_mm512_or_si512(                                                                   \
        _mm512_and_si512(_mm512_castpd_si512(v), _mm512_set1_epi64(~0xFFFFLL)), _mm512_set1_epi64(c)))

SR_DEFINE_NEAREST(sr_lane_nearest_avx2, "avx2", 4, __m256d, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd,
                  _mm256_min_pd, _mm256_max_pd, SR_PACK_256)
SR_DEFINE_NEAREST(sr_lane_nearest_avx512, "avx512f", 8, __m512d, _mm512_loadu_pd, _mm512_storeu_pd,
                  _mm512_set1_pd, _mm512_min_pd, _mm512_max_pd, SR_PACK_512)

#endif

static inline void sr_lane_nearest(int instructions, const double *distances, ptrdiff_t n_centers, double *keys)
{
    SR_CHOOSE(sr_lane_nearest, distances, n_centers, keys);
}

static inline ptrdiff_t sr_place_of(double key)
{
    uint64_t bits;
    memcpy(&bits, &key, sizeof bits);
    return (ptrdiff_t)(bits & 0xFFFF);
}

/* The smallest and the second smallest of each lane's distances, and the place of the smallest, the first of equals:
 * three times 16. The loop over the lanes becomes vectors of the caller's instruction set. */
#define SR_DEFINE_SMALLEST(NAME, TARGET)                                                                           \
    TARGET static inline void NAME(const double *distances, ptrdiff_t n_centers, double *smallest, double *second, \
                                   double *place)                                                                  \
    {                                                                                                              \
        for (int r = 0; r < SR_LANES; r++)                                                                         \
            smallest[r] = distances[r], second[r] = INFINITY, place[r] = 0.0;                                      \
        for (ptrdiff_t c = 1; c < n_centers; c++) {                                                                \
            const double *distance = distances + c * SR_LANES;                                                     \
            const double here = (double)c;                                                                         \
            for (int r = 0; r < SR_LANES; r++) {                                                                   \
                const double d = distance[r], least = smallest[r];                                                 \
                const double larger = d < least ? least : d;                                                       \
                second[r] = larger < second[r] ? larger : second[r];                                               \
                place[r] = d < least ? here : place[r];                                                            \
                smallest[r] = d < least ? d : least;                                                               \
            }                                                                                                      \
        }                                                                                                          \
    }

SR_DEFINE_SMALLEST(sr_lane_smallest_portable, )
#if SR_HAS_X86
SR_DEFINE_SMALLEST(sr_lane_smallest_avx2, __attribute__((target("avx2"))))
SR_DEFINE_SMALLEST(sr_lane_smallest_avx512, __attribute__((target("avx512f"))))
#endif

static inline void sr_lane_smallest(int instructions, const double *distances, ptrdiff_t n_centers,
                                    double *smallest, double *second, double *place)
{
    SR_CHOOSE(sr_lane_smallest, distances, n_centers, smallest, second, place);
}

#endif
