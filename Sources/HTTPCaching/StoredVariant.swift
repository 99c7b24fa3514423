public import CacheFormat
public import CacheStore
public import HTTPSemantics

/// Holds the body of a stored response, verified or to be verified while it is read.
public enum StoredBody: Sendable {
  /// The whole body, verified.
  case bytes([UInt8], EntrySource)
  /// A body to be read from its file.
  case file(BodyReader)
}

/// Holds one stored response of a key: what the rules see of it, and the way to its body.
public struct StoredVariant: Sendable {
  /// Gives all that the store knows of it.
  public let info: EntryInfo
  /// Gives what the rules see of it.
  public let response: StoredResponse
  /// Gives the body, once it is opened.
  public var body: StoredBody?

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
    var kept = self
    if case .bytes(let bytes, _) = body { kept.body = .bytes(bytes, .memory) }
    return kept
  }

  /// Tells whether it is the same entry.
  func isSame(as other: StoredVariant) -> Bool {
    info.variant == other.info.variant && info.digest == other.info.digest
      && info.created == other.info.created
  }

  /// Counts the bytes of the body.
  public var length: UInt64 { info.length }

  init?(_ info: EntryInfo, _ body: StoredBody?, _ rules: CacheRules) {
    guard let response = EntryFields.response(of: info, rules) else { return nil }
    self.info = info
    self.response = response
    self.body = body
  }

  /// Makes a stored response whose fields have been freshened.
  init(_ old: StoredVariant, _ response: StoredResponse) {
    info = old.info
    self.response = response
    body = old.body
  }
}
