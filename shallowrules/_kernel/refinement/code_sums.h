/* For giving a node of a finished tree a better cut (`recut.pyx`): the range of its rows' codes by feature, sums of
 * what rows cost by code, and the lowest sum over the first codes, which is the best cut.
 *
 * Sums by code stand in groups of four features, so that a scan of the codes takes four side by side. Every feature's
 * sums are added in the order of its codes, whatever the width of the vectors: all give the same bits.
 */
#ifndef SHALLOWRULES_CODE_SUMS_H
#define SHALLOWRULES_CODE_SUMS_H

#include <math.h>

#include "../shared/vectors.h"

#define SR_GROUP 4

/* Where the sum of a feature's first code is; that of the next one is SR_GROUP places on. */
static inline ptrdiff_t sr_first_sum(ptrdiff_t feature, ptrdiff_t n_codes)
{
    return feature / SR_GROUP * SR_GROUP * n_codes + feature % SR_GROUP;
}

/* Widen the ranges from low to high, by feature, so that the codes of a row are in them. */
SR_CLONES static inline void sr_widen_ranges(const uint16_t *codes, ptrdiff_t n_features, uint16_t *restrict low,
                                             uint16_t *restrict high)
{
    for (ptrdiff_t f = 0; f < n_features; f++) {
        low[f] = codes[f] < low[f] ? codes[f] : low[f];
        high[f] = codes[f] > high[f] ? codes[f] : high[f];
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
SR_CLONES static inline void sr_lowest_totals(const double *sums, const double *other, const int64_t *is_other,
                                              const uint16_t *low, const uint16_t *high, const double *base,
                                              double *lowest)
{
    const sr_longs zero = {0};
    const sr_doubles none = (sr_doubles){0} + INFINITY;
    int64_t lows[SR_GROUP], highs[SR_GROUP], first = UINT16_MAX, last = 0, any_other = 0;
    for (int f = 0; f < SR_GROUP; f++) {
        lows[f] = low[f];
        highs[f] = high[f];
        first = low[f] < first ? low[f] : first;
        last = high[f] > last ? high[f] : last;
        any_other |= is_other[f];
    }
    for (ptrdiff_t f = 0; f < SR_GROUP; f += SR_WIDTH) {
        sr_longs from, to, replaced;
        sr_doubles total, other_total, best, other_best, term, other_term;
        SR_LOAD(from, lows + f);
        SR_LOAD(to, highs + f);
        SR_LOAD(replaced, is_other + f);
        SR_LOAD(total, base + f);
        SR_LOAD(other_total, base + SR_GROUP + f);
        SR_LOAD(best, lowest + f);
        SR_LOAD(other_best, lowest + SR_GROUP + f);
        for (int64_t code = first; code < last; code++) { /* the lowest code of the features to the highest */
            const sr_longs here = zero + code, counts = (here >= from) & (here < to);
            SR_LOAD(term, sums + code * SR_GROUP + f);
            SR_LOAD(other_term, (any_other ? other : sums) + code * SR_GROUP + f);
            other_term = SR_SELECT(replaced, other_term, -term);
            total += term;
            other_total += other_term;
            term = SR_SELECT(counts, total, none);
            other_term = SR_SELECT(counts, other_total, none);
            best = SR_SELECT(term < best, term, best);
            other_best = SR_SELECT(other_term < other_best, other_term, other_best);
        }
        SR_STORE(lowest + f, best);
        SR_STORE(lowest + SR_GROUP + f, other_best);
    }
}

#endif
