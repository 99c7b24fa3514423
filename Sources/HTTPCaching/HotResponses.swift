import CacheFormat
import CacheStore
import Synchronization

/// Keeps what was decoded and read of stored responses that are asked for often, so that the next
/// hit costs neither a read nor a parse. The store is asked each time whether it is still what is
/// stored.
///
/// Two generations: what is used moves into the young one; when that is full it becomes the old one,
/// and the old one is forgotten. So all is O(1), and what was not used for a while goes.
final class HotResponses: Sendable {
  /// Holds all stored responses of one key.
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

  /// What an item takes beside its bodies, roughly: decoded fields and tables.
  private static let overhead = 4096
  /// The most files that one generation keeps open.
  private static let maximumFiles = 64

  private let maximumBytes: Int
  private let state = Mutex(State())

  /// The memory in use in bytes, roughly.
  var bytes: Int { state.withLock { $0.young.bytes + $0.old.bytes } }

  /// - Parameter bytes: bounds the memory; 0 keeps nothing.
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

  /// Puts a stored response whose body has been opened in place of itself.
  func update(_ variant: StoredVariant) {
    state.withLock { state in
      let key = variant.info.key
      guard var item = state.young.items[key] ?? state.old.items[key],
        let index = item.variants.firstIndex(where: { $0.isSame(as: variant) })
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

  private func insert(_ key: ByteString, _ item: Item, _ state: inout State) {
    let (bytes, files) = Self.weight(item, key)
    guard bytes <= maximumBytes / 8 else { return }
    // What is replaced stays in the sums: it only makes the generation end a little earlier.
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
