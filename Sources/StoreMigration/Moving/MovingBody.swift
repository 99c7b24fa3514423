internal import CacheFormat
internal import CacheStore
internal import HTTPCaching

/// Tells why an entry is not moved.
enum MoveFailure: Error {
  /// The entry stays behind, the rest is not touched by it.
  case skip(MoveReason, String)
  /// The migration ends.
  case stop(MigrationError)

  /// Says what an error of the source means while a body is read.
  init(_ error: SourceError, isFile: Bool) {
    // A file is a matter of its own; what fails in the database fails for all.
    self = isFile ? .skip(.unreadableBody, error.detail) : .stop(.source(error))
  }

  /// Says what an error of the store means while an entry is stored.
  init(_ error: StoreError) {
    switch error.code {
    case .entryTooLarge: self = .skip(.entryTooLarge, error.cause)
    case .metadataTooLarge, .keyTooLong: self = .skip(.metadataTooLarge, error.cause)
    case .leastRecent: self = .skip(.limitsReached, "")
    default: self = .stop(.destination(error))
    }
  }
}

/// Reads the body of an entry on its way into the store.
struct MovingBody {
  private let reader: SourceBodyReader
  private let isFile: Bool
  private let stop: MigrationStop

  init(_ reader: SourceBodyReader, isFile: Bool, _ stop: MigrationStop) {
    self.reader = reader
    self.isFile = isFile
    self.stop = stop
  }

  /// The number of bytes that come in all.
  var length: UInt64 { reader.length }

  /// Gives the next piece; nil at the end.
  func next() throws(MoveFailure) -> [UInt8]? {
    if stop.isRequested { throw .stop(.cancelled) }
    do throws(SourceError) {
      return try reader.next()
    } catch { throw MoveFailure(error, isFile: isFile) }
  }
}

extension Store {
  /// Stores an entry of a source.
  func adopt(
    _ plan: StoringPlan, _ past: Past, _ body: MovingBody
  ) throws(MoveFailure) {
    if body.length <= UInt64(SourceBodyReader.pieceBytes) {
      let bytes = try body.next() ?? []
      do throws(StoreError) {
        try put(bytes, for: plan.key, variant: plan.variant, metadata: plan.metadata, past: past)
      } catch { throw MoveFailure(error) }
      return
    }
    let writer: BodyWriter
    do throws(StoreError) {
      try checkBodyLength(body.length)
      writer = try makeWriter(
        for: plan.key, variant: plan.variant, metadata: plan.metadata, past: past)
    } catch { throw MoveFailure(error) }
    while let piece = try body.next() {
      do throws(StoreError) { try writer.write(piece) } catch { throw MoveFailure(error) }
    }
    do throws(StoreError) { try writer.commit() } catch { throw MoveFailure(error) }
  }
}
