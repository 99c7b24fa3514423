import CacheFormat
import Synchronization

/// The least that a memory cache costs: a dictionary with a list from the last to the first access,
/// under one mutex.
final class DictionarySystem: CacheUnderTest {
  struct Value {
    var key: ByteString
    var body: [UInt8]
  }

  private struct Item {
    var body: [UInt8]
    var previous: Int
    var next: Int
  }

  private struct Contents {
    var places: [ByteString: Int] = [:]
    /// The first item is the head of the list: the last access follows it, the first one precedes it.
    var items = [Item(body: [], previous: 0, next: 0)]

    mutating func link(_ place: Int) {
      let first = items[0].next
      items[place].previous = 0
      items[place].next = first
      items[first].previous = place
      items[0].next = place
    }

    mutating func touch(_ place: Int) {
      let (previous, next) = (items[place].previous, items[place].next)
      items[previous].next = next
      items[next].previous = previous
      link(place)
    }
  }

  let name = SystemName.dictionary
  private let corpus: Corpus
  private let contents = Mutex(Contents())
  private var lastBody: [UInt8] = []

  init(corpus: Corpus) { self.corpus = corpus }

  func makeValue(_ entry: EntryID) -> Value {
    Value(key: makeKey(entry), body: corpus.body(entry))
  }

  func makeKey(_ entry: EntryID) -> ByteString { ByteString(bytes: corpus.key(entry.index)) }

  func store(_ value: Value) {
    contents.withLock { contents in
      if let place = contents.places[value.key] {
        contents.items[place].body = value.body
        contents.touch(place)
      } else {
        contents.places[value.key] = contents.items.count
        contents.items.append(Item(body: value.body, previous: 0, next: 0))
        contents.link(contents.items.count - 1)
      }
    }
  }

  func hit(_ key: ByteString) -> Bool {
    let body = contents.withLock { contents -> [UInt8]? in
      guard let place = contents.places[key] else { return nil }
      contents.touch(place)
      return contents.items[place].body
    }
    guard let body else { return false }
    lastBody = body
    return true
  }

  func miss(_ key: ByteString) -> Bool { contents.withLock { $0.places[key] == nil } }

  func lastBodyEquals(_ body: [UInt8]) -> Bool { lastBody == body }

  func sibling() -> any CacheUnderTest { self }

  func close() {}
}
