/* Vectors from one source: types whose operators work on all their numbers, and functions that the compiler translates
 * for each instruction set; the widest that the machine has is chosen when a module is loaded.
 *
 * The build forbids fused multiply-add, so that every instruction set gives the same bits. MSVC has no such types:
 * there, single numbers are in their place.
 */
#ifndef SHALLOWRULES_VECTORS_H
#define SHALLOWRULES_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef __has_attribute
#define __has_attribute(name) 0
#endif

/* The choice is made by the loader of glibc, and sanitizers are not ready then. */
#if defined(__x86_64__) && defined(__GLIBC__) && __has_attribute(target_clones) && !defined(__SANITIZE_ADDRESS__)
#define SR_HAS_CLONES 1
#define SR_CLONES __attribute__((target_clones("avx2", "default")))
#define SR_VECTOR_BYTES 32
#else
#define SR_HAS_CLONES 0
#define SR_CLONES
#define SR_VECTOR_BYTES 16
#endif

/* A helper of a function with clones has to become part of each. */
#if defined(__GNUC__)
#define SR_INLINE inline __attribute__((always_inline))
#else
#define SR_INLINE inline
#endif

/* SR_SELECT: a where the mask that a comparison gave is set, else b. */
#if defined(__GNUC__)
typedef double sr_doubles __attribute__((vector_size(SR_VECTOR_BYTES)));
typedef int64_t sr_longs __attribute__((vector_size(SR_VECTOR_BYTES)));
typedef int32_t sr_ints __attribute__((vector_size(SR_VECTOR_BYTES)));
#define SR_SELECT(mask, a, b)                                                                                      \
    ((__typeof__(a))(((__typeof__(mask))(a) & (mask)) | ((__typeof__(mask))(b) & ~(mask))))
#else
typedef double sr_doubles;
typedef int64_t sr_longs;
typedef int32_t sr_ints;
#define SR_SELECT(mask, a, b) ((mask) ? (a) : (b))
#endif

#define SR_WIDTH ((ptrdiff_t)(sizeof(sr_doubles) / sizeof(double)))
#define SR_LOAD(vector, from) memcpy(&(vector), from, sizeof(vector))
#define SR_STORE(to, vector) memcpy(to, &(vector), sizeof(vector))

#endif
