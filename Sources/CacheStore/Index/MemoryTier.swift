internal import CacheFormat

/// Entries that are kept in memory, in a ring with a hand (the CLOCK algorithm). When the tier is
/// full, the hand moves on: it removes the entries that were not used since it last passed them.
///
/// A hit sets one bit and moves nothing, so it touches few cache lines.
struct MemoryTier: ~Copyable {
  private struct Node {
    var slot: UInt32
    var isRecent: Bool
    var record: PutRecord
    var body: [UInt8]
  }

  /// The most bytes of records and bodies.
  let capacity: Int
  private(set) var bytes = 0
  private(set) var count = 0
  /// For each slot, its place in the ring plus 1; 0 if it has none.
  private var places = PagedArray<UInt32>(filler: 0)
  private var nodes: [Node?] = []
  private var free: [Int] = []
  private var hand = 0

  init(capacity: Int) { self.capacity = capacity }

  /// Returns whether an entry of this size may be added. Large entries are refused, because one
  /// would remove all others.
  func admits(_ count: Int) -> Bool { count <= capacity / 8 }

  /// Returns the entry of a slot, and marks it as recently used.
  ///
  /// - Complexity: O(1).
  mutating func find(_ slot: UInt32) -> (record: PutRecord, body: [UInt8])? {
    guard Int(slot) < places.count, places[Int(slot)] > 0 else { return nil }
    let place = Int(places[Int(slot)]) - 1
    guard let node = nodes[place] else { return nil }
    if !node.isRecent { nodes[place]?.isRecent = true }
    return (node.record, node.body)
  }

  /// Adds an entry.
  ///
  /// - Returns: the slots of the entries that were removed to make room.
  mutating func insert(_ slot: UInt32, _ record: PutRecord, _ body: [UInt8]) -> [UInt32] {
    remove(slot)
    let node = Node(slot: slot, isRecent: false, record: record, body: body)
    let size = Self.size(node)
    var gone: [UInt32] = []
    while bytes + size > capacity, count > 0 { gone.append(removeNext()) }
    let place = free.popLast() ?? nodes.count
    if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
    while places.count <= Int(slot) { places.append(0) }
    places[Int(slot)] = UInt32(place + 1)
    bytes += size
    count += 1
    return gone
  }

  mutating func remove(_ slot: UInt32) {
    guard Int(slot) < places.count, places[Int(slot)] > 0 else { return }
    let place = Int(places[Int(slot)]) - 1
    places[Int(slot)] = 0
    guard let node = nodes[place] else { return }
    bytes -= Self.size(node)
    count -= 1
    nodes[place] = nil
    free.append(place)
  }

  mutating func removeAll() { self = MemoryTier(capacity: capacity) }

  private static func size(_ node: Node) -> Int { node.body.count + node.record.bytes.count + 128 }

  /// Removes the next entry that was not used since the hand last passed it.
  private mutating func removeNext() -> UInt32 {
    while true {
      hand = hand + 1 < nodes.count ? hand + 1 : 0
      guard let node = nodes[hand] else { continue }
      if node.isRecent {
        nodes[hand]?.isRecent = false
      } else {
        remove(node.slot)
        return node.slot
      }
    }
  }
}
