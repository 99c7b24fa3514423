package import CacheFormat

/// The purges of a namespace: for each scope the number of its last purge.
///
/// A document with a lower number than a purge that covers it is not used. The union of two lists
/// has the higher number for each scope, so the order in which lists are joined does not matter.
package struct PurgeList: Sendable, Hashable {
  /// What a purge covers.
  package enum Scope: Sendable, Hashable {
    case key(ByteString)
    case prefix(ByteString)
    case tag(ByteString)
    case everything
  }

  /// The most scopes of a list; older ones become one purge of the whole namespace.
  static let maximumScopes = 10_000
  /// The highest number, which is far above the microseconds since 1970.
  private static let maximumNumber: UInt64 = 1 << 56
  /// The most bytes of keys, prefixes and tags of a list, as they are in its document.
  static let maximumTextBytes = 1 << 20

  /// The number of the last purge of each scope.
  package private(set) var numbers: [Scope: UInt64] = [:]
  /// The highest number; 0 if there was no purge.
  package private(set) var newest: UInt64 = 0
  private var prefixes: [ByteString: UInt64] = [:]

  package init() {}

  package var isEmpty: Bool { numbers.isEmpty }

  /// Adds a purge. An older one of the same scope is replaced, and one of everything takes the
  /// place of all older ones, so that equal lists are equal values.
  package mutating func add(_ scope: Scope, number: UInt64) {
    guard number > self.number(of: scope) else { return }
    if scope == .everything {
      numbers = numbers.filter { $0.value > number }
      prefixes = prefixes.filter { $0.value > number }
    }
    numbers[scope] = number
    newest = max(newest, number)
    if case .prefix(let prefix) = scope { prefixes[prefix] = number }
  }

  /// Returns the number of the last purge that covers a whole scope; 0 if there was none.
  package func number(of scope: Scope) -> UInt64 {
    max(numbers[scope] ?? 0, numbers[.everything] ?? 0)
  }

  /// A number that is higher than all of the list.
  var nextNumber: UInt64 { min(newest + 1, Self.maximumNumber) }

  /// Returns whether a purge covers a response of a document.
  ///
  /// - Complexity: O(number of prefixes).
  package func covers(_ key: ByteString, tags: [ByteString], generation: UInt64) -> Bool {
    guard newest > generation else { return false }
    func isNewer(_ scope: Scope) -> Bool { numbers[scope] ?? 0 > generation }
    return isNewer(.everything) || isNewer(.key(key)) || tags.contains { isNewer(.tag($0)) }
      || prefixes.contains { $0.value > generation && key.hasPrefix($0.key) }
  }

  package func union(_ other: PurgeList) -> PurgeList {
    var result = self
    for (scope, number) in other.numbers { result.add(scope, number: number) }
    return result
  }

  /// Returns all purges of both lists. Those that one of them should have had, by their numbers,
  /// get new numbers: somebody overwrote them, so there may be documents with higher numbers whose
  /// writers did not know them.
  func joined(with other: PurgeList) -> PurgeList {
    var result = union(other)
    let late = Array(numbers.filter(other.lacks)) + other.numbers.filter(lacks)
    // Always in the same order: machines that join two lists at once must get the same one, or they
    // would join theirs again and again.
    let sorted = late.sorted { ($0.value, $0.key.order) < ($1.value, $1.key.order) }
    for (scope, _) in sorted { result.add(scope, number: result.nextNumber) }
    return result
  }

  /// Returns whether a purge is not newer than the list, and not part of it.
  private func lacks(_ scope: Scope, _ number: UInt64) -> Bool {
    guard number > self.number(of: scope), number <= newest else { return false }
    // `bounded()` takes the number of an older purge.
    let isBound = scope == .everything && number < newest && numbers.values.contains(number)
    return !isBound
  }

  /// Returns the purges that are newer here than in an older list.
  package func changes(since older: PurgeList) -> [Scope] {
    numbers.filter { $0.value > older.number(of: $0.key) }.map(\.key)
  }

  package var isBounded: Bool {
    numbers.count <= Self.maximumScopes
      && numbers.keys.reduce(0) { $0 + $1.textCount } <= Self.maximumTextBytes
  }

  /// Returns a list that is within its limits: the older half becomes a purge of everything.
  func bounded() -> PurgeList {
    if isBounded { return self }
    let sorted = numbers.sorted { $0.value < $1.value }
    var result = PurgeList()
    result.add(.everything, number: sorted[sorted.count / 2].value)
    var room = Self.maximumTextBytes / 2
    for (scope, number) in sorted[(sorted.count / 2 + 1)...].reversed() {
      room -= scope.textCount
      result.add(room >= 0 ? scope : .everything, number: number)
    }
    return result
  }
}

extension PurgeList.Scope {
  /// The text with the kind in front of it.
  fileprivate var order: ByteString {
    let (kind, text): (Unicode.Scalar, ByteString) =
      switch self {
      case .key(let text): ("k", text)
      case .prefix(let text): ("p", text)
      case .tag(let text): ("t", text)
      case .everything: ("*", "")
      }
    return ByteString(bytes: [UInt8(ascii: kind)] + text.bytes)
  }

  /// The bytes of the text in the document: with escapes, each byte takes six at most.
  fileprivate var textCount: Int {
    switch self {
    case .key(let text), .prefix(let text), .tag(let text):
      var writer = JSONWriter(capacity: text.count + 2)
      writer.appendString(text)
      return writer.bytes.count
    case .everything: return 0
    }
  }
}

// The inner document: {"v":1,"namespace":…,"purge":[{"number":1,"key":…}, …]}.
extension PurgeList {
  /// Returns the bytes of the inner document, which are signed.
  package func encoded(namespace: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 1024)
    writer.append("{\"v\": 1, \"namespace\": ")
    writer.appendText(namespace)
    writer.append(", \"purge\": [")
    var isFirst = true
    for (scope, number) in numbers.sorted(by: { $0.value < $1.value }) {
      writer.append(isFirst ? "{\"number\": " : ", {\"number\": ")
      isFirst = false
      writer.appendInteger(number)
      switch scope {
      case .key(let text): Self.write(", \"key\": ", text, to: &writer)
      case .prefix(let text): Self.write(", \"prefix\": ", text, to: &writer)
      case .tag(let text): Self.write(", \"tag\": ", text, to: &writer)
      case .everything: break
      }
      writer.append("}")
    }
    writer.append("]}")
    return writer.bytes
  }

  private static func write(_ name: StaticString, _ text: ByteString, to writer: inout JSONWriter) {
    writer.append(name)
    writer.appendString(text)
  }

  /// Reads the bytes of an inner document.
  ///
  /// - Throws: `FormatError` for anything that ``encoded(namespace:)`` does not write, and for the
  ///   list of another namespace.
  package init(decoding bytes: [UInt8], namespace: String) throws(FormatError) {
    self.init()
    var found: ByteString?
    var hasPurges = false
    try JSONObject.read(bytes) { (reader, name) throws(FormatError) in
      switch name {
      case "v": try JSONObject.checkVersion(&reader)
      case "namespace": found = try reader.readByteString()
      case "purge":
        hasPurges = true
        try reader.readArray(limit: 2 * Self.maximumScopes) { (reader) throws(FormatError) in
          try readPurge(&reader)
        }
      default: try reader.skipValue()
      }
    }
    guard hasPurges, found == ByteString(namespace) else {
      throw FormatError(.missingMember, "the document is not the purge list of this namespace")
    }
  }

  private mutating func readPurge(_ reader: inout JSONReader) throws(FormatError) {
    var number: UInt64 = 0
    var scope = Scope.everything
    try reader.readObject { (reader, name) throws(FormatError) in
      switch String(decoding: name, as: UTF8.self) {
      case "number": number = try reader.readUnsigned()
      case "key": scope = .key(try reader.readByteString())
      case "prefix": scope = .prefix(try reader.readByteString())
      case "tag": scope = .tag(try reader.readByteString())
      default: throw reader.error(.newerFormat, "has a purge of an unknown kind")
      }
    }
    // A higher number would leave none for the next purge.
    guard number > 0, number <= Self.maximumNumber else {
      throw reader.error(.outOfBounds, "has a purge with an impossible number")
    }
    add(scope, number: number)
  }
}
