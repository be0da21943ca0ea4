/* Squared distances of 16 rows at a time, vectorized over the rows.
 *
 * Every (row, center) pair sums its terms in column order whatever the width of the vectors: those of
 * rows together and a single distance computed elsewhere agree exactly.
 */
#ifndef SHALLOWRULES_LANES_H
#define SHALLOWRULES_LANES_H

#include <math.h>

#include "vectors.h"

#define SR_LANES 16

/* rows: n_columns x 16, column after column; centers: row-major, picked by ids; out: n_centers x 16.
 * Two vectors of rows and up to four centers at a time, the sums in registers. */
SR_CLONES static inline void sr_lane_distances(const double *rows, ptrdiff_t n_columns, const double *centers,
                                               const int *ids, ptrdiff_t n_centers, double *out)
{
    const ptrdiff_t last = n_centers - 1;
    for (ptrdiff_t c = 0; c < n_centers; c += 4) {
        const double *c0 = centers + (ptrdiff_t)ids[c] * n_columns;
        const double *c1 = centers + (ptrdiff_t)ids[c + 1 < last ? c + 1 : last] * n_columns;
        const double *c2 = centers + (ptrdiff_t)ids[c + 2 < last ? c + 2 : last] * n_columns;
        const double *c3 = centers + (ptrdiff_t)ids[c + 3 < last ? c + 3 : last] * n_columns;
        for (ptrdiff_t r = 0; r < SR_LANES; r += 2 * SR_WIDTH) {
            sr_doubles x, y, g, a0 = {0}, a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
            double *o = out + c * SR_LANES + r;
            for (ptrdiff_t j = 0; j < n_columns; j++) {
                SR_LOAD(x, rows + j * SR_LANES + r);
                SR_LOAD(y, rows + j * SR_LANES + r + SR_WIDTH);
                g = x - c0[j], a0 += g * g, g = y - c0[j], b0 += g * g;
                g = x - c1[j], a1 += g * g, g = y - c1[j], b1 += g * g;
                g = x - c2[j], a2 += g * g, g = y - c2[j], b2 += g * g;
                g = x - c3[j], a3 += g * g, g = y - c3[j], b3 += g * g;
            }
            SR_STORE(o, a0), SR_STORE(o + SR_WIDTH, b0);
            if (c + 1 < n_centers)
                SR_STORE(o + SR_LANES, a1), SR_STORE(o + SR_LANES + SR_WIDTH, b1);
            if (c + 2 < n_centers)
                SR_STORE(o + 2 * SR_LANES, a2), SR_STORE(o + 2 * SR_LANES + SR_WIDTH, b2);
            if (c + 3 < n_centers)
                SR_STORE(o + 3 * SR_LANES, a3), SR_STORE(o + 3 * SR_LANES + SR_WIDTH, b3);
        }
    }
}

/* The smallest and the second smallest of each lane's distances, and the place of the smallest, the first of equals:
 * three times 16. */
SR_CLONES static inline void sr_lane_smallest(const double *distances, ptrdiff_t n_centers, double *smallest,
                                              double *second, double *place)
{
    const sr_doubles zero = {0};
    for (ptrdiff_t r = 0; r < SR_LANES; r += SR_WIDTH) {
        sr_doubles least, next = zero + INFINITY, at = zero, d;
        SR_LOAD(least, distances + r);
        for (ptrdiff_t c = 1; c < n_centers; c++) {
            SR_LOAD(d, distances + c * SR_LANES + r);
            const sr_longs is_less = d < least;
            const sr_doubles larger = SR_SELECT(is_less, least, d);
            next = SR_SELECT(larger < next, larger, next);
            at = SR_SELECT(is_less, zero + (double)c, at);
            least = SR_SELECT(is_less, d, least);
        }
        SR_STORE(smallest + r, least);
        SR_STORE(second + r, next);
        SR_STORE(place + r, at);
    }
}

#endif
