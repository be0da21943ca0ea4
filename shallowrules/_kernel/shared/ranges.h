/* The smallest and the largest value of each column, from four rows at a time. */
#ifndef SHALLOWRULES_RANGES_H
#define SHALLOWRULES_RANGES_H

#include "shared/lanes.h"

/* Lowers `low` to the least value of each column, raises `high` to the greatest, and sets `missing` to 1 where one is
 * not a number. The loop becomes vectors of the caller's instruction set. */
#define SR_DEFINE_WIDEN(NAME, TARGET)                                                                              \
    TARGET static inline void NAME(const double *const *rows, ptrdiff_t n_columns, double *restrict low,           \
                                   double *restrict high, double *restrict missing)                                \
    {                                                                                                              \
        const double *one = rows[0], *two = rows[1], *three = rows[2], *four = rows[3];                            \
        for (ptrdiff_t j = 0; j < n_columns; j++) {                                                                \
            const double a = one[j], b = two[j], c = three[j], d = four[j];                                        \
            double least = a < low[j] ? a : low[j], most = a > high[j] ? a : high[j];                              \
            least = b < least ? b : least, most = b > most ? b : most;                                             \
            least = c < least ? c : least, most = c > most ? c : most;                                             \
            low[j] = d < least ? d : least, high[j] = d > most ? d : most;                                         \
            missing[j] = (a != a) | (b != b) | (c != c) | (d != d) ? 1.0 : missing[j];                             \
        }                                                                                                          \
    }

SR_DEFINE_WIDEN(sr_widen_portable, )
#if SR_HAS_X86
SR_DEFINE_WIDEN(sr_widen_avx2, __attribute__((target("avx2"))))
SR_DEFINE_WIDEN(sr_widen_avx512, __attribute__((target("avx512f"))))
#endif

static inline void sr_widen(int instructions, const double *const *rows, ptrdiff_t n_columns, double *low, double *high,
                            double *missing)
{
    SR_CHOOSE(sr_widen, rows, n_columns, low, high, missing);
}

#endif
