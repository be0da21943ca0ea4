/* The sums of k-means++ over the rows, 16 of them at a time. */
#ifndef SHALLOWRULES_SEEDING_H
#define SHALLOWRULES_SEEDING_H

#include "shared/lanes.h"

/* Add, for each trial of each start, the weighted squared distances to the nearest center to sums: those held in closest,
 * or that to the trial's row where it is smaller. With `keeps`, closest holds these from then on; there is then a
 * single trial.
 *
 * distances: n_starts x n_trials x 16; closest: n_starts x 16, `stride` apart; weight: 16; sums: n_starts x n_trials x 16. */
SR_CLONES static inline void sr_sum_closest(const double *distances, ptrdiff_t n_starts, ptrdiff_t n_trials, int keeps,
                                            const double *restrict weight, double *closest, ptrdiff_t stride,
                                            double *restrict sums)
{
    for (ptrdiff_t start = 0; start < n_starts; start++, closest += stride) {
        double held[SR_LANES];
        memcpy(held, closest, sizeof held);
        for (ptrdiff_t trial = 0; trial < n_trials; trial++, distances += SR_LANES, sums += SR_LANES) {
            double least[SR_LANES];
            for (int r = 0; r < SR_LANES; r++)
                least[r] = distances[r] < held[r] ? distances[r] : held[r];
            for (int r = 0; r < SR_LANES; r++)
                sums[r] += weight[r] * least[r];
            if (keeps)
                memcpy(closest, least, sizeof least);
        }
    }
}

#endif
