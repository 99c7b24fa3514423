import CacheStore
import HTTPCaching
import HTTPSemantics
import HTTPTransports

/// Stored bytes, followed by those that come from the network.
final class PrefixedBody: TransportBody {
  private let prefix: any PieceSource
  private let rest: any TransportBody
  private let url: String

  /// Puts a stored slice, if there is one, before a body.
  static func joining(
    _ slice: BodySlice?, _ rest: any TransportBody, _ store: AsyncStore, url: String
  ) -> any TransportBody {
    guard let slice else { return rest }
    return PrefixedBody(slice.source(store, url: url), rest, url: url)
  }

  private init(_ prefix: any PieceSource, _ rest: any TransportBody, url: String) {
    self.prefix = prefix
    self.rest = rest
    self.url = url
  }

  func next() async throws(TransportError) -> [UInt8]? {
    let piece: [UInt8]?
    do {
      piece = try await prefix.next()
    } catch {
      rest.cancel()
      throw TransportError(
        .truncatedBody, url: url, detail: "the stored beginning cannot be read: \(error)")
    }
    if let piece { return piece }
    return try await rest.next()
  }

  var trailers: HTTPFields { rest.trailers }

  func cancel() { rest.cancel() }
}

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
