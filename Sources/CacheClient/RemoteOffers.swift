import CacheFormat
import CacheStore
import CacheSystem
import HTTPCaching
import HTTPTransports
import MessageDigests
import RemoteTier
import Synchronization

/// Offers stored responses to the tier. They are read from the store when their turn comes.
final class RemoteOffers: Sendable {
  let tier: RemoteCache
  private let cache: ResponseCache
  private let store: AsyncStore
  private let digests = BodyDigests()

  init(_ tier: RemoteCache, _ cache: ResponseCache, _ store: AsyncStore) {
    self.tier = tier
    self.cache = cache
    self.store = store
  }

  /// Offers an entry, if machines may share it.
  ///
  /// - Parameter seen: The newest purge that was known before the response was requested.
  /// - Returns: whether it is offered.
  @discardableResult
  func offer(_ info: EntryInfo, seen: UInt64) -> Bool {
    guard tier.options.mode != .read, cache.sharedForm(of: info) != nil else { return false }
    let (key, variant) = (info.key, info.variant)
    tier.offer(key, variant: variant, length: info.length, seen: seen) { [weak self] in
      await self?.read(key, variant)
    }
    return true
  }

  /// Reads an entry as it is now.
  private func read(_ key: ByteString, _ variant: UInt64) async -> RemoteOffer? {
    guard case .hit(let info, let reader) = await store.read(key, variant: variant),
      let form = cache.sharedForm(of: info),
      let (digest, bytes) = await digest(of: info, reader)
    else { return nil }
    let isInline = info.length <= UInt64(SharedResponse.inlineBytes)
    let response = SharedResponse(
      selecting: form.selecting, status: form.status, fields: form.fields, tags: form.tags,
      bodyDigest: digest, length: info.length, requested: form.times.request,
      received: form.times.response, inlineBody: isInline ? bytes : nil)
    return RemoteOffer(response: response) { [store] in
      if let bytes { return .bytes(bytes) }
      return .stream(length: info.length, StoredBodySource(info, store))
    }
  }

  /// Returns the SHA-256 of a body, and the body itself if it is short.
  private func digest(
    of info: EntryInfo, _ reader: BodyReader
  ) async -> (digest: [UInt8], bytes: [UInt8]?)? {
    let isShort = info.length <= UInt64(ResponseCache.smallBody)
    if !isShort, let known = digests.find(info) { return (known, nil) }
    let function = MessageDigest(.sha256)
    var bytes: [UInt8] = []
    while reader.position < info.length {
      guard let piece = await StoredBodySource.read(reader, store) else { return nil }
      function.update(piece)
      if isShort { bytes += piece }
    }
    let digest = function.finish()
    if isShort { return (digest, bytes) }
    digests.keep(digest, info)
    return (digest, nil)
  }
}

/// The SHA-256 of long bodies that were offered, by the digest of the store: a 304 rewrites the
/// document, and need not read the body again. When there are too many, all are forgotten.
final class BodyDigests: Sendable {
  static let maximumCount = 4_096
  private let known = Mutex<[Digest: [UInt8]]>([:])

  func find(_ info: EntryInfo) -> [UInt8]? { known.withLock { $0[info.digest] } }

  func keep(_ digest: [UInt8], _ info: EntryInfo) {
    known.withLock { known in
      if known.count >= Self.maximumCount { known = [:] }
      known[info.digest] = digest
    }
  }
}

/// The body of an entry as the content of a request.
private final class StoredBodySource: RequestBodySource {
  private static let pieceBytes = 256 * 1024

  private let info: EntryInfo
  private let store: AsyncStore
  private let reader = Mutex<BodyReader?>(nil)

  init(_ info: EntryInfo, _ store: AsyncStore) {
    self.info = info
    self.store = store
  }

  /// - Throws: ``ReplacedBody`` if the entry has another body by now, or is damaged.
  func next() async throws -> [UInt8]? {
    let reader: BodyReader
    if let open = self.reader.withLock({ $0 }) {
      reader = open
    } else {
      guard case .hit(let now, let opened) = await store.read(info.key, variant: info.variant),
        now.digest == info.digest, now.length == info.length
      else { throw ReplacedBody() }
      self.reader.withLock { $0 = opened }
      reader = opened
    }
    guard reader.position < info.length else { return nil }
    guard let piece = await Self.read(reader, store) else { throw ReplacedBody() }
    return piece
  }

  /// Reads the next piece; `nil` if the body is damaged.
  static func read(_ reader: BodyReader, _ store: AsyncStore) async -> [UInt8]? {
    let piece = try? await store.perform { _ throws(StoreError) in
      try reader.read(upTo: pieceBytes)
    }
    return piece.flatMap { $0.isEmpty ? nil : $0 }
  }
}

private struct ReplacedBody: Error {}
