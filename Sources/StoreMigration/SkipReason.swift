/// The reasons why a row of a source becomes no entry.
package enum SkipReason: String, Sendable, Hashable, CaseIterable {
  /// There is no archived response, or nil was archived.
  case missingResponse = "missing_response"
  /// The archived response cannot be read.
  case undecodableResponse = "undecodable_response"
  /// The archive has an object of a class that is not a response.
  case unexpectedClass = "unexpected_class"
  /// The status is not from 100 to 599.
  case badStatus = "bad_status"
  /// The key is not a URL.
  case badURL = "bad_url"
  /// The key is a URL of another scheme.
  case notHTTPURL = "not_http_url"
  /// The key of a key-value store does not have the form of a URL.
  case notAURLKey = "not_a_url_key"
  /// The method is neither `GET` nor `HEAD`.
  case methodNotCacheable = "method_not_cacheable"
  /// The entry was not meant to be kept on disk.
  case storagePolicy = "storage_policy"
  /// The response is a part (206).
  case partialContent = "partial_content"
  /// A newer row has the same key.
  case duplicateKeySuperseded = "duplicate_key_superseded"
  /// The file with the body does not exist.
  case missingBodyFile = "missing_body_file"
  /// The file of the body has no name.
  case badBodyFileName = "bad_body_file_name"
  /// The file name of the body leads to another folder, or is a link.
  case unsafeFileName = "unsafe_file_name"
  /// The body has another length than the source states.
  case sizeMismatch = "size_mismatch"
  /// There is no body.
  case noBody = "no_body"
  /// The value is an archived object, not the bytes of a body.
  case unsupportedValueClass = "unsupported_value_class"
  /// The row belongs to another entity.
  case foreignEntity = "foreign_entity"
  /// A column other than the body, or an archived value, is longer than 16 MiB.
  case tooLarge = "too_large"
}

/// The reason why a row cannot be read.
enum RowError: Error {
  /// The row gives no entry; the others are not affected.
  case skip(SkipReason, String)
  /// The database failed.
  case database(DatabaseError)

  /// Returns text of the source for a message, shortened and without control characters.
  static func excerpt(_ text: String) -> String {
    String(
      decoding: text.utf8.prefix(60).map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: "?") : $0 },
      as: UTF8.self)
  }
}
