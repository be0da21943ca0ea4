/* The smallest and the largest value of each column, from four rows at a time. */
#ifndef SHALLOWRULES_RANGES_H
#define SHALLOWRULES_RANGES_H

#include "shared/vectors.h"

/* Lowers `low` to the least value of each column, raises `high` to the greatest, and sets `missing` to 1 where one is
 * not a number. */
SR_CLONES static inline void sr_widen(const double *const *rows, ptrdiff_t n_columns, double *restrict low,
                                      double *restrict high, double *restrict missing)
{
    const double *one = rows[0], *two = rows[1], *three = rows[2], *four = rows[3];
    for (ptrdiff_t j = 0; j < n_columns; j++) {
        const double a = one[j], b = two[j], c = three[j], d = four[j];
        double least = a < low[j] ? a : low[j], most = a > high[j] ? a : high[j];
        least = b < least ? b : least, most = b > most ? b : most;
        least = c < least ? c : least, most = c > most ? c : most;
        low[j] = d < least ? d : least, high[j] = d > most ? d : most;
        missing[j] = ((a != a) | (b != b) | (c != c) | (d != d)) ? 1.0 : missing[j];
    }
}

#endif
