/* For giving a node of a finished tree a better cut (`recut.pyx`): the range of its rows' codes by feature, sums of
 * what rows cost by code, and the lowest sum over the first codes, which is the best cut.
 *
 * Rows are taken four at a time. Where fewer are left, the last one stands for those that are missing, and adds 0.
 *
 * Sums by code stand in groups of four features, so that a scan of the codes takes four side by side. Every feature's
 * sums are added in the order of its codes, whatever the instructions: all versions give the same bits.
 */
#ifndef SHALLOWRULES_CODE_SUMS_H
#define SHALLOWRULES_CODE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "../shared/lanes.h"

#define SR_ROWS_TOGETHER 4
#define SR_GROUP 4

/* Where the sum of a feature's first code is; that of the next one is SR_GROUP places on. */
static inline ptrdiff_t sr_first_sum(ptrdiff_t feature, ptrdiff_t n_codes)
{
    return feature / SR_GROUP * SR_GROUP * n_codes + feature % SR_GROUP;
}

/* Widen the ranges from low to high, by feature, so that the codes of four rows are in them. */
#define SR_DEFINE_RANGES(SUFFIX, ATTRIBUTE)                                                                        \
    ATTRIBUTE static void sr_widen_ranges##SUFFIX(const uint16_t *const *codes, ptrdiff_t n_features,              \
                                                  uint16_t *restrict low, uint16_t *restrict high)                 \
    {                                                                                                              \
        const uint16_t *a = codes[0], *b = codes[1], *c = codes[2], *d = codes[3];                                 \
        for (ptrdiff_t f = 0; f < n_features; f++) {                                                               \
            const uint16_t low_ab = a[f] < b[f] ? a[f] : b[f], low_cd = c[f] < d[f] ? c[f] : d[f];                 \
            const uint16_t high_ab = a[f] > b[f] ? a[f] : b[f], high_cd = c[f] > d[f] ? c[f] : d[f];               \
            const uint16_t lowest = low_ab < low_cd ? low_ab : low_cd;                                             \
            const uint16_t highest = high_ab > high_cd ? high_ab : high_cd;                                        \
            low[f] = lowest < low[f] ? lowest : low[f];                                                            \
            high[f] = highest > high[f] ? highest : high[f];                                                       \
        }                                                                                                          \
    }

SR_DEFINE_RANGES(_portable, )
#if SR_HAS_X86
SR_DEFINE_RANGES(_avx2, __attribute__((target("avx2"))))
#define sr_widen_ranges_avx512 sr_widen_ranges_avx2 /* numbers of 16 bits: AVX512F has no wider ones */
#endif

static inline void sr_widen_ranges(int instructions, const uint16_t *const *codes, ptrdiff_t n_features,
                                   uint16_t *low, uint16_t *high)
{
    SR_CHOOSE(sr_widen_ranges, codes, n_features, low, high);
}

/* Add to the sums by code of some features a number for each of four rows. */
static inline void sr_add_by_code(const uint16_t *const *codes, const double *numbers, const int *features,
                                  ptrdiff_t n_features, ptrdiff_t n_codes, double *sums)
{
    const uint16_t *a = codes[0], *b = codes[1], *c = codes[2], *d = codes[3];
    const double of_a = numbers[0], of_b = numbers[1], of_c = numbers[2], of_d = numbers[3];
    for (ptrdiff_t j = 0; j < n_features; j++) {
        const int f = features[j];
        double *first = sums + sr_first_sum(f, n_codes);
        first[(ptrdiff_t)a[f] * SR_GROUP] += of_a;
        first[(ptrdiff_t)b[f] * SR_GROUP] += of_b;
        first[(ptrdiff_t)c[f] * SR_GROUP] += of_c;
        first[(ptrdiff_t)d[f] * SR_GROUP] += of_d;
    }
}

/* Add up the sums of a group of features code by code, to what stands in base, and find the lowest total of each.
 *
 * sums, other: [n_codes, SR_GROUP]; what the others add where is_other, elsewhere it is the sums, negated
 * is_other: [SR_GROUP] all bits set, or none
 * low, high: [SR_GROUP] the totals from the code low to the one before high count
 * base: [2, SR_GROUP] where the totals of the sums begin, and those of the others
 * lowest: [2, SR_GROUP] the lowest totals, if they are below what stands there
 */
static inline void sr_lowest_totals_portable(const double *sums, const double *other, const int64_t *is_other,
                                             const uint16_t *low, const uint16_t *high, const double *base,
                                             double *lowest)
{
    for (int f = 0; f < SR_GROUP; f++) {
        double total = base[f], other_total = base[SR_GROUP + f];
        double best = lowest[f], other_best = lowest[SR_GROUP + f];
        for (ptrdiff_t place = low[f] * SR_GROUP + f; place < high[f] * SR_GROUP; place += SR_GROUP) {
            total += sums[place];
            other_total += is_other[f] ? other[place] : -sums[place];
            best = total < best ? total : best;
            other_best = other_total < other_best ? other_total : other_best;
        }
        lowest[f] = best;
        lowest[SR_GROUP + f] = other_best;
    }
}

#if SR_HAS_X86
/* All four features from the lowest of their codes to the highest: lanes that do not count are NaN, and never the
 * minimum. */
__attribute__((target("avx2"))) static inline void
sr_lowest_totals_avx2(const double *sums, const double *other, const int64_t *is_other, const uint16_t *low,
                      const uint16_t *high, const double *base, double *lowest)
{
    const __m256d sign = _mm256_set1_pd(-0.0), one = _mm256_set1_pd(1.0);
    const __m256d from = _mm256_set_pd(low[3], low[2], low[1], low[0]);
    const __m256d to = _mm256_set_pd(high[3], high[2], high[1], high[0]);
    const __m256d replaced = _mm256_castsi256_pd(_mm256_loadu_si256((const __m256i *)is_other));
    const int any_other = _mm256_movemask_pd(replaced);
    __m256d total = _mm256_loadu_pd(base), other_total = _mm256_loadu_pd(base + SR_GROUP);
    __m256d best = _mm256_loadu_pd(lowest), other_best = _mm256_loadu_pd(lowest + SR_GROUP);
    ptrdiff_t first = UINT16_MAX, last = 0;
    for (int f = 0; f < SR_GROUP; f++) {
        first = low[f] < first ? low[f] : first;
        last = high[f] > last ? high[f] : last;
    }
    __m256d code = _mm256_set1_pd((double)first);
    for (ptrdiff_t place = first * SR_GROUP; place < last * SR_GROUP; place += SR_GROUP) {
        const __m256d term = _mm256_loadu_pd(sums + place);
        const __m256d ignored =
            _mm256_or_pd(_mm256_cmp_pd(code, from, _CMP_LT_OQ), _mm256_cmp_pd(code, to, _CMP_GE_OQ));
        __m256d other_term = _mm256_xor_pd(term, sign);
        if (any_other)
            other_term = _mm256_blendv_pd(other_term, _mm256_loadu_pd(other + place), replaced);
        total = _mm256_add_pd(total, term);
        other_total = _mm256_add_pd(other_total, other_term);
        best = _mm256_min_pd(_mm256_or_pd(total, ignored), best);
        other_best = _mm256_min_pd(_mm256_or_pd(other_total, ignored), other_best);
        code = _mm256_add_pd(code, one);
    }
    _mm256_storeu_pd(lowest, best);
    _mm256_storeu_pd(lowest + SR_GROUP, other_best);
}

#define sr_lowest_totals_avx512 sr_lowest_totals_avx2
#endif

static inline void sr_lowest_totals(int instructions, const double *sums, const double *other,
                                    const int64_t *is_other, const uint16_t *low, const uint16_t *high,
                                    const double *base, double *lowest)
{
    SR_CHOOSE(sr_lowest_totals, sums, other, is_other, low, high, base, lowest);
}

#endif
