@testable import CacheFormat

/// Reads an input as store.json.
func fuzzStoreDescription(_ input: [UInt8]) {
  let (isSealed, rest) = sealing(input)
  let bytes = isSealed ? rest + seal(of: rest, seed: 0) : rest
  checkDocument(
    bytes,
    decode: { (bytes) throws(FormatError) in try StoreDescription(decoding: bytes) },
    encode: { $0.encoded() })
}

/// Reads an input as a metadata file.
func fuzzMetadata(_ input: [UInt8]) {
  let (isSealed, rest) = sealing(input)
  let bytes = isSealed ? rest + seal(of: rest, seed: statedSeed(rest)) : rest
  let document = checkDocument(
    bytes,
    decode: { (bytes) throws(FormatError) in try MetadataDocument(decoding: bytes) },
    encode: { (document) throws(FormatError) in try document.encoded() })
  guard let document else { return }
  let entry = document.entry
  let texts =
    [entry.key] + entry.tags + (entry.fields + entry.userInfo).flatMap { [$0.name, $0.value] }
  require(
    texts.reduce(0) { $0 + $1.count + 1 } <= bytes.count, "what is read is not more than was there")
  require((0...999).contains(entry.status ?? 0), "a status has three digits")
  do throws(FormatError) {
    let again = try MetadataDocument(decoding: bytes, hashSeed: document.hashSeed)
    require(again == document, "the seed of the store changes nothing")
    _ = try MetadataDocument(decoding: bytes, hashSeed: document.hashSeed ^ 1)
    require(false, "a document of another store is refused")
  } catch {
    require(error.code == .foreignStore, "a document of another store is told apart")
  }
}

/// Checks what holds for each kind of document, and returns the value if there is one.
@discardableResult
private func checkDocument<Value: Equatable>(
  _ bytes: [UInt8], decode: ([UInt8]) throws(FormatError) -> Value,
  encode: (Value) throws(FormatError) -> [UInt8]
) -> Value? {
  let value: Value
  do throws(FormatError) {
    value = try decode(bytes)
  } catch {
    require((0...bytes.count).contains(error.offset), "an error lies within the document")
    return nil
  }
  guard let written = try? encode(value) else { fatalError("what was read can be written") }
  require((try? decode(written)) == value, "a round trip changes nothing")
  forSomePlaces(of: bytes.count) { place in
    require((try? decode(flipped(bytes, at: place))) == nil, "a flipped bit is noticed")
    require((try? decode(Array(bytes[..<place]))) == nil, "a cut document is refused")
  }
  require((try? decode(bytes + [0x0A])) == nil, "nothing follows a document")
  return value
}

/// Returns the last member of a document, which has its checksum.
private func seal(of bytes: [UInt8], seed: UInt64) -> [UInt8] {
  let sum = Hexadecimal.string(Checksum.of(bytes, seed: seed))
  return Array(",\n \"checksum\": \"\(sum)\"\n}\n".utf8)
}

/// Returns the seed that stands on the third line of a metadata file; 0 if there is none.
private func statedSeed(_ bytes: [UInt8]) -> UInt64 {
  let lines = bytes.split(separator: 0x0A, maxSplits: 3)
  guard lines.count > 2 else { return 0 }
  return Hexadecimal.parse(lines[2].drop { $0 != UInt8(ascii: ":") }.dropFirst(3).prefix(16)) ?? 0
}

/// Reads an input as JSON, and takes it through a JSON string.
func fuzzJSON(_ bytes: [UInt8]) {
  var writer = JSONWriter(capacity: 0)
  writer.appendString(ByteString(bytes: bytes))
  require(
    byteString(writer.bytes)?.bytes == bytes, "any bytes come out of a string as they went in")
  if let string = byteString(bytes) {
    require(string.count <= bytes.count, "a string is not longer than its text")
    var writer = JSONWriter(capacity: 0)
    writer.appendString(string)
    require(byteString(writer.bytes) == string, "a round trip changes nothing")
  }
  let isValue = isJSON(bytes)
  require(isJSON([0x20] + bytes + [0x0A]) == isValue, "white space makes no difference")
  require(!isJSON(nested(bytes, JSONReader.maximumDepth + 1)), "nesting is limited")
  if isValue {
    require(!isJSON(bytes + [UInt8(ascii: "]")]), "nothing follows a value")
    let depth = bytes.count { "[{".utf8.contains($0) }
    require(
      isJSON(nested(bytes, max(0, JSONReader.maximumDepth - depth))), "a value may be an element")
  }
}

private func nested(_ bytes: [UInt8], _ depth: Int) -> [UInt8] {
  [UInt8](repeating: UInt8(ascii: "["), count: depth) + bytes
    + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
}

private func isJSON(_ bytes: [UInt8]) -> Bool {
  var reader = JSONReader(bytes)
  do throws(FormatError) {
    try reader.checkEncoding()
    try reader.skipValue()
    try reader.finish()
    return true
  } catch {
    require((0...bytes.count).contains(error.offset), "an error lies within the text")
    return false
  }
}

private func byteString(_ bytes: [UInt8]) -> ByteString? {
  var reader = JSONReader(bytes)
  do throws(FormatError) {
    try reader.checkEncoding()
    let string = try reader.readByteString()
    try reader.finish()
    return string
  } catch {
    return nil
  }
}
