package import CacheFormat
package import CacheStore
package import HTTPSemantics

/// Holds the body of a stored response, verified or to be verified while it is read.
package enum StoredBody: Sendable {
  /// The whole body, verified.
  case bytes([UInt8], EntrySource)
  /// A body to be read from its file.
  case file(BodyReader)
}

/// Holds one stored response of a key: what the rules see of it, and the way to its body.
///
/// A class, as it is handed through many values on the way of a hit and has many references inside.
package final class StoredVariant: Sendable {
  /// Gives all that the store knows of it.
  package let info: EntryInfo
  /// Gives what the rules see of it.
  package let response: StoredResponse
  /// Gives the body; nil: it is not opened yet.
  package let body: StoredBody?

  /// Tells whether it is an answer to `HEAD`: the length that its fields tell is not that of its body.
  var isOfHead: Bool { info.key.bytes.starts(with: KeyRule.headPrefix.utf8) }

  /// Counts the bytes of the body.
  package var length: UInt64 { info.length }

  convenience init?(_ info: EntryInfo, _ body: StoredBody?, _ rules: CacheRules) {
    guard let response = EntryFields.response(of: info, rules) else { return nil }
    self.init(info, response, body)
  }

  private init(_ info: EntryInfo, _ response: StoredResponse, _ body: StoredBody?) {
    self.info = info
    self.response = response
    self.body = body
  }

  /// Returns the same entry with another body, or none.
  func with(_ body: StoredBody?) -> StoredVariant { StoredVariant(info, response, body) }

  /// Returns the same entry with fields that have been freshened.
  func with(_ response: StoredResponse) -> StoredVariant { StoredVariant(info, response, body) }

  /// Tells whether the body can be read; a file that was changed since it was verified cannot.
  var isOpen: Bool {
    switch body {
    case .bytes: true
    case .file(let reader): reader.length > ResponseCache.verifiedBytes || reader.isVerified
    case nil: false
    }
  }

  /// Tells whether several answers may be made of it: a long body, which is verified while it is
  /// read, has one reader.
  var canBeShared: Bool {
    guard case .file(let reader) = body else { return true }
    return reader.length <= ResponseCache.verifiedBytes && reader.isVerified
  }

  /// Tells of a body that is kept that it is in memory.
  var inMemory: StoredVariant {
    guard case .bytes(let bytes, .disk) = body else { return self }
    return with(.bytes(bytes, .memory))
  }

  /// Tells whether it is the same entry.
  func isSame(as other: StoredVariant) -> Bool {
    info.variant == other.info.variant && info.digest == other.info.digest
      && info.created == other.info.created
  }
}
