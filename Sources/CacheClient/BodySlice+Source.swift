extension BodySlice {
  func source(_ store: AsyncStore, url: String) -> any PieceSource {
    switch body {
    case .file(let reader):
      FileSource(range, store, url: url) { offset, count, isFirst throws(ClientError) in
        do throws(StoreError) {
          return try reader.piece(at: offset, upTo: count, isFirst: isFirst, store.store)
        } catch {
          throw ClientError(.store(error), url: url)
        }
      }
    case .bytes(let all, _): BytesSource(bytes(of: all))
    }
  }

  func bytes(of all: [UInt8]) -> [UInt8] {
    range.count == all.count
      ? all : Array(all[Int(range.lowerBound)..<Int(range.upperBound)])
  }
}

extension BodyReader {
  /// Reads a piece: of a shorter body, whose reader may be shared, at its position; of a longer one
  /// in order, because that verifies it with its last piece.
  fileprivate func piece(
    at offset: UInt64, upTo count: Int, isFirst: Bool, _ store: Store
  ) throws(StoreError) -> [UInt8] {
    let isSmall = length <= ResponseCache.verifiedBytes
    if isSmall { try verify() }
    if isSmall || isVerified { return try read(at: offset, upTo: count) }
    if isFirst { seek(to: offset) }
    guard position == offset else {
      throw StoreError(
        .damaged, path: store.path, offset: offset,
        cause: "the file of a body was changed while it was read",
        remedy: "fetch it again; check who writes to the store")
    }
    return try read(upTo: count)
  }
}
