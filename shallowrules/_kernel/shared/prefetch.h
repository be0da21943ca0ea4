/* Asking for memory before it is needed. */
#ifndef SHALLOWRULES_PREFETCH_H
#define SHALLOWRULES_PREFETCH_H

#if defined(__GNUC__)
#define sr_prefetch(place) __builtin_prefetch(place)
#else
#define sr_prefetch(place) ((void)0)
#endif

#endif
