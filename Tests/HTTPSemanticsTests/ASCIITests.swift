import Testing

@testable import HTTPSemantics

struct ASCIITests {
  private static let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
  private static let digits = "0123456789"

  /// The classes, and their members as the grammars list them.
  private static let classes: [(name: String, has: @Sendable (UInt8) -> Bool, members: String)] = [
    ("DIGIT", ASCII.isDigit, digits),
    ("ALPHA", ASCII.isLetter, letters),
    ("unreserved", ASCII.isUnreserved, letters + digits + "-._~"),
    ("scheme", ASCII.isSchemeByte, letters + digits + "+-."),
    ("host", ASCII.isHostByte, letters + digits + "-._~"),
    ("IPv6", ASCII.isIPv6Byte, digits + "abcdefABCDEF:."),
    ("target", ASCII.isTargetByte, letters + digits + "-._~!$&'()*+,;=:@/?[]|"),
    ("tchar", ASCII.isTokenByte, letters + digits + "!#$%&'*+-.^_`|~"),
  ]

  @Test(arguments: 0..<classes.count)
  func `a class has the bytes of its grammar, and no other`(index: Int) {
    let (name, has, members) = Self.classes[index]
    let found = (0...255).map { UInt8($0) }.filter(has)
    #expect(found == members.utf8.sorted(), "\(name)")
  }

  @Test func `hex digits have their values in either case, and are written in upper case`() {
    for byte in UInt8.min ... .max {
      let value = UInt8(String(decoding: [byte], as: UTF8.self), radix: 16)
      #expect(ASCII.hexValue(byte) == (byte == UInt8(ascii: "+") ? nil : value), "\(byte)")
    }
    #expect((0..<16).map { ASCII.hexDigit($0) } == Array("0123456789ABCDEF".utf8))
  }

  @Test func `names are equal without regard to the case of letters alone`() {
    #expect(ASCII.equalsIgnoringCase("Content-TYPE", "content-type"))
    #expect(ASCII.equalsIgnoringCase("", ""))
    #expect(ASCII.equalsIgnoringCase("Ä", "Ä"))
    // These differ in the bit that tells the case of a letter.
    for (left, right) in [("@", "`"), ("[", "{"), ("^", "~"), ("\r", "-"), ("Ä", "ä")] {
      #expect(!ASCII.equalsIgnoringCase(left, right), "\(left) \(right)")
    }
    #expect(!ASCII.equalsIgnoringCase("a", "ab") && !ASCII.equalsIgnoringCase("a", ""))
  }
}
