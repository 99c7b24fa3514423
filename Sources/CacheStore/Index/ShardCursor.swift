internal import CacheSystem

/// An iteration over the entries of one shard after the other, in steps like those of `SlotCursor`.
///
/// One pass over the index collects the numbers of the slots of as many shards as have 262,144 entries
/// together, which takes a MiB, or of one shard.
struct ShardCursor {
  /// Whether the index had every entry at the beginning.
  let isWhole: Bool
  /// Whether the index was built anew since then, so that entries may be left out.
  private(set) var isOutdated = false
  /// The numbers of the slots of the shards from `first` on.
  private(set) var numbers: [[UInt32]] = []
  private var first = 0
  private var shard = 0
  private var next = 0
  private let clearings: UInt64
  private let maximumCount: Int

  init(in catalog: Catalog, maximumCount: Int = 1 << 18) {
    self.maximumCount = maximumCount
    (isWhole, clearings) = catalog.reader.withCurrentState { ($0.isIndexWhole, $0.clearings) }
  }

  /// Returns the live entries among the next slots of a shard, perhaps none; `nil` at its end, and if
  /// the index was built anew.
  mutating func next(of shard: Int, in catalog: Catalog) -> [Located]? {
    if shard != self.shard { (self.shard, next) = (shard, 0) }
    if !numbers.indices.contains(shard - first) { collect(from: shard, in: catalog) }
    let step = numbers[shard - first].dropFirst(next).prefix(SlotCursor.stepCount)
    next += step.count
    return catalog.reader.withCurrentState { state in
      isOutdated = state.clearings != clearings
      if isOutdated || step.isEmpty { return nil }
      // Another key may have got a slot.
      return step.filter { Layout.shardNumber(of: state.index[$0].keyHash) == shard }
        .compactMap { state.located($0) }
    }
  }

  private mutating func collect(from shard: Int, in catalog: Catalog) {
    let entries = catalog.state.withLock { $0.index.totals.entries }
    // A key's shard is a part of its hash, so the shards have about as many entries each.
    let count = max(1, Layout.shardCount * maximumCount / max(maximumCount, entries))
    let shards = shard..<min(shard + count, Layout.shardCount)
    first = shard
    numbers = Array(repeating: [], count: shards.count)
    var cursor = SlotCursor()
    var isAtEnd = false
    while !isAtEnd {
      catalog.state.withLock { state in
        let step = cursor.step(state)
        isAtEnd = step.isEmpty
        for number in step where state.index[number].isLive {
          let shard = Layout.shardNumber(of: state.index[number].keyHash)
          if shards.contains(shard) { numbers[shard - first].append(number) }
        }
      }
    }
  }
}
