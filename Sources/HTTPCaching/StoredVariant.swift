package import CacheFormat
package import CacheStore
package import HTTPSemantics

/// The body of a stored response, which is verified already or while it is read.
package enum StoredBody: Sendable {
  /// The whole body, verified.
  case bytes([UInt8], EntrySource)
  /// A body that is read from its file.
  case file(BodyReader)
}

/// One stored response of a key, with the way to its body.
///
/// It is a class because a hit passes it through many values, and it contains many references.
package final class StoredVariant: Sendable {
  package let info: EntryInfo
  package let response: StoredResponse
  /// The times as exactly as the entry has them.
  let times: ResponseTimes
  /// The body; `nil` if it has not been opened.
  package let body: StoredBody?

  /// Whether it is a response to `HEAD`: the length in its fields is not that of its body.
  var isOfHead: Bool { info.key.bytes.starts(with: KeyRule.headPrefix.utf8) }

  /// Whether it is kept for use without a network only.
  package let isHistory: Bool

  /// The number of bytes of the body.
  package var length: UInt64 { info.length }

  convenience init?(_ info: EntryInfo, _ body: StoredBody?, _ rules: CacheRules) {
    guard let read = EntryFields.read(info, rules) else { return nil }
    self.init(info, read.response, read.times, body, isHistory: read.isHistory)
  }

  private init(
    _ info: EntryInfo, _ response: StoredResponse, _ times: ResponseTimes, _ body: StoredBody?,
    isHistory: Bool
  ) {
    self.info = info
    self.response = response
    self.times = times
    self.body = body
    self.isHistory = isHistory
  }

  func with(_ body: StoredBody?) -> StoredVariant {
    StoredVariant(info, response, times, body, isHistory: isHistory)
  }

  func with(_ response: StoredResponse) -> StoredVariant {
    StoredVariant(info, response, times, body, isHistory: isHistory)
  }

  /// Whether the body can be read; false if its file was changed after the verification.
  var isOpen: Bool {
    switch body {
    case .bytes: true
    case .file(let reader): reader.length > ResponseCache.verifiedBytes || reader.isVerified
    case nil: false
    }
  }

  /// Whether it can be used for several responses. A long body is verified while it is read, so it
  /// has only one reader.
  var canBeShared: Bool {
    guard case .file(let reader) = body else { return true }
    return reader.length <= ResponseCache.verifiedBytes && reader.isVerified
  }

  /// The same entry, with the body marked as being in memory.
  var inMemory: StoredVariant {
    guard case .bytes(let bytes, .disk) = body else { return self }
    return with(.bytes(bytes, .memory))
  }

  func isSame(as other: StoredVariant) -> Bool {
    info.variant == other.info.variant && info.digest == other.info.digest
      && info.created == other.info.created
  }
}
