/* A decimal number, w times ten to the power of q, as the nearest double: exact, by whole numbers of 128 bits.
 *
 * Where double arithmetic is exact already it is used (Clinger, "How to read floating point numbers accurately", 1990):
 * a whole number below 2**53 and a power of ten up to 10**22 have no error, and one operation of theirs rounds once.
 * Else w is multiplied or divided by a power of five with all its digits kept, and rounded once to 53 bits.
 */
#ifndef SHALLOWRULES_DECIMAL_H
#define SHALLOWRULES_DECIMAL_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#if defined(__SIZEOF_INT128__) && (defined(__GNUC__) || defined(__clang__))
#define SR_HAS_INT128 1
__extension__ typedef unsigned __int128 sr_uint128;
#else
#define SR_HAS_INT128 0
#endif

#define SR_MAX_EXACT_TEN 22     /* 10**22 is the largest power of ten that a double holds */
#define SR_MAX_FIVE 27          /* 5**27 is the largest power of five below 2**63 */

static const double sr_tens[SR_MAX_EXACT_TEN + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if SR_HAS_INT128
static const uint64_t sr_fives[SR_MAX_FIVE + 1] = {
    1ull, 5ull, 25ull, 125ull, 625ull, 3125ull, 15625ull, 78125ull, 390625ull, 1953125ull, 9765625ull, 48828125ull,
    244140625ull, 1220703125ull, 6103515625ull, 30517578125ull, 152587890625ull, 762939453125ull, 3814697265625ull,
    19073486328125ull, 95367431640625ull, 476837158203125ull, 2384185791015625ull, 11920928955078125ull,
    59604644775390625ull, 298023223876953125ull, 1490116119384765625ull, 7450580596923828125ull};

/* bits times 2**exponent, more after them where `rest`, as the nearest double; bits is at least 2**54. */
static inline double sr_rounded(uint64_t bits, int rest, int exponent)
{
    const int shift = 11 - __builtin_clzll(bits);
    const uint64_t below = bits & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    uint64_t kept = bits >> shift, scale_bits = (uint64_t)(exponent + shift + 1023) << 52;
    double scale;
    kept += below > half || (below == half && (rest || (kept & 1)));
    memcpy(&scale, &scale_bits, sizeof scale);
    return (double)kept * scale;
}
#endif

/* Write the nearest double to *number; 0 where it cannot be found here. */
static inline int sr_decimal(uint64_t w, int q, double *number)
{
    if (w == 0) {
        *number = 0.0;
        return 1;
    }
#if FLT_EVAL_METHOD == 0
    if (w <= (1ull << 53) && q >= -SR_MAX_EXACT_TEN && q <= SR_MAX_EXACT_TEN) {
        *number = q < 0 ? (double)w / sr_tens[-q] : (double)w * sr_tens[q];
        return 1;
    }
#endif
#if SR_HAS_INT128
    if (q < 0 && q >= -SR_MAX_FIVE) {
        const uint64_t five = sr_fives[-q];
        const int up = __builtin_clzll(w), down = __builtin_clzll(five);
        const sr_uint128 above = (sr_uint128)(w << up) << 63;  /* quotient: 63 or 64 bits */
        const uint64_t below = five << down, quotient = (uint64_t)(above / below);
        *number = sr_rounded(quotient, above != (sr_uint128)quotient * below, q + down - up - 63);
        return 1;
    }
    if (q >= 0 && q <= SR_MAX_FIVE) {
        const sr_uint128 product = (sr_uint128)w * sr_fives[q];
        const uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
        if (high == 0) {
            const int up = __builtin_clzll(low);
            *number = sr_rounded(low << up, 0, q - up);
        } else {
            const int up = __builtin_clzll(high);
            *number = sr_rounded((uint64_t)(product << up >> 64), low << up != 0, q + 64 - up);
        }
        return 1;
    }
#endif
    return 0;
}

#endif
