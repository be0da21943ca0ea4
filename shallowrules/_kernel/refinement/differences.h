/* Sums over the columns of one row: its difference from the mean of a leaf, along a direction or added to other sums.
 *
 * Sums over the columns are taken in eight parts, whatever the width of the vectors: all give the same bits.
 */
#ifndef SHALLOWRULES_DIFFERENCES_H
#define SHALLOWRULES_DIFFERENCES_H

#include "../shared/vectors.h"

#define SR_PARTS 8
#define SR_SUM_OF_PARTS(p) (((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])))

/* out = weight * (point - mean) */
SR_CLONES static inline void sr_difference(const double *point, const double *mean, double weight, ptrdiff_t n,
                                           double *out)
{
    for (ptrdiff_t j = 0; j < n; j++)
        out[j] = weight * (point[j] - mean[j]);
}

/* sums += weight * (point - mean) */
SR_CLONES static inline void sr_add_difference(const double *point, const double *mean, double weight, ptrdiff_t n,
                                               double *restrict sums)
{
    for (ptrdiff_t j = 0; j < n; j++)
        sums[j] += weight * (point[j] - mean[j]);
}

/* sums += terms */
SR_CLONES static inline void sr_add_to(double *sums, const double *terms, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++)
        sums[j] += terms[j];
}

/* sums += terms; returns the sum of the squared sums. */
SR_CLONES static inline double sr_add_and_square(double *restrict sums, const double *restrict terms, ptrdiff_t n)
{
    double parts[SR_PARTS] = {0};
    ptrdiff_t j = 0;
    for (; j + SR_PARTS <= n; j += SR_PARTS)
        for (int part = 0; part < SR_PARTS; part++) {
            sums[j + part] += terms[j + part];
            parts[part] += sums[j + part] * sums[j + part];
        }
    for (int part = 0; j < n; j++, part++) {
        sums[j] += terms[j];
        parts[part] += sums[j] * sums[j];
    }
    return SR_SUM_OF_PARTS(parts);
}

/* The sum of (point - mean) * axis. */
SR_CLONES static inline double sr_along(const double *point, const double *mean, const double *axis, ptrdiff_t n)
{
    double parts[SR_PARTS] = {0};
    ptrdiff_t j = 0;
    for (; j + SR_PARTS <= n; j += SR_PARTS)
        for (int part = 0; part < SR_PARTS; part++)
            parts[part] += (point[j + part] - mean[j + part]) * axis[j + part];
    for (int part = 0; j < n; j++, part++)
        parts[part] += (point[j] - mean[j]) * axis[j];
    return SR_SUM_OF_PARTS(parts);
}

#endif
