/// A parser that reads bytes from the left.
protocol ByteReading {
  var bytes: [UInt8] { get }
  var position: Int { get set }
}

extension ByteReading {
  var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

  mutating func next() -> UInt8? {
    guard let byte = peek else { return nil }
    position += 1
    return byte
  }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard peek == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  mutating func skip(while isSkipped: (UInt8) -> Bool) {
    while let byte = peek, isSkipped(byte) { position += 1 }
  }

  mutating func text(while isTaken: (UInt8) -> Bool) -> String {
    let start = position
    skip(while: isTaken)
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }
}
