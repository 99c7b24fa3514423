// XXH3 with the vectors that every processor of the platform has, and the choice at run time.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "variants.h"

CXXHASH_DEFINE(base)

// The layout of a state does not depend on the vectors, so either variant may continue it.
#if CXXHASH_HAS_AVX2
#define CXXHASH_CALL(name, ...) \
  (__builtin_cpu_supports("avx2") ? name##_avx2(__VA_ARGS__) : name##_base(__VA_ARGS__))
#else
#define CXXHASH_CALL(name, ...) name##_base(__VA_ARGS__)
#endif

// Up to this length XXH3 uses no vectors: the base variant answers without a question asked.
enum { SHORT_BYTES = 240 };

uint64_t cxxhash_xxh3_64(const void *bytes, size_t length, uint64_t seed) {
  if (length <= SHORT_BYTES) return XXH3_64bits_withSeed(bytes, length, seed);
  return CXXHASH_CALL(cxxhash_xxh3_64, bytes, length, seed);
}

cxxhash128 cxxhash_xxh3_128(const void *bytes, size_t length, uint64_t seed) {
  if (length <= SHORT_BYTES) return cxxhash_xxh3_128_base(bytes, length, seed);
  return CXXHASH_CALL(cxxhash_xxh3_128, bytes, length, seed);
}

cxxhash_state *cxxhash_state_create(void) {
  XXH3_state_t *state = XXH3_createState();
  if (state != NULL) XXH3_128bits_reset(state);
  return (cxxhash_state *)state;
}

void cxxhash_state_reset(cxxhash_state *state, uint64_t seed) {
  XXH3_128bits_reset_withSeed((XXH3_state_t *)state, seed);
}

void cxxhash_state_update(cxxhash_state *state, const void *bytes, size_t length) {
  CXXHASH_CALL(cxxhash_state_update, state, bytes, length);
}

cxxhash128 cxxhash_state_digest(const cxxhash_state *state) {
  return CXXHASH_CALL(cxxhash_state_digest, state);
}

void cxxhash_state_free(cxxhash_state *state) {
  XXH3_freeState((XXH3_state_t *)state);
}
