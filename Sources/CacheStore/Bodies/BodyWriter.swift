public import CacheFormat
internal import CacheSystem
internal import Synchronization

/// A writer that takes a body in pieces, and stores it with ``commit(metadata:)``.
///
/// ```swift
/// let writer = try store.makeWriter(for: "video")
/// for piece in pieces { try writer.write(piece) }
/// try writer.commit()
/// ```
///
/// A writer that is discarded or released without `commit` leaves nothing in the store. Several
/// threads may call it, but one at a time writes; the others wait.
public final class BodyWriter: Sendable {
  private struct State: ~Copyable {
    /// The session with the file; `nil` once the body is committed or discarded. Then the store can end
    /// its session, whoever still holds the writer.
    var session: Session?
    var hasher = DigestHasher()
  }

  private let store: Store
  private let name: PathName
  private let key: ByteString
  private let variant: UInt64
  private let metadata: EntryMetadata
  private let past: ImportedTimes?
  private let knownLength: UInt64?
  private let isEstimate: Bool
  private let state: Mutex<State>

  /// A reader of the bytes written so far, which can be used while the body is written and
  /// afterwards.
  public let written: StagedBody

  init(
    store: Store, key: ByteString, variant: UInt64, metadata: EntryMetadata, length: UInt64?,
    isEstimate: Bool, past: ImportedTimes?
  ) throws(StoreError) {
    let file = try store.evictor.withRoom { () throws(StoreError) in try Self.begin(in: store) }
    (name, written) = (file.name, file.written)
    state = Mutex(State(session: file.session))
    self.store = store
    self.key = key
    self.variant = variant
    self.metadata = metadata
    self.past = past
    knownLength = length
    self.isEstimate = isEstimate
  }

  /// Makes the file.
  private static func begin(
    in store: Store
  ) throws(StoreError) -> (session: Session, name: PathName, written: StagedBody) {
    let session = try store.catalog.writer.ownSession()
    let name = session.unusedName()
    let path = "\(store.path)/staging/\(session.name.text)/\(name.text)"
    let file = try system(path) { () throws(SystemError) in
      try store.fileSystem.open(
        name, in: session.directory, [.read, .write, .create, .exclusive])
    }
    return (session, name, StagedBody(file, fileSystem: store.fileSystem, path: path))
  }

  deinit { discard() }

  /// The bytes written so far.
  public var length: UInt64 { state.withLock { $0.hasher.count } }

  /// Appends bytes to the body.
  ///
  /// - Throws: `entryTooLarge` as soon as the body is longer than the limits allow, `wrongLength` as soon as
  ///   it is longer than stated, `noSpace`, `inputOutput`, `closed` after a commit or discard. The writer is
  ///   then discarded. In a store that was closed meanwhile, only the commit fails.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    let (count, limits) = (UInt64(bytes.count), store.limits)
    do throws(StoreError) {
      if limits.freeBytes > 0 {
        try state.withLock { state throws(StoreError) in try check(state, adding: count, limits) }
        try store.evictor.keepFree(
          limits.freeBytes, adding: count, claiming: claim(adding: count),
          isImported: past != nil, forSpare: metadata.isSpare,
          sparing: putOffReplaced())
      }
      try store.evictor.withRoom(for: count, claiming: claim(adding: count)) {
        () throws(StoreError) in
        do throws(StoreError) {
          unsafe try append(bytes, limits)
        } catch {
          if error.code == .noSpace { putOffReplaced() }
          throw error
        }
      }
    } catch {
      discard()
      throw error
    }
  }

  /// Returns the bytes for which a full volume must have room, if something is to be evicted for the next
  /// ones. A body of unknown length takes no more than it leaves to others. Otherwise one that has no room
  /// would evict everything before that shows.
  private func claim(adding count: UInt64) -> UInt64 {
    let end = length + count
    return knownLength.map { end <= $0 } == true ? count : end
  }

  private func append(
    _ bytes: UnsafeRawBufferPointer, _ limits: Limits
  ) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try check(state, adding: UInt64(bytes.count), limits)
      let end = Int64(state.hasher.count)
      do throws(SystemError) {
        unsafe try store.fileSystem.write(written.file, from: bytes, at: end)
      } catch {
        // On a full disk, the records of evictions need the room of the part that was written.
        try? store.fileSystem.truncate(written.file, to: end)
        throw StoreError(error, path: path)
      }
      unsafe state.hasher.update(bytes)
    }
  }

  /// Lets others go before the entry that will be replaced, when something has to go for the body.
  ///
  /// - Returns: that entry; `nil` if there is none, or if it is as old as the new one.
  @discardableResult
  private func putOffReplaced() -> Slot? {
    past == nil ? store.evictor.putOff(store.catalog.hash(key), variant) : nil
  }

  private func check(
    _ state: borrowing State, adding count: UInt64, _ limits: Limits
  ) throws(StoreError) {
    guard state.session != nil else { throw ended }
    let length = state.hasher.count + count
    if let knownLength, length > knownLength, !isEstimate { throw wrongLength("more") }
    try store.checkLength(length, limits, isSpare: metadata.isSpare)
  }

  /// Appends bytes to the body.
  ///
  /// - Throws: the errors of `write(_:)` with a buffer.
  public func write(_ bytes: [UInt8]) throws(StoreError) {
    var failure: StoreError?
    // Safety: the array outlives the call.
    unsafe bytes.withUnsafeBytes { buffer in
      do throws(StoreError) { unsafe try write(buffer) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Stores the body. The writer takes no more bytes afterwards.
  ///
  /// - Parameter metadata: replaces the metadata with which the writer was made.
  /// - Throws: `wrongLength` if the body has another length than the writer was made for, and the errors
  ///   of `Store.put`. Then nothing has changed. After `metadataTooLarge`, the writer can still be used.
  /// - Durability: that of the store, once it has returned.
  @discardableResult
  public func commit(metadata: EntryMetadata? = nil) throws(StoreError) -> EntryInfo {
    let metadata = metadata ?? self.metadata
    try store.check(key, metadata)
    guard let session = state.withLock({ $0.session.take() }) else { throw ended }
    // After a failed sync a second one would prove nothing (fsync(2)), so there is no second try.
    defer { removeFile(in: session) }
    let (digest, length) = state.withLock { ($0.hasher.digest(), $0.hasher.count) }
    if let knownLength, length != knownLength, !isEstimate {
      throw wrongLength("\(length) bytes")
    }
    if store.durability == .full {
      try system(path) { () throws(SystemError) in
        try store.fileSystem.synchronize(written.file, names: false)
      }
    }
    return try store.commit(
      NewEntry(
        key: key, variant: variant, metadata: metadata, digest: digest, length: length,
        body: .staged(StagedFile(name: name, session: session, content: written)), past: past))
  }

  /// Deletes the bytes that were written. Does nothing after `commit`.
  public func discard() {
    if let session = state.withLock({ $0.session.take() }) { removeFile(in: session) }
  }

  private func removeFile(in session: Session) {
    try? store.fileSystem.removeFile(name, in: session.directory.raw)
  }

  private var path: String { written.path }

  private func wrongLength(_ length: String) -> StoreError {
    StoreError(
      .wrongLength, path: store.path,
      cause: "the body has \(length), not \(knownLength ?? 0) bytes as stated",
      remedy: "write all of it, or state no length")
  }

  private var ended: StoreError {
    StoreError(
      .closed, path: store.path, cause: "the body was committed or discarded before",
      remedy: "make a new writer")
  }
}

extension Store {
  /// Makes a writer for a body that is written piece by piece, and that has `length` bytes, if that is
  /// known. Then a body of another length is not stored, and nothing is evicted if there is no room for
  /// it. On a full volume, a body of unknown length gets no more room than it leaves to other entries.
  ///
  /// - Throws: `keyEmpty`, `keyTooLong`, `metadataTooLarge`, `entryTooLarge`, `readOnly`, `noSpace`,
  ///   `inputOutput`.
  public func makeWriter(
    for key: ByteString, variant: UInt64 = 0, metadata: EntryMetadata = EntryMetadata(),
    length: UInt64? = nil
  ) throws(StoreError) -> BodyWriter {
    try makeWriter(for: key, variant: variant, metadata: metadata, length: length, past: nil)
  }

  /// Makes a writer for a body that another cache has kept; see ``ImportedTimes``.
  ///
  /// - Parameter isEstimate: Whether the body may have another length than stated.
  /// - Throws: the errors of ``makeWriter(for:variant:metadata:length:)``. The commit may also throw
  ///   `leastRecent`.
  package func makeWriter(
    for key: ByteString, variant: UInt64, metadata: EntryMetadata, length: UInt64? = nil,
    isEstimate: Bool = false, past: ImportedTimes?
  ) throws(StoreError) -> BodyWriter {
    try check(key, metadata)
    if let length { try checkBodyLength(length) }
    return try BodyWriter(
      store: self, key: key, variant: variant, metadata: metadata, length: length,
      isEstimate: isEstimate, past: past)
  }
}
