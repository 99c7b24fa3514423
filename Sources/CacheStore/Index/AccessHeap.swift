/// A min-heap of slots by access time, with lazy correction.
///
/// A hit does not touch the heap. The time of an item is a lower bound of the access time of its
/// slot. The code that takes the first item compares both, and puts the item back if the slot has a
/// later time.
struct AccessHeap: ~Copyable {
  private struct Item {
    // The time in two halves, so that an item takes 12 bytes instead of 16.
    var upper: UInt32
    var lower: UInt32
    var slot: UInt32

    init(_ time: Int64, _ slot: UInt32) {
      let bits = UInt64(bitPattern: time) ^ (1 << 63)
      upper = UInt32(truncatingIfNeeded: bits >> 32)
      lower = UInt32(truncatingIfNeeded: bits)
      self.slot = slot
    }

    var order: UInt64 { UInt64(upper) << 32 | UInt64(lower) }
    var time: Int64 { Int64(bitPattern: order ^ (1 << 63)) }
  }

  private var items = PagedArray(filler: Item(0, 0))

  var count: Int { items.count }

  /// The memory of the items in bytes.
  var memoryBytes: Int { items.count * MemoryLayout<Item>.stride }

  /// The slot with the earliest time, and that time.
  var first: (slot: UInt32, time: Int64)? {
    items.count == 0 ? nil : (items[0].slot, items[0].time)
  }

  /// - Complexity: O(log n); mostly O(1), because new times are late.
  mutating func insert(_ slot: UInt32, at time: Int64) {
    items.append(Item(time, slot))
    rise(items.count - 1)
  }

  /// Removes the first item.
  ///
  /// - Complexity: O(log n).
  mutating func removeFirst() {
    let last = items.removeLast()
    guard items.count > 0 else { return }
    items[0] = last
    sink(0)
  }

  /// Sets a later time for the first item.
  ///
  /// - Complexity: O(log n).
  mutating func delayFirst(to time: Int64) {
    items[0] = Item(time, items[0].slot)
    sink(0)
  }

  private mutating func rise(_ start: Int) {
    let item = items[start]
    var position = start
    while position > 0 {
      let parent = (position - 1) / 2
      if items[parent].order <= item.order { break }
      items[position] = items[parent]
      position = parent
    }
    items[position] = item
  }

  private mutating func sink(_ start: Int) {
    let item = items[start]
    var position = start
    while true {
      var child = 2 * position + 1
      if child >= items.count { break }
      if child + 1 < items.count, items[child + 1].order < items[child].order { child += 1 }
      if item.order <= items[child].order { break }
      items[position] = items[child]
      position = child
    }
    items[position] = item
  }

  /// Returns whether no item is earlier than its parent.
  ///
  /// - Complexity: O(n).
  func checkInvariants() -> Bool {
    (1..<max(1, items.count)).allSatisfy { items[($0 - 1) / 2].order <= items[$0].order }
  }

  /// Calls `body` with the slot and the time of each item, in no particular order.
  func forEach(_ body: (UInt32, Int64) -> Void) {
    for position in 0..<items.count { body(items[position].slot, items[position].time) }
  }
}
