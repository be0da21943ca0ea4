/* Which bin of a histogram each number falls into, many numbers at a time. */
#ifndef SHALLOWRULES_BINS_H
#define SHALLOWRULES_BINS_H

#include "shared/vectors.h"

/* bins: of each number, from 0 to `last`, as `place_rows` says; doubt: whether rounding may have misplaced one, because
 * it is within `slack` bins of an edge. */
SR_CLONES static inline void sr_find_bins(const double *restrict values, ptrdiff_t count, double up, double down,
                                          double first, double last, double slack, int *restrict bins, int *doubt)
{
    int near = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        const double scaled = (down == 1.0 ? values[i] * up : values[i] / down) - first;
        const double above = scaled > 0.0 ? scaled : 0.0;
        const int bin = (int)(above < last ? above : last);
        const double beyond = scaled - bin;
        near |= (beyond < slack) | (beyond > 1.0 - slack);
        bins[i] = bin;
    }
    *doubt = near;
}

#endif
