// Values encoded as JSON.
extension Store {
  /// Stores a value, encoded as JSON, under a key, and replaces the previous entry.
  ///
  /// Pass your own encoder for other dates or key names.
  ///
  /// ```swift
  /// struct Reader: Codable { var name: String }
  /// try store.put(encoding: Reader(name: "Ada"), for: "reader/7")
  /// let known: Reader? = try store.value(for: "reader/7")
  /// ```
  ///
  /// - Throws: `EncodingError`, or `StoreError` as `put(_:for:variant:metadata:)`; the previous
  ///   entry is then still there.
  /// - Durability: That of `durability`, once the call has returned.
  /// - Complexity: O(length of the encoded value).
  @discardableResult
  public func put(
    encoding value: some Encodable, for key: ByteString, variant: UInt64 = 0,
    metadata: EntryMetadata = EntryMetadata(), with encoder: JSONEncoder = JSONEncoder()
  ) throws -> EntryInfo {
    try put([UInt8](try encoder.encode(value)), for: key, variant: variant, metadata: metadata)
  }

  /// Returns the value that is stored under a key as JSON, or `nil` if there is no entry.
  ///
  /// The decoder must match the encoder.
  ///
  /// - Throws: `DecodingError` if the entry is not such a value: also for a `nil` that was stored, if
  ///   `Value` is not optional.
  /// - Complexity: O(length of the entry).
  public func value<Value: Decodable>(
    _ type: Value.Type = Value.self, for key: ByteString, variant: UInt64 = 0,
    with decoder: JSONDecoder = JSONDecoder()
  ) throws -> Value? {
    guard let entry = lookUp(key, variant: variant).entry else { return nil }
    return try decoder.decode(type, from: Data(entry.body))
  }
}
