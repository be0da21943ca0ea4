/* What Python's pyconfig.h says on 64-bit Windows, as far as its headers and the kernel ask. A long has 32 bits. */
#ifndef Py_CONFIG_H
#define Py_CONFIG_H

#include <float.h>
#include <io.h>
#include <stdio.h>

#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define NT_THREADS
#define WITH_THREAD
#define Py_ENABLE_SHARED 1
#define MS_COREDLL
#define HAVE_DECLSPEC_DLL

#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_TIME_T 8
#define SIZEOF_OFF_T 4

#define STDC_HEADERS 1
#define HAVE_UINTPTR_T 1
#define HAVE_INTPTR_T 1
#define HAVE_COPYSIGN 1
#define HAVE_ROUND 1
#define HAVE_DECL_ISINF 1

#ifdef _MSC_VER
typedef __int64 Py_ssize_t;
typedef int pid_t;
#define HAVE_PY_SSIZE_T 1
#define PY_SSIZE_T_MAX 0x7FFFFFFFFFFFFFFFLL
#endif

#endif
