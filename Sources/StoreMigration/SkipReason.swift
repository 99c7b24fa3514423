/// The reasons why a row of a source gives no entry of the store; ``RowReason`` has their meanings.
///
/// The raw values are names in reports, which never change.
package enum SkipReason: String, Sendable, CaseIterable {
  // Reading the source.
  case missingResponse = "missing_response"
  case undecodableResponse = "undecodable_response"
  case unexpectedClass = "unexpected_class"
  case badStatus = "bad_status"
  case badURL = "bad_url"
  case notHTTPURL = "not_http_url"
  case notAURLKey = "not_a_url_key"
  case methodNotCacheable = "method_not_cacheable"
  case storagePolicy = "storage_policy"
  case partialContent = "partial_content"
  case noWholeAnswer = "no_whole_answer"
  case duplicateKeySuperseded = "duplicate_key_superseded"
  case missingBodyFile = "missing_body_file"
  case badBodyFileName = "bad_body_file_name"
  case unsafeFileName = "unsafe_file_name"
  case sizeMismatch = "size_mismatch"
  case noBody = "no_body"
  case unsupportedValueClass = "unsupported_value_class"
  case foreignEntity = "foreign_entity"
  case tooLarge = "too_large"

  // Moving the entry.
  case alreadyThere = "already_there"
  case newerInDestination = "newer_in_destination"
  case duplicateURLSuperseded = "duplicate_url_superseded"
  case expired
  case varyAll = "vary_all"
  case limitsReached = "limits_reached"
  case badMappedURL = "bad_mapped_url"
  case entryTooLarge = "entry_too_large"
  case metadataTooLarge = "metadata_too_large"
  case unreadableBody = "unreadable_body"
}

enum RowError: Error {
  /// The row gives no entry; the others are not affected.
  case skip(SkipReason, String)
  case database(DatabaseError)

  /// Returns text of the source for a message, shortened and without control characters.
  static func excerpt(_ text: String) -> String {
    String(
      decoding: text.utf8.prefix(60).map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: "?") : $0 },
      as: UTF8.self)
  }
}
