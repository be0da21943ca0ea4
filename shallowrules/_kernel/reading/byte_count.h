/* The delimiters, line ends, quotes and odd bytes in a block of a CSV file: 16 bytes at a time where the compiler has
 * vectors, one at a time elsewhere. */
#ifndef SHALLOWRULES_BYTE_COUNT_H
#define SHALLOWRULES_BYTE_COUNT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    ptrdiff_t delimiters;
    ptrdiff_t newlines;
    ptrdiff_t returns;
    ptrdiff_t pairs;    /* a return and a newline */
    int quotes;         /* whether there is a quote */
    int odd_numbers;    /* whether there is a digit after an underscore, or +- */
    int other;          /* whether a byte cannot be part of a whole number */
} sr_byte_counts;

/* For one byte or a vector of them; `before` has the byte before each. A whole number may have spaces around it, quotes
 * and the end of its field. */
#define SR_IS_DIGIT(b) ((b >= '0') & (b <= '9'))
#define SR_IS_ODD(before, b) (((before == '_') & SR_IS_DIGIT(b)) | ((before == '+') & (b == '-')))
#define SR_IS_OF_WHOLE_NUMBER(b, delimiter)                                                                        \
    (SR_IS_DIGIT(b) | (b == '-') | (b == '+') | (b == ' ') | (b == delimiter) | (b == '\n') | (b == '\r')          \
     | (b == '"'))

#if defined(__GNUC__)
enum { SR_VECTOR = 16, SR_PIECE = 255 }; /* vectors whose bytes can be counted in a byte each */
typedef uint8_t sr_vector __attribute__((vector_size(16)));

static inline ptrdiff_t sr_count_vectors(const uint8_t *bytes, ptrdiff_t n, uint8_t delimiter, sr_byte_counts *counts)
{
    const sr_vector zero = {0};
    sr_vector quotes = zero, odd = zero, whole = ~zero;
    ptrdiff_t start = 0;
    while (n - start >= SR_VECTOR) {
        sr_vector delimiters = zero, newlines = zero, returns = zero, pairs = zero;
        for (int i = 0; i < SR_PIECE && n - start >= SR_VECTOR; i++, start += SR_VECTOR) {
            sr_vector b, before;
            memcpy(&b, bytes + start, SR_VECTOR);
            memcpy(&before, bytes + start - 1, SR_VECTOR);
            delimiters -= (sr_vector)(b == delimiter); /* a true comparison is 255, which is -1 */
            newlines -= (sr_vector)(b == '\n');
            returns -= (sr_vector)(b == '\r');
            pairs -= (sr_vector)((b == '\n') & (before == '\r'));
            quotes |= (sr_vector)(b == '"');
            odd |= (sr_vector)SR_IS_ODD(before, b);
            whole &= (sr_vector)SR_IS_OF_WHOLE_NUMBER(b, delimiter);
        }
        for (int i = 0; i < SR_VECTOR; i++) {
            counts->delimiters += delimiters[i];
            counts->newlines += newlines[i];
            counts->returns += returns[i];
            counts->pairs += pairs[i];
        }
    }
    for (int i = 0; i < SR_VECTOR; i++) {
        counts->quotes |= quotes[i];
        counts->odd_numbers |= odd[i];
        counts->other |= !whole[i];
    }
    return start;
}
#else
static inline ptrdiff_t sr_count_vectors(const uint8_t *bytes, ptrdiff_t n, uint8_t delimiter, sr_byte_counts *counts)
{
    return 0;
}
#endif

/* Counts bytes; the one before them is read too. */
static inline sr_byte_counts sr_count_bytes(const uint8_t *bytes, ptrdiff_t n, uint8_t delimiter)
{
    sr_byte_counts counts = {0, 0, 0, 0, 0, 0, 0};
    for (ptrdiff_t i = sr_count_vectors(bytes, n, delimiter, &counts); i < n; i++) {
        uint8_t b = bytes[i], before = bytes[i - 1];
        counts.delimiters += b == delimiter;
        counts.newlines += b == '\n';
        counts.returns += b == '\r';
        counts.pairs += (b == '\n') & (before == '\r');
        counts.quotes |= b == '"';
        counts.odd_numbers |= SR_IS_ODD(before, b);
        counts.other |= !SR_IS_OF_WHOLE_NUMBER(b, delimiter);
    }
    return counts;
}

#endif
