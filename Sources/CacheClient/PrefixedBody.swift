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
  /// Returns the pieces of the slice.
  func source(_ store: AsyncStore, url: String) -> any PieceSource {
    switch body {
    case .file(let reader): FileSource(reader, range, store, url: url)
    case .bytes(let all, _): BytesSource(bytes(of: all))
    }
  }

  /// Returns the slice of a body in memory.
  func bytes(of all: [UInt8]) -> [UInt8] {
    range.count == all.count
      ? all : Array(all[Int(range.lowerBound)..<Int(range.upperBound)])
  }
}
