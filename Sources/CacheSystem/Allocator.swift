internal import CPlatform

/// Settings of the memory allocator of this process.
package enum Allocator {
  /// Limits the number of heaps that glibc keeps for the threads of the process (M_ARENA_MAX of
  /// mallopt(3)); does nothing elsewhere. It must be called before any thread is started.
  package static func limitHeaps(to count: Int32) { cp_limit_heaps(count) }
}
