import CacheFormat
import HTTPSemantics

/// The content of the file of a ``FileCredentialVault`` (Docs/Format.md, "Remembered credentials").
struct CredentialDocument: Equatable {
  /// The longest file that is written or read, in bytes.
  static let maximumBytes = 4 << 20
  static let maximumCount = 4096
  private static let format: UInt64 = 1

  private struct Entry: Equatable {
    let space: ProtectionSpace
    let credential: Credential
  }

  private var entries: [Entry] = []

  init() {}

  /// The credential for a space.
  ///
  /// - Complexity: O(credentials).
  subscript(space: ProtectionSpace) -> Credential? {
    get { entries.first { $0.space == space }?.credential }
    set {
      guard newValue != self[space] else { return }
      entries.removeAll { $0.space == space }
      if let newValue { entries.append(Entry(space: space, credential: newValue)) }
    }
  }

  /// Returns the credentials for the origin of a URL.
  ///
  /// - Complexity: O(credentials).
  func credentials(at url: NormalizedURL) -> [Credential] {
    entries.filter { $0.space.isAtOrigin(of: url) }.map(\.credential)
  }

  /// Returns the bytes of the file.
  ///
  /// - Throws: ``FormatError`` with `tooLarge`.
  func encoded() throws(FormatError) -> [UInt8] {
    guard entries.count <= Self.maximumCount else {
      throw FormatError(.tooLarge, "there are more than \(Self.maximumCount) credentials")
    }
    var writer = JSONWriter(capacity: 256 * (entries.count + 1))
    writer.append("{\n \"format\": 1,\n \"credentials\": [")
    for (index, entry) in entries.enumerated() {
      writer.append(index == 0 ? "\n  " : ",\n  ")
      Self.write(entry, to: &writer)
    }
    writer.append(entries.isEmpty ? "]" : "\n ]")
    DocumentEnvelope.seal(&writer, seed: 0)
    guard writer.bytes.count <= Self.maximumBytes else {
      throw FormatError(.tooLarge, "the credentials need more than \(Self.maximumBytes) bytes")
    }
    return writer.bytes
  }

  private static func write(_ entry: Entry, to writer: inout JSONWriter) {
    writer.append("{\"urlScheme\": ")
    writer.appendText(entry.space.urlScheme.rawValue)
    writer.append(", \"host\": ")
    writer.appendText(entry.space.host)
    writer.append(", \"port\": ")
    writer.appendInteger(UInt64(entry.space.port))
    writer.append(", \"realm\": ")
    writer.appendText(entry.space.realm)
    writer.append(", \"scheme\": ")
    writer.appendText(entry.space.scheme.rawValue)
    switch entry.credential.secret {
    case .password(let user, let password):
      writer.append(", \"user\": ")
      writer.appendText(user)
      writer.append(", \"password\": ")
      writer.appendText(password)
    case .token(let token):
      writer.append(", \"token\": ")
      writer.appendText(token)
    }
    writer.append("}")
  }

  /// Reads the bytes of a file.
  ///
  /// - Throws: ``FormatError``. Its detail may contain a part of the file, so it must not be shown.
  init(decoding bytes: [UInt8]) throws(FormatError) {
    var hasFormat = false
    var read: [Entry] = []
    _ = try DocumentEnvelope.read(
      bytes, maximumBytes: Self.maximumBytes, seed: 0
    ) { (reader, name) throws(FormatError) in
      switch name {
      case "format":
        try DocumentEnvelope.check(
          format: try reader.readUnsigned(), newest: Self.format, at: 0)
        hasFormat = true
      case "credentials":
        try reader.readArray(limit: Self.maximumCount) { (reader) throws(FormatError) in
          read.append(try Self.entry(&reader))
        }
      default: try reader.skipValue()
      }
    }
    guard hasFormat else { throw FormatError(.missingMember, "there is no format") }
    entries = read
  }

  private static func entry(_ reader: inout JSONReader) throws(FormatError) -> Entry {
    var texts: [String: String] = [:]
    var port: Int?
    try reader.readObject { (reader, name) throws(FormatError) in
      switch String(decoding: name, as: UTF8.self) {
      case "port": port = Int(exactly: try reader.readUnsigned())
      case let name
      where ["urlScheme", "host", "realm", "scheme", "user", "password", "token"].contains(name):
        texts[name] = try reader.readByteString().string
      default: try reader.skipValue()
      }
    }
    guard let urlScheme = texts["urlScheme"].flatMap({ NormalizedURL.Scheme(rawValue: $0) }),
      let scheme = texts["scheme"].flatMap({ AuthenticationChallenge.Scheme(rawValue: $0) }),
      let host = texts["host"], let port, let realm = texts["realm"]
    else { throw reader.error(.missingMember, "has an entry without its place") }
    let credential: Credential
    if let user = texts["user"], let password = texts["password"] {
      credential = .password(user: user, password: password, persistence: .permanent)
    } else if let token = texts["token"] {
      credential = .token(token, persistence: .permanent)
    } else {
      throw reader.error(.missingMember, "has an entry without a secret")
    }
    return Entry(
      space: ProtectionSpace(
        urlScheme: urlScheme, host: host, port: port, realm: realm, scheme: scheme),
      credential: credential)
  }
}
