import CacheFormat
import TestSupport

@testable import CacheStore

/// What `EntryIndex` promises, done the slow way.
struct EntryModel {
  struct Key: Hashable, Comparable {
    var hash: KeyHash
    var variant: UInt64
    static func < (a: Key, b: Key) -> Bool {
      (a.hash.high, a.hash.low, a.variant) < (b.hash.high, b.hash.low, b.variant)
    }
  }

  struct File: Hashable {
    var digest: Digest
    var number: UInt64
  }

  var entries: [Key: PutHead] = [:]
  private var keys: [Key] = []
  private var places: [Key: Int] = [:]
  let blockBytes: UInt64

  init(blockBytes: UInt64) { self.blockBytes = blockBytes }

  mutating func put(_ head: PutHead) {
    let key = Key(hash: head.keyHash, variant: head.variant)
    var head = head
    if let known = entries[key] {
      head.accessed = max(known.accessed, head.accessed)
    } else {
      places[key] = keys.count
      keys.append(key)
    }
    entries[key] = head
  }

  mutating func remove(_ key: Key) {
    guard entries.removeValue(forKey: key) != nil, let place = places.removeValue(forKey: key)
    else { return }
    let last = keys.removeLast()
    if last != key {
      keys[place] = last
      places[last] = place
    }
  }

  mutating func touch(_ key: Key, at time: Int64) {
    guard let head = entries[key] else { return }
    entries[key]?.accessed = max(head.accessed, Timestamp(nanoseconds: time))
  }

  func anyKey(_ random: inout SplitMix64) -> Key? {
    keys.isEmpty ? nil : keys[random.below(keys.count)]
  }

  var totals: EntryTotals {
    var totals = EntryTotals()
    var files: Set<File> = []
    for head in entries.values {
      totals.entries += 1
      totals.logicalBytes += head.length
      totals.overheadBytes += (UInt64(head.overhead) + 511) / 512 * 512
      if head.isPinned {
        totals.pinnedEntries += 1
        totals.pinnedBytes += head.length
        totals.pinnedAllocatedBytes += (head.length + blockBytes - 1) / blockBytes * blockBytes
        totals.pinnedAllocatedBytes += (UInt64(head.overhead) + 511) / 512 * 512
      }
      if head.isSpare {
        totals.spareEntries += 1
        totals.spareLogicalBytes += head.length
        totals.spareBytes += (head.length + blockBytes - 1) / blockBytes * blockBytes
        totals.spareBytes += (UInt64(head.overhead) + 511) / 512 * 512
      }
      if files.insert(File(digest: head.digest, number: head.bodyFile)).inserted {
        totals.bodyBytes += (head.length + blockBytes - 1) / blockBytes * blockBytes
      } else {
        totals.sharedBytes += head.length
        totals.sharedAllocatedBytes += (head.length + blockBytes - 1) / blockBytes * blockBytes
      }
    }
    return totals
  }

  /// The least access time of the entries that are not pinned.
  var oldestTime: Int64? {
    entries.values.filter { !$0.isPinned }.map(\.accessed.nanoseconds).min()
  }

  /// That of the spare ones.
  var oldestSpareTime: Int64? {
    entries.values.filter { !$0.isPinned && $0.isSpare }.map(\.accessed.nanoseconds).min()
  }

  func variants(of hash: KeyHash) -> Set<UInt64> {
    Set(entries.keys.filter { $0.hash == hash }.map(\.variant))
  }
}
