/* Squared distances of 16 rows at a time, vectorised over the rows.
 *
 * Every (row, center) pair sums its terms in column order whatever the width of the vectors, and
 * the build forbids fused multiply-add, so all versions give the same bits: a list filled here
 * and a single distance computed elsewhere agree exactly. Where the compiler can, it builds the
 * function for several instruction sets and the loader picks one: one wheel runs everywhere.
 */
#ifndef SHALLOWRULES_LANES_H
#define SHALLOWRULES_LANES_H

#include <stddef.h>

#define SR_LANES 16

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) \
    && !defined(SHALLOWRULES_PORTABLE)
#define SR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SR_CLONES
#endif

/* rows: n_columns x 16, column after column; centers: row-major, picked by ids; out: n_centers x 16. */
SR_CLONES static void sr_lane_distances(const double *rows, ptrdiff_t n_columns, const double *centers,
                                        const int *ids, ptrdiff_t n_centers, double *out)
{
    for (ptrdiff_t c = 0; c < n_centers; c++) {
        const double *center = centers + (ptrdiff_t)ids[c] * n_columns;
        double sum[SR_LANES] = {0};
        for (ptrdiff_t j = 0; j < n_columns; j++) {
            const double coordinate = center[j];
            for (int r = 0; r < SR_LANES; r++) {
                const double gap = rows[j * SR_LANES + r] - coordinate;
                sum[r] += gap * gap;
            }
        }
        for (int r = 0; r < SR_LANES; r++)
            out[c * SR_LANES + r] = sum[r];
    }
}

#endif
