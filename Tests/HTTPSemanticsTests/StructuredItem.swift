/// Reads an item with parameters strictly as RFC 9651, section 4.2.3, tells, as far as
/// `Cache-Status` uses it: tokens, strings, integers and true.
struct StructuredItem {
  enum Value: Hashable {
    case token(String), string(String), integer(Int64), boolean
  }

  struct Malformed: Error, Hashable {
    let text: String
    let offset: Int
  }

  let value: Value
  private(set) var parameters: [String: Value] = [:]

  init(_ text: String) throws(Malformed) {
    var reader = Reader(bytes: Array(text.utf8))
    do throws(Reader.Stop) {
      value = try reader.bareItem()
      while reader.take(";") {
        while reader.take(" ") {}
        let key = try reader.key()
        let value = reader.take("=") ? try reader.bareItem() : Value.boolean
        guard parameters.updateValue(value, forKey: key) == nil else { throw Reader.Stop() }
      }
      guard reader.position == reader.bytes.count else { throw Reader.Stop() }
    } catch {
      throw Malformed(text: text, offset: reader.position)
    }
  }
}

private struct Reader {
  struct Stop: Error {}

  let bytes: [UInt8]
  var position = 0

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  mutating func take(_ letter: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: letter) else { return false }
    position += 1
    return true
  }

  mutating func bareItem() throws(Stop) -> StructuredItem.Value {
    guard let first = next else { throw Stop() }
    if first == UInt8(ascii: "\"") { return .string(try string()) }
    if first == UInt8(ascii: "-") || Self.isIn(first, "0123456789") {
      return .integer(try integer())
    }
    guard Self.isLetter(first) || first == UInt8(ascii: "*") else { throw Stop() }
    return .token(run { Self.isLetter($0) || Self.isIn($0, "0123456789!#$%&'*+-.^_`|~:/") })
  }

  mutating func key() throws(Stop) -> String {
    guard let first = next, Self.isIn(first, "abcdefghijklmnopqrstuvwxyz*") else { throw Stop() }
    return run { Self.isIn($0, "abcdefghijklmnopqrstuvwxyz0123456789_-.*") }
  }

  private mutating func integer() throws(Stop) -> Int64 {
    let isNegative = take("-")
    let digits = run { Self.isIn($0, "0123456789") }
    guard digits.utf8.count <= 15, let number = Int64(digits) else { throw Stop() }
    return isNegative ? -number : number
  }

  private mutating func string() throws(Stop) -> String {
    position += 1
    var content: [UInt8] = []
    while let byte = next {
      position += 1
      if byte == UInt8(ascii: "\"") { return String(decoding: content, as: UTF8.self) }
      guard byte >= 0x20, byte < 0x7F else { throw Stop() }
      guard byte == UInt8(ascii: "\\") else {
        content.append(byte)
        continue
      }
      guard let escaped = next, Self.isIn(escaped, "\"\\") else { throw Stop() }
      content.append(escaped)
      position += 1
    }
    throw Stop()
  }

  private mutating func run(while isPart: (UInt8) -> Bool) -> String {
    let start = position
    while let byte = next, isPart(byte) { position += 1 }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private static func isIn(_ byte: UInt8, _ set: String) -> Bool { set.utf8.contains(byte) }

  private static func isLetter(_ byte: UInt8) -> Bool {
    isIn(byte | 0x20, "abcdefghijklmnopqrstuvwxyz")
  }
}
