// XXH3 for processors with AVX2; base.c decides at run time who may call it.

#include "variants.h"

#if CXXHASH_HAS_AVX2

// All that xxhash.h includes comes first, so that the attribute below meets only its own code.
#include <assert.h>
#include <immintrin.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)

#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_AVX2
#include <xxhash.h>

CXXHASH_DEFINE(avx2)

#pragma clang attribute pop

#else

// Keeps the file from being empty, which ISO C does not allow.
typedef int cxxhash_no_avx2;

#endif
