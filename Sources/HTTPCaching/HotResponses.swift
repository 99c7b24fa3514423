import CacheFormat
import CacheStore
import CacheSystem

/// Decoded stored responses that are requested often, so that the next hit needs neither a read nor
/// a parse. For each hit, the store is queried whether they are still current.
///
/// There are two generations. A response that is used moves into the young one. When that is full,
/// it becomes the old one, and the previous old one is discarded. So all operations are O(1), and
/// responses that were not used for some time are removed.
final class HotResponses: Sendable {
  struct Item: Sendable {
    let outline: [VariantOutline]
    var variants: [StoredVariant]
  }

  private struct Generation {
    var items: [ByteString: Item] = [:]
    var bytes = 0
    var files = 0
  }

  private struct State {
    var young = Generation()
    var old = Generation()
  }

  /// The estimated memory of an item without its bodies: decoded fields and tables.
  private static let overhead = 4096
  /// The maximum number of files that one generation keeps open.
  private static let maximumFiles = 64

  private let maximumBytes: Int
  private let state = Lock(State())

  /// The memory in use in bytes, roughly.
  var bytes: Int { state.withLock { $0.young.bytes + $0.old.bytes } }

  /// - Parameter bytes: the maximum amount of memory; 0 keeps nothing.
  init(bytes: Int) {
    maximumBytes = bytes
  }

  func find(_ key: ByteString) -> Item? {
    guard maximumBytes > 0 else { return nil }
    return state.withLock { state in
      if let item = state.young.items[key] { return item }
      guard let item = state.old.items[key] else { return nil }
      insert(key, item, &state)
      return item
    }
  }

  func insert(_ key: ByteString, _ item: Item) {
    guard maximumBytes > 0, item.outline.allSatisfy(\.isLasting) else { return }
    let kept = Item(outline: item.outline, variants: item.variants.map(\.inMemory))
    state.withLock { insert(key, kept, &$0) }
  }

  /// Replaces a stored response by the same one with an open body.
  func update(_ variant: StoredVariant) {
    state.withLock { state in
      let key = variant.info.key
      guard var item = state.young.items[key] ?? state.old.items[key],
        let index = item.variants.firstIndex(where: {
          $0.isSame(as: variant) && $0.info.metadata == variant.info.metadata
        })
      else { return }
      item.variants[index] = variant.inMemory
      insert(key, item, &state)
    }
  }

  func remove(_ key: ByteString) {
    state.withLock { state in
      state.young.items[key] = nil
      state.old.items[key] = nil
    }
  }

  func removeAll() {
    // Returned, so that files are closed after the lock is released.
    _ = state.withLock { state in
      defer { state = State() }
      return state
    }
  }

  private func insert(_ key: ByteString, _ item: Item, _ state: inout State) {
    let (bytes, files) = Self.weight(item, key)
    guard bytes <= maximumBytes / 8 else { return }
    // The sums still contain a replaced item. So the generation only ends a little earlier.
    state.young.items[key] = item
    state.young.bytes += bytes
    state.young.files += files
    if state.young.bytes > maximumBytes / 2 || state.young.files > Self.maximumFiles {
      state.old = state.young
      state.young = Generation()
    }
  }

  private static func weight(_ item: Item, _ key: ByteString) -> (bytes: Int, files: Int) {
    var bytes = key.count + overhead
    var files = 0
    for variant in item.variants {
      bytes += overhead
      switch variant.body {
      case .bytes(let body, _): bytes += body.count
      case .file: files += 1
      case nil: break
      }
    }
    return (bytes, files)
  }
}
