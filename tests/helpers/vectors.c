/* Calls every function with vectors (`vectors.h`) on drawn numbers, and prints a checksum of what each returns. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What another system or compiler would not define: asked for by the test. */
#ifdef NO_CLONES
#undef __GLIBC__
#endif
#ifdef NO_VECTORS
#undef __GLIBC__
#undef __GNUC__
#endif

#include "growth/dense_sweep.h"
#include "refinement/code_sums.h"
#include "refinement/differences.h"
#include "shared/bins.h"
#include "shared/seeding.h"

#define ROWS 320
#define MOST 64
#define CODES 500

static uint64_t state = 1;

static uint64_t drawn(uint64_t below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
}

static void draw(double *numbers, ptrdiff_t count) /* many are equal, some are 0 */
{
    for (ptrdiff_t i = 0; i < count; i++)
        numbers[i] = drawn(3) ? ((double)drawn(2000) - 1000.0) / 7.0 : (double)drawn(3);
}

static void print_checksum(const char *name, const void *bytes, size_t size)
{
    uint64_t sum = 14695981039346656037ULL;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211ULL;
    printf("%s %016llx\n", name, (unsigned long long)sum);
}

#define PRINT(name, array) print_checksum(name, array, sizeof(array))

static double rows[MOST * SR_LANES], centers[MOST * MOST], distances[MOST * SR_LANES], weight[SR_LANES];
static int at[MOST], edge[MOST], ids[MOST], place[ROWS];
static uint16_t codes[ROWS];

static void sum_dense(int k, int n_groups)
{
    static int64_t units[ROWS * MOST], right[MOST * SR_LANES], sums[MOST * SR_LANES], own[ROWS];
    static int32_t few[ROWS * MOST], few_right[MOST * SR_LANES], few_sums[MOST * SR_LANES], few_own[ROWS];
    static int32_t largest[SR_LANES];
    static sr_tally tally[CODES];
    double nearest[SR_LANES];
    for (int j = 0; j < k; j++) {
        at[j] = (j * 7 + 3) % k;
        edge[j] = 20 + (j * (CODES - 40)) / k;
    }
    for (int g = 0; g < n_groups; g++) {
        draw(rows, MOST * SR_LANES);
        sr_lane_distances(rows, 1 + g, centers, ids, k, distances);
        sr_dense_exact_units(distances, k, g % 2 ? weight : NULL, 1e4, 5e8, units + g * k * SR_LANES);
        sr_dense_units(distances, k, g % 2 ? weight : NULL, 10.0, few + g * k * SR_LANES, nearest, largest);
    }
    sr_dense_places(codes, n_groups * SR_LANES - 5, edge[0], edge[k - 1], place);
    sr_dense_exact(units, n_groups, k, at, edge, place, right, sums, own);
    sr_dense_sweep(few, n_groups, k, at, edge, place, few_right, few_sums, few_own);
    sr_dense_tally(place, few_own, n_groups * SR_LANES, tally);
    PRINT("dense_units", few);
    PRINT("nearest", nearest);
    PRINT("largest", largest);
    PRINT("dense_exact_units", units);
    PRINT("dense_places", place);
    PRINT("dense_exact sums", sums);
    PRINT("dense_exact own", own);
    PRINT("dense_sweep sums", few_sums);
    PRINT("dense_sweep own", few_own);
    PRINT("dense_tally", tally);
}

static void of_lanes(int n_columns, int k)
{
    double out[3 * SR_LANES], closest[3 * SR_LANES], sums[6 * SR_LANES] = {0};
    draw(rows, MOST * SR_LANES);
    sr_lane_distances(rows, n_columns, centers, ids, k, distances);
    sr_lane_smallest(distances, k, out, out + SR_LANES, out + 2 * SR_LANES);
    PRINT("lane_distances", distances);
    PRINT("lane_smallest", out);
    memcpy(closest, distances + 6 * SR_LANES, sizeof closest);
    sr_sum_closest(distances, 3, 2, 0, weight, closest, SR_LANES, sums);
    sr_sum_closest(distances, 3, 1, 1, weight, closest, SR_LANES, sums);
    PRINT("sum_closest", sums);
    PRINT("sum_closest kept", closest);
}

static void of_columns(int n)
{
    static double numbers[6 * MOST];
    double sums[2];
    int bins[6 * MOST], doubt;
    draw(numbers, 6 * MOST);
    sums[0] = sr_along(numbers, numbers + n, numbers + 2 * n, n);
    sr_find_bins(numbers, 6 * MOST, 0.3, 1.0, -20.0, 50.0, 1e-9, bins, &doubt);
    PRINT("find_bins", bins);
    sr_find_bins(numbers, 6 * MOST, 1.0, 3.0, -20.0, 50.0, 1e-9, bins, &doubt);
    PRINT("find_bins, divided", bins);
    sr_difference(numbers, numbers + n, 0.7, n, numbers + 2 * n);
    sr_add_difference(numbers, numbers + n, 1.3, n, numbers + 3 * n);
    sr_add_to(numbers + 4 * n, numbers, n);
    sums[1] = sr_add_and_square(numbers + 5 * n, numbers + 2 * n, n);
    PRINT("along, add_and_square", sums);
    PRINT("difference, add_difference, add_to", numbers);
}

static void of_codes(int n)
{
    static double sums[CODES * SR_GROUP], other[CODES * SR_GROUP];
    int64_t counts[2][MOST];
    const int64_t is_other[2][SR_GROUP] = {{0, 0, 0, 0}, {-1, 0, -1, 0}};
    uint16_t low[MOST] = {400, 0, 30, 30}, high[MOST] = {0};
    double base[2 * SR_GROUP], lowest[2 * SR_GROUP];
    for (int r = 0; r < 4; r++)
        sr_widen_ranges(codes + r * n, n, low, high);
    PRINT("widen_ranges low", low);
    PRINT("widen_ranges high", high);
    draw(base, 2 * SR_GROUP);
    for (int f = 0; f < SR_GROUP; f++) {
        low[f] = (uint16_t)(f * 9);
        high[f] = (uint16_t)(CODES - f * 50);
        for (int code = low[f]; code < high[f]; code++) {
            draw(sums + code * SR_GROUP + f, 1);
            draw(other + code * SR_GROUP + f, 1);
        }
    }
    for (int i = 0; i < 2; i++) {
        for (int f = 0; f < 2 * SR_GROUP; f++)
            lowest[f] = INFINITY;
        sr_lowest_totals(sums, other, is_other[i], low, high, base, lowest);
        PRINT("lowest_totals", lowest);
    }
    for (int i = 0; i < 2 * MOST; i++)
        counts[i / MOST][i % MOST] = (int64_t)drawn(1000000);
    sr_add(counts[0], counts[1], MOST);
    PRINT("add", counts);
}

int main(void)
{
    draw(centers, MOST * MOST);
    draw(weight, SR_LANES);
    for (int r = 0; r < SR_LANES; r++)
        weight[r] = 1.0 + weight[r] * weight[r];
    for (int i = 0; i < MOST; i++)
        ids[i] = (i * 11 + 5) % MOST;
    for (int i = 0; i < ROWS; i++)
        codes[i] = (uint16_t)drawn(CODES);
    for (int k = 2; k <= 50; k += 1 + k / 2)
        for (int n_groups = 1; n_groups <= 5; n_groups += 2)
            sum_dense(k, n_groups);
    for (int n_columns = 1; n_columns <= 40; n_columns += 1 + n_columns / 3)
        for (int k = 1; k <= MOST; k = k * 2)
            of_lanes(n_columns, k);
    for (int n = 1; n <= MOST; n++) {
        of_columns(n);
        of_codes(n);
    }
    return 0;
}
