/* The first step of a row's walk over its list of nearest centers (`list_sweep.pyx`), for a block of rows: which listed
 * centers lie on the row's side of its nearest center, a bit each, and what that adds to the histograms.
 *
 * A sweep that branched on this would wait for mispredicted branches, 27 ns for each row and feature at the root. Here
 * it is answered without branches, for a block of rows at once.
 */
#ifndef SHALLOWRULES_LIST_SWEEP_H
#define SHALLOWRULES_LIST_SWEEP_H

#include "../shared/vectors.h"

#define SR_LIST 8

/* near: count x 8 center numbers; codes: of the rows; center_codes: by center. Rows are clipped to
 * the codes low .. high of the outermost centers (place). Bit j of bits[i]: center j of row i lies on
 * the row's side of its center 0; codes are complemented for rows right of center 0, which mirrors them. */
SR_CLONES static inline void sr_sides(const uint16_t *near, const uint16_t *codes, ptrdiff_t count,
                                      const int32_t *center_codes, int32_t low, int32_t high, int32_t *place,
                                      uint8_t *bits)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        const uint16_t *list = near + i * SR_LIST;
        const int32_t first = center_codes[list[0]];
        int32_t at = codes[i] < low ? low : codes[i];
        at = at > high ? high : at;
        const int32_t mirror = -(int32_t)(at > first), until = first ^ mirror;
        unsigned found = 0;
        for (int j = 1; j < SR_LIST; j++)
            found |= (unsigned)((center_codes[list[j]] ^ mirror) < until) << j;
        place[i] = at;
        bits[i] = (uint8_t)found;
    }
}

typedef struct {
    int64_t step_up, step_down, rows;
} sr_tally;

static inline int sr_lowest_bit(unsigned bits)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctz(bits);
#else
    int n = 0;
    while (!(bits & 1u)) { bits >>= 1; n++; }
    return n;
#endif
}

/* Count the rows of a block, and write the steps of those whose walk ends at the first listed center on their side: one
 * step, from the row's own code to its nearest center. No branches: terms that do not apply add 0. Returns how many
 * rows are left for a longer walk; `rest` says which. */
static inline ptrdiff_t sr_first_steps(const uint16_t *near, ptrdiff_t count, const int32_t *center_codes,
                           const int32_t *place, const uint8_t *bits, const int64_t *values,
                           sr_tally *tally, int64_t *center_step, int32_t *rest)
{
    ptrdiff_t n_rest = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        const uint16_t *list = near + i * SR_LIST;
        const int32_t at = place[i], first = center_codes[list[0]];
        const int32_t mirror = -(int32_t)(at > first);
        const int j = bits[i] ? sr_lowest_bit(bits[i]) : 0;
        const int is_resolved = (bits[i] != 0) & ((center_codes[list[j]] ^ mirror) <= (at ^ mirror));
        const int64_t value = values[i * SR_LIST + j] & -(int64_t)is_resolved;
        tally[at].rows++;
        (&tally[at].step_up)[-mirror] += value;
        center_step[list[0]] -= (value ^ mirror) - mirror;
        rest[n_rest] = (int32_t)i;
        n_rest += (at != first) & !is_resolved;
    }
    return n_rest;
}

#endif
