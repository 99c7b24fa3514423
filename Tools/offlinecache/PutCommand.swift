import CacheFormat
import CacheStore
import CommandLineTools
import HTTPSemantics

enum PutCommand: ToolCommand {
  private static let file = Parameter(
    "file", .pathOrDash, help: "The file to store; - is standard input")
  private static let status = Option(
    "status", .integer(in: 200...599), help: "Store this HTTP status code")
  private static let field = Option(
    "field", .header, repeats: true, help: "Store a header field; they keep their order")
  private static let info = Option(
    "info", .information, repeats: true, help: "Store user information")
  private static let tag = Option(
    "tag", .key.named("TAG"), repeats: true, help: "Give the entry this tag")
  private static let expires = Option(
    "expires-in", .duration,
    help: "Record that the entry expires after this time; it is not removed")
  private static let pin = Flag("pin", help: "Keep the entry until it is unpinned or removed")
  private static let durable = Flag(
    "durable", help: "Return only when the entry survives a loss of power")

  static let declaration = Command(
    "put", summary: "Stores a file, or standard input, under a key",
    discussion: ["An existing entry of the key is replaced completely or not at all."],
    parameters: [Declarations.key, file],
    options: [status, field, info, tag, expires, pin, durable],
    examples: [
      .init("offlinecache put logo logo.png --tag art", "Stores a picture"),
      .init("date | offlinecache put now -", "Stores standard input"),
    ], unusedStatuses: [.notFound, .outputClosed])

  private static let pieceBytes = 1 << 18

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    let input = try InputFile(invocation.value(of: file))
    let key = ByteString(invocation.value(of: Declarations.key))
    let durability: Durability = invocation[durable] ? .full : .process
    return try withStore(invocation, .fill, durability: durability) { store in
      // A file may grow meanwhile, and the system states a wrong length for those in /proc and /sys.
      let writer = try store.makeWriter(
        for: key, variant: 0, metadata: metadata(invocation), length: input.length,
        isEstimate: true, past: nil)
      // After an error the writer is released, which removes the bytes it wrote.
      while let piece = try input.read(upTo: pieceBytes) { try writer.write(piece) }
      try Interruption.check()
      _ = try writer.commit()
      if invocation[pin] { try pin(key, store) }
      return .success
    }
  }

  private static func pin(_ key: ByteString, _ store: Store) throws(StoreError) {
    do throws(StoreError) {
      _ = try store.pin(key)
    } catch {
      throw StoreError(
        error.code, path: error.path, cause: "the entry is stored, but not pinned: \(error.cause)",
        remedy: error.remedy)
    }
  }

  private static func metadata(_ invocation: Invocation) -> EntryMetadata {
    EntryMetadata(
      status: invocation[status],
      fields: invocation.all(field).map {
        Field(ByteString($0.name), ByteString(bytes: $0.value))
      },
      userInfo: invocation.all(info), tags: invocation.all(tag).map { ByteString($0) },
      expires: invocation[expires].map { secondsFromNow($0.seconds) })
  }
}

extension ValueKind where Value == Field {
  /// A name and a value, as in `origin: camera`; spaces around the value are removed.
  static var information: ValueKind {
    ValueKind("NAME:VALUE") { argument throws(InvalidValue) in
      let parts = argument.bytes.split(
        separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw InvalidValue(expected: "a name and a value, as in 'origin: camera'")
      }
      var value = parts[1].drop { $0 == UInt8(ascii: " ") }
      while value.last == UInt8(ascii: " ") { value.removeLast() }
      return Field(ByteString(bytes: Array(parts[0])), ByteString(bytes: Array(value)))
    }
  }
}
