import CacheFormat
import CacheStore

final class StoreSystem: CacheUnderTest {
  struct Value {
    var key: ByteString
    var metadata: EntryMetadata
    var body: [UInt8]
  }

  let name = SystemName.store
  /// The store itself, for what only it can do.
  let store: Store
  private let corpus: Corpus
  private var lastBody: [UInt8] = []
  private var lastStatus: Int?
  /// Whether closing this handle closes the store; the handles of other threads share it.
  private let ownsStore: Bool

  convenience init(path: String, corpus: Corpus, options: Options = Options()) throws {
    self.init(
      store: try Store(at: path + "/store", options: options), corpus: corpus, ownsStore: true)
  }

  private init(store: Store, corpus: Corpus, ownsStore: Bool) {
    self.store = store
    self.corpus = corpus
    self.ownsStore = ownsStore
  }

  func makeValue(_ entry: EntryID) -> Value {
    let fields = corpus.fields(entry).map { Field(ByteString($0.name), ByteString($0.value)) }
    return Value(
      key: makeKey(entry), metadata: EntryMetadata(status: 200, fields: fields),
      body: corpus.body(entry))
  }

  func makeKey(_ entry: EntryID) -> ByteString {
    ByteString(bytes: corpus.key(entry.index))
  }

  func store(_ value: Value) throws {
    try store.put(value.body, for: value.key, metadata: value.metadata)
  }

  func hit(_ key: ByteString) -> Bool {
    guard case .hit(let entry) = store.lookUp(key) else { return false }
    lastBody = entry.body
    lastStatus = entry.info.status
    return true
  }

  func miss(_ key: ByteString) -> Bool {
    if case .miss = store.lookUp(key) { true } else { false }
  }

  func lastBodyEquals(_ body: [UInt8]) -> Bool {
    lastBody == body && lastStatus == 200
  }

  /// Writes the access times, and where something is evicted, waits for that.
  ///
  /// Waiting everywhere would count a second of sleep: access times may lie that long in memory.
  func settle() throws {
    try store.flush()
    if store.limits != .none { store.waitUntilIdle() }
  }

  /// Writes the files of all entries that only the journal has.
  func writeFiles() throws {
    try store.settle()
  }

  /// Does the same, and removes the bodies from the journal.
  func leaveLog() throws {
    try store.settle()
    try store.purge()
  }

  func sibling() -> any CacheUnderTest {
    StoreSystem(store: store, corpus: corpus, ownsStore: false)
  }

  func close() {
    if ownsStore { store.close() }
  }
}
