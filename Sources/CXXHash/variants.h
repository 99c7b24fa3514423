// The functions that exist once for every instruction set: internal to this target.

#ifndef CXXHASH_VARIANTS_H
#define CXXHASH_VARIANTS_H

#include "include/cxxhash.h"

// x86-64 is the one platform where the fast vectors are an option of the processor: SSE2 on any
// x86-64 and NEON on any arm64 are what the base line compiles to anyway.
#if defined(__x86_64__) && defined(__clang__)
#define CXXHASH_HAS_AVX2 1
#else
#define CXXHASH_HAS_AVX2 0
#endif

#define CXXHASH_DECLARE(suffix)                                                          \
  uint64_t cxxhash_xxh3_64_##suffix(const void *bytes, size_t length, uint64_t seed);    \
  cxxhash128 cxxhash_xxh3_128_##suffix(const void *bytes, size_t length, uint64_t seed); \
  void cxxhash_state_update_##suffix(cxxhash_state *state, const void *bytes, size_t length); \
  cxxhash128 cxxhash_state_digest_##suffix(const cxxhash_state *state);

CXXHASH_DECLARE(base)
#if CXXHASH_HAS_AVX2
CXXHASH_DECLARE(avx2)
#endif

// The bodies of the same functions, for a file that has included xxhash.h.
#define CXXHASH_DEFINE(suffix)                                                            \
  uint64_t cxxhash_xxh3_64_##suffix(const void *bytes, size_t length, uint64_t seed) {    \
    return XXH3_64bits_withSeed(bytes, length, seed);                                     \
  }                                                                                       \
  cxxhash128 cxxhash_xxh3_128_##suffix(const void *bytes, size_t length, uint64_t seed) { \
    const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, length, seed);                \
    return (cxxhash128){hash.high64, hash.low64};                                         \
  }                                                                                       \
  void cxxhash_state_update_##suffix(                                                     \
      cxxhash_state *state, const void *bytes, size_t length) {                           \
    if (length > 0) XXH3_128bits_update((XXH3_state_t *)state, bytes, length);            \
  }                                                                                       \
  cxxhash128 cxxhash_state_digest_##suffix(const cxxhash_state *state) {                  \
    const XXH128_hash_t hash = XXH3_128bits_digest((const XXH3_state_t *)state);          \
    return (cxxhash128){hash.high64, hash.low64};                                         \
  }

#endif
