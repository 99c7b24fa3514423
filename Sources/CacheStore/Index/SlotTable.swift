/// Finds slots by a 64-bit hash: extendible hashing with open addressing in each page.
///
/// A page holds up to 768 slots in 1,024 buckets of 8 bytes (32 bits of the hash and the slot).
/// A full page is split in two, so the longest step is that of one page, however many there are. The
/// top bits of the hash choose the page, by a directory; the bits below them the bucket.
struct SlotTable {
  private static let bucketCount = 1024
  private static let fullCount = 768
  /// Pages are not split further; 22 bits for the page and 10 for the bucket use up the 32 bits.
  private static let maximumDepth = 22
  private static let empty = UInt64(UInt32.max)

  private struct Page {
    var buckets: ContiguousArray<UInt64>
    var count = 0
    var depth: Int
  }

  private var pages = [
    Page(
      buckets: ContiguousArray(repeating: SlotTable.empty, count: SlotTable.bucketCount), depth: 0)
  ]
  private var directory: [UInt32] = [0]
  private var depth = 0

  /// The memory of the buckets and the directory in bytes.
  var memoryBytes: Int {
    pages.reduce(0) { $0 + $1.buckets.count * 8 } + directory.count * 4
  }

  /// Finds the slot with this hash for which `matches` is true.
  ///
  /// - Complexity: O(1) expected.
  @inline(__always)
  func find(_ hash: UInt64, where matches: (UInt32) -> Bool) -> UInt32? {
    let tag = UInt32(truncatingIfNeeded: hash >> 32)
    let page = Int(directory[pageNumber(tag)])
    let mask = pages[page].buckets.count - 1
    var position = Int(tag) & mask
    while true {
      let bucket = pages[page].buckets[position]
      if bucket == Self.empty { return nil }
      if UInt32(truncatingIfNeeded: bucket >> 32) == tag {
        let slot = UInt32(truncatingIfNeeded: bucket)
        if matches(slot) { return slot }
      }
      position = (position + 1) & mask
    }
  }

  /// Adds a slot. The caller has made sure that it is not there.
  ///
  /// - Complexity: O(1) expected and amortised; at most the split of one page.
  mutating func insert(_ hash: UInt64, _ slot: UInt32) {
    let tag = UInt32(truncatingIfNeeded: hash >> 32)
    var page = Int(directory[pageNumber(tag)])
    while pages[page].count * 4 >= pages[page].buckets.count * 3 {
      if pages[page].depth == Self.maximumDepth { enlarge(page) } else { split(page, tag) }
      page = Int(directory[pageNumber(tag)])
    }
    Self.place(UInt64(tag) << 32 | UInt64(slot), in: &pages[page])
  }

  /// Replaces the number of a slot that is there.
  mutating func replace(_ hash: UInt64, _ old: UInt32, by new: UInt32) {
    remove(hash, old)
    insert(hash, new)
  }

  /// Removes a slot, if it is there.
  ///
  /// - Complexity: O(1) expected.
  mutating func remove(_ hash: UInt64, _ slot: UInt32) {
    let tag = UInt32(truncatingIfNeeded: hash >> 32)
    let number = Int(directory[pageNumber(tag)])
    let wanted = UInt64(tag) << 32 | UInt64(slot)
    let mask = pages[number].buckets.count - 1
    var hole = Int(tag) & mask
    while pages[number].buckets[hole] != wanted {
      if pages[number].buckets[hole] == Self.empty { return }
      hole = (hole + 1) & mask
    }
    pages[number].count -= 1
    closeHole(hole, in: &pages[number])
  }

  @inline(__always)
  private func pageNumber(_ tag: UInt32) -> Int {
    depth == 0 ? 0 : Int(tag >> UInt32(32 - depth))
  }

  private static func place(_ bucket: UInt64, in page: inout Page) {
    let mask = page.buckets.count - 1
    var position = Int(bucket >> 32) & mask
    while page.buckets[position] != Self.empty { position = (position + 1) & mask }
    page.buckets[position] = bucket
    page.count += 1
  }

  /// Moves back what a probe would no longer find beyond the hole.
  private func closeHole(_ start: Int, in page: inout Page) {
    let mask = page.buckets.count - 1
    var hole = start
    var next = (hole + 1) & mask
    while page.buckets[next] != Self.empty {
      let home = Int(page.buckets[next] >> 32) & mask
      if (next &- home) & mask >= (next &- hole) & mask {
        page.buckets[hole] = page.buckets[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    page.buckets[hole] = Self.empty
  }

  private mutating func split(_ number: Int, _ tag: UInt32) {
    if pages[number].depth == depth {
      directory = directory.flatMap { [$0, $0] }
      depth += 1
    }
    let old = pages[number].buckets
    let newDepth = pages[number].depth + 1
    let blank = ContiguousArray(repeating: Self.empty, count: Self.bucketCount)
    pages[number] = Page(buckets: blank, depth: newDepth)
    let sibling = pages.count
    pages.append(Page(buckets: blank, depth: newDepth))
    let bit = UInt32(1) << UInt32(32 - newDepth)
    for bucket in old where bucket != Self.empty {
      let upper = UInt32(truncatingIfNeeded: bucket >> 32) & bit != 0
      Self.place(bucket, in: &pages[upper ? sibling : number])
    }
    // The directory's entries of one page lie side by side; the upper half goes to the sibling.
    let span = 1 << (depth - newDepth)
    let first = pageNumber(tag) & ~(2 * span - 1)
    for position in (first + span)..<(first + 2 * span) { directory[position] = UInt32(sibling) }
  }

  /// For hashes that share 22 bits by design: correct, though no longer fast.
  private mutating func enlarge(_ number: Int) {
    let old = pages[number]
    pages[number] = Page(
      buckets: ContiguousArray(repeating: Self.empty, count: old.buckets.count * 2),
      depth: old.depth)
    for bucket in old.buckets where bucket != Self.empty { Self.place(bucket, in: &pages[number]) }
  }
}
