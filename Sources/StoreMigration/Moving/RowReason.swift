/// The reason why a row of a source is not converted: a stable name, its meaning, and whether it is
/// a fault.
public struct RowReason: Sendable, Hashable {
  private let reason: SkipReason

  init(_ reason: SkipReason) { self.reason = reason }

  package init?(named name: String) {
    guard let reason = SkipReason(rawValue: name) else { return nil }
    self.reason = reason
  }

  /// The reasons of reading the source, followed by those of moving entries.
  package static let all = SkipReason.allCases.map { RowReason($0) }

  /// The name in reports; never changed.
  public var name: String { reason.rawValue }

  /// The meaning, as a sentence.
  public var meaning: String { facts.meaning }

  /// Whether an entry is lost that a user may miss. Otherwise skipping is intended.
  public var isFault: Bool { facts.isFault }

  private var facts: (isFault: Bool, meaning: String) {
    switch reason {
    case .missingResponse: (true, "No response is archived.")
    case .undecodableResponse: (true, "The archived response cannot be read.")
    case .unexpectedClass: (true, "The archived object is no response.")
    case .badStatus: (true, "The status is not from 100 to 599.")
    case .badURL: (true, "The key is no URL.")
    case .notHTTPURL: (false, "The URL has another scheme.")
    case .notAURLKey: (false, "The key of a key-value store is no URL.")
    case .methodNotCacheable: (false, "The method is neither GET nor HEAD.")
    case .storagePolicy: (false, "The entry was not to be kept on disk.")
    case .partialContent: (false, "The response is a part (206).")
    case .noWholeAnswer: (false, "The response is interim (1xx), or only confirms another (304).")
    case .duplicateKeySuperseded: (false, "A newer row has the same key.")
    case .missingBodyFile: (true, "The file of the body is missing.")
    case .badBodyFileName: (true, "The file of the body has no name.")
    case .unsafeFileName: (true, "The file of the body is a link, or elsewhere.")
    case .sizeMismatch: (true, "The body has another length than the source says.")
    case .noBody: (true, "There is no body.")
    case .unsupportedValueClass: (false, "The value is an archived object, not a body.")
    case .foreignEntity: (false, "The row belongs to another entity.")
    case .tooLarge: (true, "A column other than the body, or an archived value, exceeds 16 MiB.")
    case .alreadyThere: (false, "The same entry is in the destination.")
    case .newerInDestination: (false, "The destination has a newer response for the URL.")
    case .duplicateURLSuperseded:
      (false, "A newer response, whose URL has the same normal form, was moved.")
    case .expired: (false, "It has expired (--drop-expired).")
    case .varyAll: (false, "Its Vary lets it answer no other request.")
    case .limitsReached: (false, "The limits leave no room beside what was accessed later.")
    case .badMappedURL: (true, "--map-url gives no valid URL.")
    case .entryTooLarge: (true, "The body exceeds a limit of the store.")
    case .metadataTooLarge: (true, "Key, fields and user info are too large for the store.")
    case .unreadableBody: (true, "The file of the body cannot be read, or became shorter.")
    }
  }
}
