// XXH3 (64 and 128 bits, one piece or streamed), without a library: Apple's systems have none, and
// this one is as fast as libxxhash. The tests compare both for each length up to 4,096 bytes.
//
// A null pointer is allowed wherever the length is 0.

#ifndef CXXHASH_H
#define CXXHASH_H

#include <stddef.h>
#include <stdint.h>

// A 128-bit hash. Written as bytes or hex digits, `high` comes first, each half big-endian: the
// canonical form of the xxHash specification.
typedef struct {
  uint64_t high;
  uint64_t low;
} cxxhash128;

// The state of a streamed hash; owned by the caller between create and free.
typedef struct cxxhash_state cxxhash_state;

// XXH3 with 64 bits of `length` bytes.
uint64_t cxxhash_xxh3_64(const void *bytes, size_t length, uint64_t seed);

// XXH3 with 128 bits of `length` bytes.
cxxhash128 cxxhash_xxh3_128(const void *bytes, size_t length, uint64_t seed);

// Returns a new state, ready for the first byte with seed 0; NULL if there is no memory.
cxxhash_state *cxxhash_state_create(void);

// Makes the state ready for a new first byte.
void cxxhash_state_reset(cxxhash_state *state, uint64_t seed);

// Adds bytes.
void cxxhash_state_update(cxxhash_state *state, const void *bytes, size_t length);

// The hash of all bytes so far; more may follow.
cxxhash128 cxxhash_state_digest(const cxxhash_state *state);

// Releases the state; NULL is allowed.
void cxxhash_state_free(cxxhash_state *state);

#endif
