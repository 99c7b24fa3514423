internal import CacheFormat
internal import CacheStore
internal import HTTPCaching

enum MoveFailure: Error {
  /// The entry is skipped; the others are not affected.
  case skip(SkipReason, String)
  case stop(MigrationError)

  init(_ error: SourceError, isFile: Bool) {
    // An error of a file affects one entry; an error of the database affects all.
    self = isFile ? .skip(.unreadableBody, error.detail) : .stop(MigrationError(error))
  }

  init(_ error: StoreError) {
    switch error.code {
    case .entryTooLarge: self = .skip(.entryTooLarge, error.cause)
    case .metadataTooLarge, .keyTooLong: self = .skip(.metadataTooLarge, error.cause)
    case .leastRecent: self = .skip(.limitsReached, "")
    default: self = .stop(.destination(error))
    }
  }
}

struct MovingBody {
  let reader: SourceBodyReader
  let isFile: Bool
  let stop: MigrationStop

  var length: UInt64 { reader.length }

  func next() throws(MoveFailure) -> [UInt8]? {
    if stop.isRequested { throw .stop(.cancelled) }
    do throws(SourceError) {
      return try reader.next()
    } catch { throw MoveFailure(error, isFile: isFile) }
  }
}

extension Store {
  /// Stores an entry of a source.
  ///
  /// - Parameter check: Called after the body was read; throws if the destination has a newer entry by
  ///   then.
  func adopt(
    _ plan: StoringPlan, _ past: ImportedTimes, _ body: MovingBody,
    _ check: () throws(MoveFailure) -> Void
  ) throws(MoveFailure) {
    if body.length <= UInt64(SourceBodyReader.pieceBytes) {
      let bytes = try body.next() ?? []
      try check()
      do throws(StoreError) {
        try put(bytes, for: plan.key, variant: plan.variant, metadata: plan.metadata, past: past)
      } catch { throw MoveFailure(error) }
      return
    }
    let writer: BodyWriter
    do throws(StoreError) {
      writer = try makeWriter(
        for: plan.key, variant: plan.variant, metadata: plan.metadata, length: body.length,
        past: past)
    } catch { throw MoveFailure(error) }
    while let piece = try body.next() {
      do throws(StoreError) { try writer.write(piece) } catch { throw MoveFailure(error) }
    }
    try check()
    do throws(StoreError) { try writer.commit() } catch { throw MoveFailure(error) }
  }
}
