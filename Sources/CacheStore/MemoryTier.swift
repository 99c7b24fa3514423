internal import CacheFormat

/// Entries in memory in front of the disk: the least recently used leave when it is full.
struct MemoryTier {
  private struct Node {
    var slot: UInt32
    var record: PutRecord
    var body: [UInt8]
    var previous: Int
    var next: Int
  }

  /// The most bytes of records and bodies.
  let capacity: Int
  private(set) var bytes = 0
  private var places: [UInt32: Int] = [:]
  private var nodes: [Node] = []
  private var free: [Int] = []
  /// The most and the least recently used.
  private var first = -1
  private var last = -1

  private static let nothing = PutRecord(
    head: PutHead(
      keyHash: KeyHash(high: 0, low: 0), digest: Digest(high: 0, low: 0), variant: 0, length: 0,
      created: .distantPast, accessed: .distantPast, expires: nil, bodyFile: 0, overhead: 0,
      status: nil, isPinned: false),
    key: ByteString(bytes: []), metadata: EntryMetadata())

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { places.count }

  /// Whether an entry of this size is worth a place: one may not push out all others.
  func admits(_ count: Int) -> Bool { count <= capacity / 8 }

  /// The entry of a slot, which becomes the most recently used.
  ///
  /// - Complexity: O(1).
  mutating func find(_ slot: UInt32) -> (record: PutRecord, body: [UInt8])? {
    guard let place = places[slot] else { return nil }
    if first != place {
      unlink(place)
      linkFirst(place)
    }
    return (nodes[place].record, nodes[place].body)
  }

  /// Adds an entry.
  ///
  /// - Returns: the slots of the entries that had to leave.
  mutating func insert(_ slot: UInt32, _ record: PutRecord, _ body: [UInt8]) -> [UInt32] {
    remove(slot)
    let place = free.popLast() ?? nodes.count
    let node = Node(slot: slot, record: record, body: body, previous: -1, next: -1)
    if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
    places[slot] = place
    bytes += Self.size(node)
    linkFirst(place)
    var gone: [UInt32] = []
    while bytes > capacity, last >= 0 {
      let oldest = nodes[last].slot
      gone.append(oldest)
      remove(oldest)
    }
    return gone
  }

  mutating func remove(_ slot: UInt32) {
    guard let place = places.removeValue(forKey: slot) else { return }
    bytes -= Self.size(nodes[place])
    unlink(place)
    // The place is kept for another entry, its bytes are not.
    nodes[place].body = []
    nodes[place].record = Self.nothing
    free.append(place)
  }

  mutating func removeAll() { self = MemoryTier(capacity: capacity) }

  private static func size(_ node: Node) -> Int { node.body.count + node.record.bytes.count + 128 }

  private mutating func unlink(_ place: Int) {
    let (previous, next) = (nodes[place].previous, nodes[place].next)
    if previous >= 0 { nodes[previous].next = next } else { first = next }
    if next >= 0 { nodes[next].previous = previous } else { last = previous }
  }

  private mutating func linkFirst(_ place: Int) {
    nodes[place].previous = -1
    nodes[place].next = first
    if first >= 0 { nodes[first].previous = place } else { last = place }
    first = place
  }
}
