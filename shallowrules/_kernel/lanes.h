/* Squared distances of 16 rows at a time, vectorised over the rows.
 *
 * Every (row, center) pair sums its terms in column order whatever the width of the vectors, and
 * the build forbids fused multiply-add, so all versions give the same bits: a list filled here
 * and a single distance computed elsewhere agree exactly. Where the compiler can, it builds the
 * function for several instruction sets and the loader picks one: one wheel runs everywhere.
 */
#ifndef SHALLOWRULES_LANES_H
#define SHALLOWRULES_LANES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SR_LANES 16
#define SR_NEAREST 8

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) \
    && !defined(SHALLOWRULES_PORTABLE)
#define SR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SR_CLONES
#endif

/* rows: n_columns x 16, column after column; centers: row-major, picked by ids; out: n_centers x 16. */
SR_CLONES static void sr_lane_distances(const double *rows, ptrdiff_t n_columns, const double *centers,
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

/* The places (0 .. n_centers - 1) of the 8 smallest of each lane's distances, in keys: 8 x 16.
 *
 * A key is the distance with its last 16 bits replaced by the place, so that one minimum and one
 * maximum move both; the order is that of the distances up to 2^-36, and the caller sorts the few
 * by their exact values. Every center sinks through the sorted keys without a branch. All versions
 * give the same bits. */
static void sr_lane_nearest_portable(const double *distances, ptrdiff_t n_centers, double *keys)
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

#if defined(__x86_64__) && defined(__GNUC__) && !defined(SHALLOWRULES_PORTABLE)
#include <immintrin.h>

/* One version per width: W lanes at a time, the eight sorted keys in registers. */
#define SR_DEFINE_NEAREST(NAME, TARGET, W, VEC, LOAD, STORE, SET, MIN, MAX, PACK)                          \
    __attribute__((target(TARGET))) static void NAME(const double *distances, ptrdiff_t n_centers,         \
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

static void sr_lane_nearest(const double *distances, ptrdiff_t n_centers, double *keys)
{
    if (__builtin_cpu_supports("avx512f"))
        sr_lane_nearest_avx512(distances, n_centers, keys);
    else if (__builtin_cpu_supports("avx2"))
        sr_lane_nearest_avx2(distances, n_centers, keys);
    else
        sr_lane_nearest_portable(distances, n_centers, keys);
}
#else
#define sr_lane_nearest sr_lane_nearest_portable
#endif

static inline ptrdiff_t sr_place_of(double key)
{
    uint64_t bits;
    memcpy(&bits, &key, sizeof bits);
    return (ptrdiff_t)(bits & 0xFFFF);
}

#endif
