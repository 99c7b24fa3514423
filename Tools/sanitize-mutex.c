// Tells ThreadSanitizer of Synchronization.Mutex, for Tools/sanitize; loaded with LD_PRELOAD.
//
// On Linux the fast path of the mutex is compiled into its users, where the sanitizer sees it. The
// slow one stands in the Swift runtime, which is not instrumented: there the kernel hands the lock
// over, and the sanitizer reports races between those who held it one after the other. The two
// functions below stand in front of those of the runtime, call them, and say what they mean:
// whoever unlocks releases, whoever locks acquires. Nothing else is hidden.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

// Not there in programs that are loaded on the way to the tests.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK);

static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

SWIFT void lock_slow(uint32_t thread, SELF) {
  ((SWIFT void (*)(uint32_t, SELF))next(LOCK))(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT void unlock_slow(SELF) {
  if (__tsan_release) __tsan_release(self);
  ((SWIFT void (*)(SELF))next(UNLOCK))(self);
}
