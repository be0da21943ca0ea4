/* Sums over the columns of one row: its difference from the mean of a leaf, along a direction or added to other sums.
 *
 * Sums over the columns are taken in eight parts, whatever the width of the vectors, and the build forbids fused
 * multiply-add: all versions give the same bits.
 */
#ifndef SHALLOWRULES_DIFFERENCES_H
#define SHALLOWRULES_DIFFERENCES_H

#include <stddef.h>

#include "../shared/lanes.h"

#define SR_PARTS 8
#define SR_SUM_OF_PARTS(p) (((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])))

/* sr_difference: out = weight * (point - mean). sr_add_difference: sums += the same. sr_add_to: sums += terms.
 * sr_add_and_square: that, and the sum of the squared sums. sr_along: the sum of (point - mean) * axis. */
#define SR_DEFINE_DIFFERENCES(SUFFIX, ATTRIBUTE)                                                                   \
    ATTRIBUTE static void sr_difference##SUFFIX(const double *point, const double *mean, double weight,            \
                                                ptrdiff_t n, double *out)                                          \
    {                                                                                                              \
        for (ptrdiff_t j = 0; j < n; j++)                                                                          \
            out[j] = weight * (point[j] - mean[j]);                                                                \
    }                                                                                                              \
                                                                                                                   \
    ATTRIBUTE static void sr_add_difference##SUFFIX(const double *point, const double *mean, double weight,        \
                                                    ptrdiff_t n, double *restrict sums)                            \
    {                                                                                                              \
        for (ptrdiff_t j = 0; j < n; j++)                                                                          \
            sums[j] += weight * (point[j] - mean[j]);                                                              \
    }                                                                                                              \
                                                                                                                   \
    ATTRIBUTE static void sr_add_to##SUFFIX(double *sums, const double *terms, ptrdiff_t n)                        \
    {                                                                                                              \
        for (ptrdiff_t j = 0; j < n; j++)                                                                          \
            sums[j] += terms[j];                                                                                   \
    }                                                                                                              \
                                                                                                                   \
    ATTRIBUTE static void sr_add_and_square##SUFFIX(double *restrict sums, const double *restrict terms, ptrdiff_t n, \
                                                    double *out)                                                   \
    {                                                                                                              \
        double parts[SR_PARTS] = {0};                                                                              \
        ptrdiff_t j = 0;                                                                                           \
        for (; j + SR_PARTS <= n; j += SR_PARTS)                                                                   \
            for (int part = 0; part < SR_PARTS; part++) {                                                          \
                sums[j + part] += terms[j + part];                                                                 \
                parts[part] += sums[j + part] * sums[j + part];                                                    \
            }                                                                                                      \
        for (int part = 0; j < n; j++, part++) {                                                                   \
            sums[j] += terms[j];                                                                                   \
            parts[part] += sums[j] * sums[j];                                                                      \
        }                                                                                                          \
        *out = SR_SUM_OF_PARTS(parts);                                                                             \
    }                                                                                                              \
                                                                                                                   \
    ATTRIBUTE static void sr_along##SUFFIX(const double *point, const double *mean, const double *axis,            \
                                           ptrdiff_t n, double *out)                                               \
    {                                                                                                              \
        double parts[SR_PARTS] = {0};                                                                              \
        ptrdiff_t j = 0;                                                                                           \
        for (; j + SR_PARTS <= n; j += SR_PARTS)                                                                   \
            for (int part = 0; part < SR_PARTS; part++)                                                            \
                parts[part] += (point[j + part] - mean[j + part]) * axis[j + part];                                \
        for (int part = 0; j < n; j++, part++)                                                                     \
            parts[part] += (point[j] - mean[j]) * axis[j];                                                         \
        *out = SR_SUM_OF_PARTS(parts);                                                                             \
    }

SR_DEFINE_DIFFERENCES(_portable, )
#if SR_HAS_X86
SR_DEFINE_DIFFERENCES(_avx2, __attribute__((target("avx2"))))
SR_DEFINE_DIFFERENCES(_avx512, __attribute__((target("avx512f,prefer-vector-width=512"))))
#endif

static inline void sr_difference(int instructions, const double *point, const double *mean, double weight,
                                 ptrdiff_t n, double *out)
{
    SR_CHOOSE(sr_difference, point, mean, weight, n, out);
}

static inline void sr_add_difference(int instructions, const double *point, const double *mean, double weight,
                                     ptrdiff_t n, double *sums)
{
    SR_CHOOSE(sr_add_difference, point, mean, weight, n, sums);
}

static inline void sr_add_to(int instructions, double *sums, const double *terms, ptrdiff_t n)
{
    SR_CHOOSE(sr_add_to, sums, terms, n);
}

static inline double sr_add_and_square(int instructions, double *sums, const double *terms, ptrdiff_t n)
{
    double sum;
    SR_CHOOSE(sr_add_and_square, sums, terms, n, &sum);
    return sum;
}

static inline double sr_along(int instructions, const double *point, const double *mean, const double *axis,
                              ptrdiff_t n)
{
    double sum;
    SR_CHOOSE(sr_along, point, mean, axis, n, &sum);
    return sum;
}

#endif
