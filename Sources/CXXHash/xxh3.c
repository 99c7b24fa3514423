// XXH3, written from its specification: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
//
// Inputs of up to 240 bytes are mixed by multiplications of 64 by 64 bits. Longer ones are read in
// stripes of 64 bytes, each added to eight accumulators; sixteen stripes are a block, after which the
// accumulators are scrambled. All numbers are little-endian.

#include "include/cxxhash.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 wide;
// Four of the accumulators. The compiler makes the vector instructions of the platform from it.
typedef uint64_t quad __attribute__((vector_size(32)));

#define PRIME32_1 UINT64_C(0x9E3779B1)
#define PRIME32_2 UINT64_C(0x85EBCA77)
#define PRIME32_3 UINT64_C(0xC2B2AE3D)
#define PRIME64_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME64_3 UINT64_C(0x165667B19E3779F9)
#define PRIME64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME64_5 UINT64_C(0x27D4EB2F165667C5)
#define PRIME_MX1 UINT64_C(0x165667919E3779F9)
#define PRIME_MX2 UINT64_C(0x9FB21C651E98DF25)

enum {
  STRIPE_BYTES = 64,
  SECRET_BYTES = 192,
  // With each stripe of a block, the secret is read 8 bytes further on.
  STRIPES_PER_BLOCK = (SECRET_BYTES - STRIPE_BYTES) / 8,
  // The longest input that is not read in stripes.
  SHORT_BYTES = 240,
  // What a state keeps back, because it may be the end of the input.
  BUFFER_BYTES = 4 * STRIPE_BYTES,
};

static const uint8_t default_secret[SECRET_BYTES] __attribute__((aligned(64))) = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

struct cxxhash_state {
  quad sums[2];
  uint8_t secret[SECRET_BYTES];
  // The bytes that are not in the accumulators yet. Behind them, up to the end, are the bytes before
  // them, which the last stripe may need.
  uint8_t buffer[BUFFER_BYTES];
  size_t buffered;
  size_t stripes;
  uint64_t length;
  uint64_t seed;
};

// MARK: Numbers

static inline uint64_t little64(uint64_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return __builtin_bswap64(value);
#else
  return value;
#endif
}

static inline uint64_t read64(const uint8_t *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return little64(value);
}

static inline void write64(uint8_t *bytes, uint64_t value) {
  value = little64(value);
  memcpy(bytes, &value, sizeof value);
}

static inline uint32_t read32(const uint8_t *bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap32(value);
#endif
  return value;
}

static inline uint64_t rotate64(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

// The two halves of the product, combined.
static inline uint64_t fold(uint64_t a, uint64_t b) {
  const wide product = (wide)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t avalanche(uint64_t hash) {
  hash ^= hash >> 37;
  hash *= PRIME_MX1;
  return hash ^ hash >> 32;
}

// The avalanche of XXH64.
static inline uint64_t old_avalanche(uint64_t hash) {
  hash ^= hash >> 33;
  hash *= PRIME64_2;
  hash ^= hash >> 29;
  hash *= PRIME64_3;
  return hash ^ hash >> 32;
}

static inline uint64_t secret64(size_t offset) { return read64(default_secret + offset); }

// Mixes 16 bytes with 16 bytes of the secret.
static inline uint64_t mix16(const uint8_t *bytes, const uint8_t *secret, uint64_t seed) {
  return fold(
      read64(bytes) ^ (read64(secret) + seed), read64(bytes + 8) ^ (read64(secret + 8) - seed));
}

static inline uint64_t spread(uint64_t seed) {
  return seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
}

// 1 to 3 bytes and their number, in 32 bits.
static inline uint32_t combine(const uint8_t *bytes, size_t length) {
  return (uint32_t)bytes[0] << 16 | (uint32_t)bytes[length >> 1] << 24 | bytes[length - 1]
      | (uint32_t)length << 8;
}

// MARK: Short inputs, 64 bits

static uint64_t short64(const uint8_t *bytes, size_t length, uint64_t seed) {
  if (length > 8) {
    const uint64_t low = read64(bytes) ^ ((secret64(24) ^ secret64(32)) + seed);
    const uint64_t high = read64(bytes + length - 8) ^ ((secret64(40) ^ secret64(48)) - seed);
    return avalanche(length + __builtin_bswap64(low) + high + fold(low, high));
  }
  if (length > 3) {
    const uint64_t both = read32(bytes + length - 4) + ((uint64_t)read32(bytes) << 32);
    uint64_t hash = both ^ ((secret64(8) ^ secret64(16)) - spread(seed));
    hash ^= rotate64(hash, 49) ^ rotate64(hash, 24);
    hash *= PRIME_MX2;
    hash ^= (hash >> 35) + length;
    hash *= PRIME_MX2;
    return hash ^ hash >> 28;
  }
  if (length > 0) {
    const uint64_t flip = (read32(default_secret) ^ read32(default_secret + 4)) + seed;
    return old_avalanche(combine(bytes, length) ^ flip);
  }
  return old_avalanche(seed ^ secret64(56) ^ secret64(64));
}

static uint64_t middle64(const uint8_t *bytes, size_t length, uint64_t seed) {
  const uint8_t *end = bytes + length;
  uint64_t hash = length * PRIME64_1;
  if (length <= 128) {
    // From both ends to the middle.
    for (size_t i = (length - 1) / 32 + 1; i-- > 0;) {
      hash += mix16(bytes + 16 * i, default_secret + 32 * i, seed);
      hash += mix16(end - 16 * (i + 1), default_secret + 32 * i + 16, seed);
    }
    return avalanche(hash);
  }
  for (size_t i = 0; i < 8; i++) hash += mix16(bytes + 16 * i, default_secret + 16 * i, seed);
  hash = avalanche(hash);
  for (size_t i = 8; i < length / 16; i++) {
    hash += mix16(bytes + 16 * i, default_secret + 16 * (i - 8) + 3, seed);
  }
  return avalanche(hash + mix16(end - 16, default_secret + 119, seed));
}

// MARK: Short inputs, 128 bits

static cxxhash128 short128(const uint8_t *bytes, size_t length, uint64_t seed) {
  if (length > 8) {
    const uint64_t first = read64(bytes);
    uint64_t last = read64(bytes + length - 8);
    const wide product =
        (wide)(first ^ last ^ ((secret64(32) ^ secret64(40)) - seed)) * PRIME64_1;
    const uint64_t low = (uint64_t)product + ((uint64_t)(length - 1) << 54);
    last ^= (secret64(48) ^ secret64(56)) + seed;
    const uint64_t high =
        (uint64_t)(product >> 64) + last + (uint64_t)(uint32_t)last * (PRIME32_2 - 1);
    const wide next = (wide)(low ^ __builtin_bswap64(high)) * PRIME64_2;
    return (cxxhash128){
        avalanche((uint64_t)(next >> 64) + high * PRIME64_2), avalanche((uint64_t)next)};
  }
  if (length > 3) {
    const uint64_t both = read32(bytes) + ((uint64_t)read32(bytes + length - 4) << 32);
    const uint64_t keyed = both ^ ((secret64(16) ^ secret64(24)) + spread(seed));
    const wide product = (wide)keyed * (PRIME64_1 + (length << 2));
    uint64_t low = (uint64_t)product;
    const uint64_t high = (uint64_t)(product >> 64) + (low << 1);
    low ^= high >> 3;
    low ^= low >> 35;
    low *= PRIME_MX2;
    return (cxxhash128){avalanche(high), low ^ low >> 28};
  }
  if (length > 0) {
    const uint32_t combined = combine(bytes, length);
    const uint32_t swapped = __builtin_bswap32(combined);
    const uint64_t low = (read32(default_secret) ^ read32(default_secret + 4)) + seed;
    const uint64_t high = (read32(default_secret + 8) ^ read32(default_secret + 12)) - seed;
    return (cxxhash128){
        old_avalanche((swapped << 13 | swapped >> 19) ^ high), old_avalanche(combined ^ low)};
  }
  return (cxxhash128){
      old_avalanche(seed ^ secret64(80) ^ secret64(88)),
      old_avalanche(seed ^ secret64(64) ^ secret64(72))};
}

// Mixes two pieces of 16 bytes into both halves.
static inline void mix32(
    cxxhash128 *hash, const uint8_t *a, const uint8_t *b, const uint8_t *secret, uint64_t seed) {
  hash->low += mix16(a, secret, seed);
  hash->low ^= read64(b) + read64(b + 8);
  hash->high += mix16(b, secret + 16, seed);
  hash->high ^= read64(a) + read64(a + 8);
}

static cxxhash128 middle128(const uint8_t *bytes, size_t length, uint64_t seed) {
  const uint8_t *end = bytes + length;
  cxxhash128 hash = {0, length * PRIME64_1};
  if (length <= 128) {
    for (size_t i = (length - 1) / 32 + 1; i-- > 0;) {
      mix32(&hash, bytes + 16 * i, end - 16 * (i + 1), default_secret + 32 * i, seed);
    }
  } else {
    for (size_t i = 0; i < 128; i += 32) {
      mix32(&hash, bytes + i, bytes + i + 16, default_secret + i, seed);
    }
    hash = (cxxhash128){avalanche(hash.high), avalanche(hash.low)};
    for (size_t i = 128; i + 32 <= length; i += 32) {
      mix32(&hash, bytes + i, bytes + i + 16, default_secret + (i - 128) + 3, seed);
    }
    mix32(&hash, end - 16, end - 32, default_secret + 103, -seed);
  }
  return (cxxhash128){
      -avalanche(hash.low * PRIME64_1 + hash.high * PRIME64_4 + (length - seed) * PRIME64_2),
      avalanche(hash.low + hash.high)};
}

// MARK: Long inputs

static const quad first_sums[2] = {
    {PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3}, {PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1}};

static inline __attribute__((always_inline)) void read_quad(quad *value, const uint8_t *bytes) {
  memcpy(value, bytes, sizeof *value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (int i = 0; i < 4; i++) (*value)[i] = __builtin_bswap64((*value)[i]);
#endif
}

static inline __attribute__((always_inline)) void add_stripe(
    quad sums[2], const uint8_t *bytes, const uint8_t *secret) {
#pragma clang loop unroll(full)
  for (int i = 0; i < 2; i++) {
    quad value, key;
    read_quad(&value, bytes + 32 * i);
    read_quad(&key, secret + 32 * i);
    key ^= value;
    sums[i] += __builtin_shufflevector(value, value, 1, 0, 3, 2) + (key & 0xFFFFFFFF) * (key >> 32);
  }
}

static inline __attribute__((always_inline)) void scramble(quad sums[2], const uint8_t *secret) {
#pragma clang loop unroll(full)
  for (int i = 0; i < 2; i++) {
    quad key;
    read_quad(&key, secret + SECRET_BYTES - STRIPE_BYTES + 32 * i);
    sums[i] = (sums[i] ^ sums[i] >> 47 ^ key) * PRIME32_1;
  }
}

// Adds stripes; bytes follow behind them.
//
// `stripes`: how many the present block has already.
static inline __attribute__((always_inline)) void add_stripes_inline(
    quad sums[2], size_t *stripes, const uint8_t *bytes, size_t count, const uint8_t *secret) {
  quad local[2] = {sums[0], sums[1]};
  size_t place = *stripes;
  while (count > 0) {
    const size_t room = STRIPES_PER_BLOCK - place;
    const size_t now = count < room ? count : room;
    for (size_t i = 0; i < now; i++, bytes += STRIPE_BYTES) {
      __builtin_prefetch(bytes + 6 * STRIPE_BYTES);
      add_stripe(local, bytes, secret + 8 * (place + i));
    }
    count -= now;
    place += now;
    if (place == STRIPES_PER_BLOCK) {
      scramble(local, secret);
      place = 0;
    }
  }
  memcpy(sums, local, sizeof local);
  *stripes = place;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_stripes_avx2(
    quad sums[2], size_t *stripes, const uint8_t *bytes, size_t count, const uint8_t *secret) {
  add_stripes_inline(sums, stripes, bytes, count, secret);
}
#endif

static void add_stripes(
    quad sums[2], size_t *stripes, const uint8_t *bytes, size_t count, const uint8_t *secret) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    add_stripes_avx2(sums, stripes, bytes, count, secret);
    return;
  }
#endif
  add_stripes_inline(sums, stripes, bytes, count, secret);
}

static void make_secret(uint8_t secret[SECRET_BYTES], uint64_t seed) {
  for (size_t i = 0; i < SECRET_BYTES; i += 16) {
    write64(secret + i, secret64(i) + seed);
    write64(secret + i + 8, secret64(i + 8) - seed);
  }
}

static uint64_t merge(const quad sums[2], const uint8_t *secret, uint64_t start) {
  for (int i = 0; i < 8; i += 2) {
    const quad four = sums[i / 4];
    const uint8_t *key = secret + 8 * i;
    start += fold(four[i % 4] ^ read64(key), four[i % 4 + 1] ^ read64(key + 8));
  }
  return avalanche(start);
}

// Adds the last 64 bytes, and makes the hash of 64 bits, which is also the low half of the other.
static uint64_t finish64(
    quad sums[2], const uint8_t *last, const uint8_t *secret, uint64_t length) {
  add_stripe(sums, last, secret + SECRET_BYTES - STRIPE_BYTES - 7);
  return merge(sums, secret + 11, length * PRIME64_1);
}

static cxxhash128 finish128(
    quad sums[2], const uint8_t *last, const uint8_t *secret, uint64_t length) {
  const uint64_t low = finish64(sums, last, secret, length);
  const uint8_t *other = secret + SECRET_BYTES - STRIPE_BYTES - 11;
  return (cxxhash128){merge(sums, other, ~(length * PRIME64_2)), low};
}

// Reads all but the last 64 bytes of a long input.
static const uint8_t *add_long(
    quad sums[2], const uint8_t *bytes, size_t length, uint64_t seed, uint8_t made[SECRET_BYTES]) {
  const uint8_t *secret = default_secret;
  if (seed != 0) {
    make_secret(made, seed);
    secret = made;
  }
  memcpy(sums, first_sums, sizeof first_sums);
  size_t stripes = 0;
  add_stripes(sums, &stripes, bytes, (length - 1) / STRIPE_BYTES, secret);
  return secret;
}

static __attribute__((noinline)) uint64_t long64(
    const uint8_t *bytes, size_t length, uint64_t seed) {
  quad sums[2];
  uint8_t made[SECRET_BYTES];
  const uint8_t *secret = add_long(sums, bytes, length, seed, made);
  return finish64(sums, bytes + length - STRIPE_BYTES, secret, length);
}

static __attribute__((noinline)) cxxhash128 long128(
    const uint8_t *bytes, size_t length, uint64_t seed) {
  quad sums[2];
  uint8_t made[SECRET_BYTES];
  const uint8_t *secret = add_long(sums, bytes, length, seed, made);
  return finish128(sums, bytes + length - STRIPE_BYTES, secret, length);
}

// MARK: In one piece

uint64_t cxxhash_xxh3_64(const void *bytes, size_t length, uint64_t seed) {
  if (length <= 16) return short64(bytes, length, seed);
  if (length <= SHORT_BYTES) return middle64(bytes, length, seed);
  return long64(bytes, length, seed);
}

cxxhash128 cxxhash_xxh3_128(const void *bytes, size_t length, uint64_t seed) {
  if (length <= 16) return short128(bytes, length, seed);
  if (length <= SHORT_BYTES) return middle128(bytes, length, seed);
  return long128(bytes, length, seed);
}

// MARK: Streamed

cxxhash_state *cxxhash_state_create(void) {
  cxxhash_state *state = aligned_alloc(_Alignof(cxxhash_state), sizeof *state);
  if (state != NULL) cxxhash_state_reset(state, 0);
  return state;
}

void cxxhash_state_reset(cxxhash_state *state, uint64_t seed) {
  memcpy(state->sums, first_sums, sizeof first_sums);
  make_secret(state->secret, seed);
  state->buffered = 0;
  state->stripes = 0;
  state->length = 0;
  state->seed = seed;
}

void cxxhash_state_update(cxxhash_state *state, const void *input, size_t length) {
  if (length == 0) return;
  const uint8_t *bytes = input;
  state->length += length;
  const size_t room = BUFFER_BYTES - state->buffered;
  if (length <= room) {
    memcpy(state->buffer + state->buffered, bytes, length);
    state->buffered += length;
    return;
  }
  // At least one byte follows the buffer, so all of it can be added.
  if (state->buffered > 0) {
    memcpy(state->buffer + state->buffered, bytes, room);
    bytes += room;
    length -= room;
    add_stripes(
        state->sums, &state->stripes, state->buffer, BUFFER_BYTES / STRIPE_BYTES, state->secret);
  }
  if (length > BUFFER_BYTES) {
    const size_t count = (length - 1) / STRIPE_BYTES;
    add_stripes(state->sums, &state->stripes, bytes, count, state->secret);
    bytes += count * STRIPE_BYTES;
    length -= count * STRIPE_BYTES;
    // The last stripe may begin before the bytes that are kept.
    memcpy(state->buffer + BUFFER_BYTES - STRIPE_BYTES, bytes - STRIPE_BYTES, STRIPE_BYTES);
  }
  memcpy(state->buffer, bytes, length);
  state->buffered = length;
}

cxxhash128 cxxhash_state_digest(const cxxhash_state *state) {
  if (state->length <= SHORT_BYTES) {
    return cxxhash_xxh3_128(state->buffer, (size_t)state->length, state->seed);
  }
  quad sums[2];
  memcpy(sums, state->sums, sizeof sums);
  size_t stripes = state->stripes;
  const size_t count = state->buffered;
  uint8_t last[STRIPE_BYTES];
  if (count >= STRIPE_BYTES) {
    add_stripes(sums, &stripes, state->buffer, (count - 1) / STRIPE_BYTES, state->secret);
    memcpy(last, state->buffer + count - STRIPE_BYTES, STRIPE_BYTES);
  } else {
    memcpy(last, state->buffer + BUFFER_BYTES - STRIPE_BYTES + count, STRIPE_BYTES - count);
    memcpy(last + STRIPE_BYTES - count, state->buffer, count);
  }
  return finish128(sums, last, state->secret, state->length);
}

void cxxhash_state_free(cxxhash_state *state) { free(state); }
