/* Four rows turned into columns, so that vector code finds the same column of several rows side by side. */
#ifndef SHALLOWRULES_COLUMNS_H
#define SHALLOWRULES_COLUMNS_H

#include <stddef.h>

/* out[column * lanes + i] for the rows i = 0 .. 3, whose values lie side by side. */
static inline void sr_four_columns(const double *one, const double *two, const double *three, const double *four,
                                   ptrdiff_t n_columns, ptrdiff_t lanes, double *restrict out)
{
    for (ptrdiff_t j = 0; j < n_columns; j++, out += lanes) {
        out[0] = one[j];
        out[1] = two[j];
        out[2] = three[j];
        out[3] = four[j];
    }
}

#endif
