internal import CPlatform

/// Names what the allocator of this process can be told.
package enum Allocator {
  /// Bounds the number of heaps that glibc keeps for the threads of the process (M_ARENA_MAX of
  /// mallopt(3)); does nothing elsewhere. To be called before there are threads.
  package static func limitHeaps(to count: Int32) { cp_limit_heaps(count) }
}
