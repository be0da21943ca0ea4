/* Vector code for a node: what each cut of a feature would cost (InducedCost), summed over the rows.
 * Every center is looked at, whatever the values, so that several rows go through at once.
 *
 * Centers 0 .. K-1 stand in the order of the feature; cut j lies between centers j and j+1. A row
 * left of cut j adds the least of its centers 0 .. j, a row right of it the least of j+1 .. K-1. A
 * row whose value lies between the two centers is right of some thresholds there and left of the
 * others: it counts as right, and the amount that it adds once it is left (its own step) is kept separately.
 *
 * The bounding sweep counts in int32, rounded down and capped; the exact one in int64.
 */
#ifndef SHALLOWRULES_DENSE_SWEEP_H
#define SHALLOWRULES_DENSE_SWEEP_H

#include "../shared/lanes.h"

#define SR_UNIT_CAP (1 << 24)   /* units of one row: 127 of them fit in a lane */

typedef struct {
    int64_t step_up, step_down, rows;
} sr_tally;

/* The least of each lane's distances: 16. */
static SR_INLINE void sr_nearest(const double *distances, ptrdiff_t n_centers, double *first)
{
    for (ptrdiff_t r = 0; r < SR_LANES; r += SR_WIDTH) {
        sr_doubles least, other;
        SR_LOAD(least, distances + r);
        for (ptrdiff_t c = 1; c < n_centers; c++) {
            SR_LOAD(other, distances + c * SR_LANES + r);
            least = SR_SELECT(other < least, other, least);
        }
        SR_STORE(first + r, least);
    }
}

/* What each center adds to the cost of its row beyond the nearest, K x 16, rounded down and at most SR_UNIT_CAP.
 * distances: K x 16; weight: 16 or NULL; first: the distance to the nearest; largest: 16, raised to the largest of each
 * lane. */
SR_CLONES static inline void sr_dense_units(const double *restrict distances, ptrdiff_t n_centers,
                                            const double *weight, double scale, int32_t *restrict units, double *first,
                                            int32_t *largest)
{
    double factor[SR_LANES], nearest[SR_LANES];
    int32_t most[SR_LANES]; /* not in `largest` itself, where each unit might be written too */
    sr_nearest(distances, n_centers, nearest);
    for (int r = 0; r < SR_LANES; r++) {
        factor[r] = weight ? weight[r] * scale : scale;
        first[r] = nearest[r];
        most[r] = largest[r];
    }
    for (ptrdiff_t c = 0; c < n_centers; c++)
        for (int r = 0; r < SR_LANES; r++) {
            const double value = (distances[c * SR_LANES + r] - nearest[r]) * factor[r];
            const int32_t unit = (int32_t)(value < SR_UNIT_CAP ? value : SR_UNIT_CAP);
            units[c * SR_LANES + r] = unit;
            most[r] = unit > most[r] ? unit : most[r];
        }
    for (int r = 0; r < SR_LANES; r++)
        largest[r] = most[r];
}

/* The same, rounded to the nearest, at most `cap` (below 2^51), at least one unit if not 0: 1.5 * 2^52 is added, so that
 * the last bits of the sum are the rounded value. */
SR_CLONES static inline void sr_dense_exact_units(const double *distances, ptrdiff_t n_centers, const double *weight,
                                                  double scale, double cap, int64_t *units)
{
    const sr_doubles zero = {0};
    double nearest[SR_LANES];
    sr_nearest(distances, n_centers, nearest);
    for (ptrdiff_t r = 0; r < SR_LANES; r += SR_WIDTH) {
        sr_doubles first, factor = zero + 1.0, distance;
        SR_LOAD(first, nearest + r);
        if (weight)
            SR_LOAD(factor, weight + r);
        for (ptrdiff_t c = 0; c < n_centers; c++) {
            SR_LOAD(distance, distances + c * SR_LANES + r);
            const sr_doubles cost = factor * (distance - first);
            sr_doubles value = cost * scale;
            sr_longs bits;
            value = SR_SELECT(value < cap, value, zero + cap);
            value = SR_SELECT((cost > 0.0) & (value < 1.0), zero + 1.0, value);
            value += 6755399441055744.0;
            SR_LOAD(bits, &value);
            bits -= 0x4338000000000000LL;
            SR_STORE(units + c * SR_LANES + r, bits);
        }
    }
}

/* Codes clipped to those of the outermost centers; beyond `count`, up to the end of a group, the lowest. */
SR_CLONES static inline void sr_dense_places(const uint16_t *restrict codes, ptrdiff_t count, int32_t low,
                                             int32_t high, int32_t *restrict place)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        const int32_t code = codes[i] < low ? low : codes[i];
        place[i] = code > high ? high : code;
    }
    for (ptrdiff_t i = count; i % SR_LANES; i++)
        place[i] = low;
}

/* units: per group of 16 rows, K x 16; at: place of each center in `units`; q: codes of the centers;
 * place: clipped codes, 16 per group; right: K x 16, scratch; sums: K x 16, added to; own: by row. Two vectors of rows go
 * through together. */
#define SR_DEFINE_DENSE(NAME, UNIT, VECTOR)                                                                        \
    SR_CLONES static inline void NAME(const UNIT *units, ptrdiff_t n_groups, ptrdiff_t n_centers,                  \
                                      const int32_t *at, const int32_t *q, const int32_t *place, UNIT *right,      \
                                      UNIT *sums, UNIT *own)                                                       \
    {                                                                                                              \
        const ptrdiff_t last = n_centers - 1, width = (ptrdiff_t)(sizeof(VECTOR) / sizeof(UNIT));                  \
        const VECTOR zero = {0};                                                                                   \
        for (ptrdiff_t row = 0; row < n_groups * SR_LANES; row += 2 * width) {                                     \
            const ptrdiff_t lane = row % SR_LANES;                                                                 \
            const UNIT *u = units + (row - lane) * n_centers + lane;                                               \
            UNIT *s = sums + lane, codes[2 * sizeof(VECTOR) / sizeof(UNIT)];                                       \
            VECTOR p, p_too, x, x_too, y, y_too, sum, sum_too, step = zero, step_too = zero;                       \
            for (ptrdiff_t r = 0; r < 2 * width; r++)                                                              \
                codes[r] = place[row + r];                                                                         \
            SR_LOAD(p, codes);                                                                                     \
            SR_LOAD(p_too, codes + width);                                                                         \
            SR_LOAD(x, u + at[last] * SR_LANES);                                                                   \
            SR_LOAD(x_too, u + at[last] * SR_LANES + width);                                                       \
            SR_STORE(right + 2 * last * width, x);                                                                 \
            SR_STORE(right + (2 * last + 1) * width, x_too);                                                       \
            for (ptrdiff_t j = last - 1; j > 0; j--) {                                                             \
                SR_LOAD(y, u + at[j] * SR_LANES);                                                                  \
                SR_LOAD(y_too, u + at[j] * SR_LANES + width);                                                      \
                x = SR_SELECT(x < y, x, y);                                                                        \
                SR_STORE(right + 2 * j * width, x);                                                                \
                x_too = SR_SELECT(x_too < y_too, x_too, y_too);                                                    \
                SR_STORE(right + (2 * j + 1) * width, x_too);                                                      \
            }                                                                                                      \
            SR_LOAD(x, u + at[0] * SR_LANES);                                                                      \
            SR_LOAD(x_too, u + at[0] * SR_LANES + width);                                                          \
            for (ptrdiff_t j = 0; j < last; j++) {                                                                 \
                SR_LOAD(y, u + at[j] * SR_LANES);                                                                  \
                SR_LOAD(y_too, u + at[j] * SR_LANES + width);                                                      \
                SR_LOAD(sum, s + j * SR_LANES);                                                                    \
                SR_LOAD(sum_too, s + j * SR_LANES + width);                                                        \
                x = SR_SELECT(x < y, x, y);                                                                        \
                x_too = SR_SELECT(x_too < y_too, x_too, y_too);                                                    \
                SR_LOAD(y, right + (2 * j + 2) * width);                                                           \
                SR_LOAD(y_too, right + (2 * j + 3) * width);                                                       \
                const VECTOR is_right = p > zero + q[j], is_right_too = p_too > zero + q[j];                       \
                sum += SR_SELECT(is_right, y, x);                                                                  \
                sum_too += SR_SELECT(is_right_too, y_too, x_too);                                                  \
                step = SR_SELECT(is_right, x - y, step); /* a row's own step is at the last cut to its left */     \
                step_too = SR_SELECT(is_right_too, x_too - y_too, step_too);                                       \
                SR_STORE(s + j * SR_LANES, sum);                                                                   \
                SR_STORE(s + j * SR_LANES + width, sum_too);                                                       \
            }                                                                                                      \
            SR_STORE(own + row, step);                                                                             \
            SR_STORE(own + row + width, step_too);                                                                 \
        }                                                                                                          \
    }

SR_DEFINE_DENSE(sr_dense_sweep, int32_t, sr_ints)
SR_DEFINE_DENSE(sr_dense_exact, int64_t, sr_longs)

/* to[i] += from[i] */
SR_CLONES static inline void sr_add(int64_t *restrict to, const int64_t *restrict from, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* Count the rows by code, and their own steps, up and down apart. */
static inline void sr_dense_tally(const int32_t *place, const int32_t *own, ptrdiff_t count, sr_tally *tally)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        sr_tally *here = tally + place[i];
        const int32_t sign = own[i] >> 31;
        here->rows++;
        (&here->step_up)[-sign] += (own[i] ^ sign) - sign;
    }
}

#endif
