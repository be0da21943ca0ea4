/* Passes over the codes of a node's rows (`binning.pyx`): which rows a cut sends left, and which blocks of rows have a
 * code. The compiler turns these loops into vectors. */
#ifndef SHALLOWRULES_CODE_SCAN_H
#define SHALLOWRULES_CODE_SCAN_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define SR_SCAN_BLOCK 64 /* rows that are tested together */

/* Whether one of the codes is `first` or `second`, or lies between; for codes that few rows have. */
static inline int sr_any_within(const uint16_t *codes, ptrdiff_t count, int32_t first, int32_t second)
{
    int found = 0;
    for (ptrdiff_t i = 0; i < count; i++)
        found |= (codes[i] >= first) & (codes[i] <= second);
    return found;
}

static inline int sr_any_equal(const uint16_t *codes, ptrdiff_t count, int32_t first, int32_t second)
{
    int found = 0;
    for (ptrdiff_t i = 0; i < count; i++)
        found |= (codes[i] == first) | (codes[i] == second);
    return found;
}

/* side: 1 where the code is at most `below`; highest: of these codes; lowest: of those from `above` on.
 * Returns how many rows have side 1. */
static inline ptrdiff_t sr_mark_sides(const uint16_t *codes, ptrdiff_t count, int32_t below, int32_t above,
                                      unsigned char *side, int32_t *highest, int32_t *lowest)
{
    ptrdiff_t n_left = 0;
    int32_t high = -1, low = INT_MAX;
    for (ptrdiff_t begin = 0; begin < count; begin += SR_SCAN_BLOCK) {
        const ptrdiff_t end = begin + SR_SCAN_BLOCK < count ? begin + SR_SCAN_BLOCK : count;
        int32_t n = 0;
        for (ptrdiff_t i = begin; i < end; i++) {
            const int32_t code = codes[i], left = code <= below, high_here = left ? code : -1,
                          low_here = code >= above ? code : INT_MAX;
            side[i] = (unsigned char)left;
            n += left;
            high = high_here > high ? high_here : high;
            low = low_here < low ? low_here : low;
        }
        n_left += n;
    }
    *highest = high;
    *lowest = low;
    return n_left;
}

#endif
