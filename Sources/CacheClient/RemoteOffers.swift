import CacheSystem
import MessageDigests
import Synchronization

/// Offers stored responses to the tier. They are read from the store when their turn comes.
final class RemoteOffers: Sendable {
  let tier: RemoteCache
  private let cache: ResponseCache
  private let store: AsyncStore

  init(_ tier: RemoteCache, _ cache: ResponseCache, _ store: AsyncStore) {
    self.tier = tier
    self.cache = cache
    self.store = store
  }

  /// Returns whether a response will be offered once it is stored.
  func mayOffer(_ plan: StoringPlan) -> Bool {
    tier.options.mode != .read && cache.mayShare(plan)
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

  private func read(_ key: ByteString, _ variant: UInt64) async -> RemoteOffer? {
    guard case .hit(let info, let reader) = await store.read(key, variant: variant),
      let form = cache.sharedForm(of: info),
      let (digest, bytes) = await digest(of: info, reader)
    else { return nil }
    let isInline = info.length <= UInt64(SharedResponse.inlineBytes)
    let response = SharedResponse(
      form, bodyDigest: digest, length: info.length, inlineBody: isInline ? bytes : nil)
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
    let known = info.metadata.bodySHA256
    if !isShort, let known { return (known, nil) }
    let function = MessageDigest(.sha256)
    var bytes: [UInt8] = []
    while reader.position < info.length {
      guard let piece = await StoredBodySource.read(reader, store) else { return nil }
      if known == nil { function.update(piece) }
      if isShort { bytes += piece }
    }
    if let known { return (known, bytes) }
    let digest = function.finish()
    await keep(digest, info)
    return (digest, isShort ? bytes : nil)
  }

  /// Keeps the SHA-256 of a body that was stored without one, such as before there was a tier.
  private func keep(_ digest: [UInt8], _ info: EntryInfo) async {
    _ = try? await store.perform { store throws(StoreError) in
      try store.update(info.key, variant: info.variant) { metadata in
        // The entry may have another body by now.
        if metadata == info.metadata { metadata.bodySHA256 = digest }
      }
    }
  }
}

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
