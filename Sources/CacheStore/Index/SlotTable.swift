/// A table of slots by a 64-bit hash: extendible hashing with open addressing in each page.
///
/// A page holds up to 768 slots in 1,024 buckets of 8 bytes (the upper 32 bits of the hash, and the
/// slot). A full page is split in two, so the longest step is that of one page, however many pages
/// there are. Of the upper 32 bits of the hash, the highest choose the page by means of a
/// directory, and the lowest 10 choose the bucket.
@safe
struct SlotTable: ~Copyable {
  private static let bucketCount = 1024
  /// The depth at which pages are not split further: 22 bits for the page and 10 for the bucket are
  /// all 32 bits.
  private static let maximumDepth = 22
  private static let empty = UInt64(UInt32.max)

  @safe
  private struct Page {
    /// A power of two.
    let bucketCount: Int
    var count = 0
    var depth: Int
    private let buckets: UnsafeMutablePointer<UInt64>

    init(bucketCount: Int = SlotTable.bucketCount, depth: Int) {
      self.bucketCount = bucketCount
      self.depth = depth
      unsafe buckets = .allocatePage(of: bucketCount, filledWith: SlotTable.empty)
    }

    /// Frees the buckets, which must not be used afterwards.
    func deallocate() { unsafe buckets.deallocate() }

    var mask: Int { bucketCount - 1 }

    // Safety, for both: the mask keeps any position among the buckets.
    subscript(_ position: Int) -> UInt64 {
      @inline(__always) get { unsafe buckets[position & mask] }
      @inline(__always) nonmutating set { unsafe buckets[position & mask] = newValue }
    }

    /// Removes and returns all buckets in use.
    mutating func removeAll() -> [UInt64] {
      let all = (0..<bucketCount).map { self[$0] }
      for position in 0..<bucketCount { self[position] = SlotTable.empty }
      count = 0
      return all.filter { $0 != SlotTable.empty }
    }
  }

  private var pages = [Page(depth: 0)]
  private var directory: [UInt32] = [0]
  private var depth = 0

  deinit {
    pages.forEach { $0.deallocate() }
  }

  /// The memory of the buckets and the directory in bytes.
  var memoryBytes: Int {
    pages.reduce(0) { $0 + $1.bucketCount * 8 } + directory.count * 4
  }

  /// Returns the slot with this hash for which `matches` is true.
  ///
  /// - Complexity: O(1) expected.
  @inline(__always)
  func find(_ hash: UInt64, where matches: (UInt32) -> Bool) -> UInt32? {
    let tag = UInt32(truncatingIfNeeded: hash >> 32)
    let page = Int(directory[pageNumber(tag)])
    let mask = pages[page].mask
    var position = Int(tag) & mask
    while true {
      let bucket = pages[page][position]
      if bucket == Self.empty { return nil }
      if UInt32(truncatingIfNeeded: bucket >> 32) == tag {
        let slot = UInt32(truncatingIfNeeded: bucket)
        if matches(slot) { return slot }
      }
      position = (position + 1) & mask
    }
  }

  /// Adds a slot. The caller guarantees that it is not in the table.
  ///
  /// - Complexity: O(1) expected and amortised; at most the split of one page.
  mutating func insert(_ hash: UInt64, _ slot: UInt32) {
    let tag = UInt32(truncatingIfNeeded: hash >> 32)
    var page = Int(directory[pageNumber(tag)])
    while pages[page].count * 4 >= pages[page].bucketCount * 3 {
      if pages[page].depth == Self.maximumDepth { enlarge(page) } else { split(page, tag) }
      page = Int(directory[pageNumber(tag)])
    }
    Self.place(UInt64(tag) << 32 | UInt64(slot), in: &pages[page])
  }

  /// Removes a slot, if it is in the table.
  ///
  /// - Complexity: O(1) expected.
  mutating func remove(_ hash: UInt64, _ slot: UInt32) {
    let tag = UInt32(truncatingIfNeeded: hash >> 32)
    let number = Int(directory[pageNumber(tag)])
    let wanted = UInt64(tag) << 32 | UInt64(slot)
    let mask = pages[number].mask
    var hole = Int(tag) & mask
    while pages[number][hole] != wanted {
      if pages[number][hole] == Self.empty { return }
      hole = (hole + 1) & mask
    }
    pages[number].count -= 1
    Self.closeHole(hole, in: &pages[number])
  }

  @inline(__always)
  private func pageNumber(_ tag: UInt32) -> Int {
    depth == 0 ? 0 : Int(tag >> UInt32(32 - depth))
  }

  private static func place(_ bucket: UInt64, in page: inout Page) {
    var position = Int(bucket >> 32) & page.mask
    while page[position] != Self.empty { position = (position + 1) & page.mask }
    page[position] = bucket
    page.count += 1
  }

  /// Empties a bucket, and moves back the buckets that a search would no longer find behind it.
  private static func closeHole(_ start: Int, in page: inout Page) {
    let mask = page.mask
    var hole = start
    var next = (hole + 1) & mask
    while page[next] != Self.empty {
      let home = Int(page[next] >> 32) & mask
      if (next &- home) & mask >= (next &- hole) & mask {
        page[hole] = page[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    page[hole] = Self.empty
  }

  /// Returns whether every bucket can be found, and the counts and the directory are right.
  ///
  /// - Complexity: O(n).
  func checkInvariants() -> Bool {
    for (number, page) in pages.enumerated() {
      var count = 0
      for position in 0..<page.bucketCount where page[position] != Self.empty {
        count += 1
        let tag = UInt32(truncatingIfNeeded: page[position] >> 32)
        if Int(directory[pageNumber(tag)]) != number { return false }
        var probe = Int(tag) & page.mask
        while probe != position {
          if page[probe] == Self.empty { return false }
          probe = (probe + 1) & page.mask
        }
      }
      let span = directory.count { Int($0) == number }
      if count != page.count || span != 1 << (depth - page.depth) { return false }
    }
    return directory.count == 1 << depth
  }

  private mutating func split(_ number: Int, _ tag: UInt32) {
    if pages[number].depth == depth {
      directory = directory.flatMap { [$0, $0] }
      depth += 1
    }
    let old = pages[number].removeAll()
    let newDepth = pages[number].depth + 1
    pages[number].depth = newDepth
    let sibling = pages.count
    pages.append(Page(depth: newDepth))
    let bit = UInt32(1) << UInt32(32 - newDepth)
    for bucket in old {
      let upper = UInt32(truncatingIfNeeded: bucket >> 32) & bit != 0
      Self.place(bucket, in: &pages[upper ? sibling : number])
    }
    // The directory's entries of one page lie side by side; the upper half goes to the sibling.
    let span = 1 << (depth - newDepth)
    let first = pageNumber(tag) & ~(2 * span - 1)
    for position in (first + span)..<(first + 2 * span) { directory[position] = UInt32(sibling) }
  }

  /// Doubles a page that cannot be split, because its hashes share 22 bits (by design of an
  /// attacker). The table stays correct, but is no longer fast.
  private mutating func enlarge(_ number: Int) {
    let old = pages[number].removeAll()
    let small = pages[number]
    pages[number] = Page(bucketCount: small.bucketCount * 2, depth: small.depth)
    small.deallocate()
    for bucket in old { Self.place(bucket, in: &pages[number]) }
  }
}
