import CacheFormat
import CacheStore
import CommandLineTools
import HTTPSemantics

enum GetCommand: ToolCommand {
  static let output = Option(
    "output", short: "o", .pathOrDash.named("FILE"),
    help: "Write to a file, which gets its name when it is complete; - is standard output")
  private static let variant = Option(
    "variant",
    ValueKind("HEX", expected: "a variant as 'offlinecache show' prints it") { text in
      text.count <= 16 && text.allSatisfy(\.isHexDigit) ? UInt64(text, radix: 16) : nil
    },
    help: "The variant of the key, as 'show' prints it; without it, the newest")

  static let declaration = Command(
    "get", summary: "Writes the body of an entry to standard output, or to a file",
    discussion: [
      "The body is checked against its digest first. If it is damaged, nothing is written, and "
        + "the exit status is 2.",
      "The bytes are written as they are stored: a body sent compressed stays compressed. "
        + "'offlinecache fetch --offline URL -o FILE' writes the decoded content.",
    ],
    parameters: [Declarations.key], options: [output, variant],
    examples: [.init("offlinecache get logo -o logo.png", "Writes a picture to a file")])

  static let pieceBytes = 1 << 18

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    let key = invocation.value(of: Declarations.key)
    return try withStore(invocation, .read) { store in
      let number = invocation[variant] ?? newest(ByteString(key), store)
      switch store.read(ByteString(key), variant: number) {
      case .hit(_, let reader):
        try reader.verify()
        let file = try OutputFile(invocation[output] ?? "-")
        try copy(reader, to: file)
        return .success
      case .miss(.absent)
      where invocation[variant] != nil && !store.outline(of: ByteString(key)).isEmpty:
        printMessage(
          "offlinecache: \(key): it has no variant \(String(number, radix: 16)); 'offlinecache show' "
            + "lists its variants")
        return .notFound
      case .miss(let reason):
        return reportMiss(key, reason)
      }
    }
  }

  private static func newest(_ key: ByteString, _ store: Store) -> UInt64 {
    let outline = store.outline(of: key)
    if outline.count == 1 { return outline[0].variant }
    return store.variants(of: key).max { $0.created.nanoseconds < $1.created.nanoseconds }?.variant
      ?? 0
  }

  private static func copy(_ reader: BodyReader, to file: OutputFile) throws {
    while true {
      try Interruption.check()
      let piece = try reader.read(upTo: pieceBytes)
      if piece.isEmpty { break }
      try file.write(piece)
    }
    try file.finish()
  }

  private static func reportMiss(_ key: Argument, _ reason: MissReason) -> ExitStatus {
    switch reason {
    case .absent: Report.notFound(key)
    case .damaged:
      printMessage(
        "offlinecache: \(key): the entry is damaged, and the store moves it to its quarantine, so "
          + "fetch or put it again; or it may not be read, which 'cachefsck' reports")
    case .collision:
      printMessage(
        "offlinecache: \(key): another key with the same hash is stored; choose another key")
    case .closed:
      printMessage(
        "offlinecache: \(key): the store was converted to a newer format meanwhile; "
          + "use the newer version")
    }
    return reason == .damaged || reason == .closed ? .failure : .notFound
  }
}

enum Report {
  static func done(_ verb: String, _ count: Int) {
    printMessage("\(verb) \(count) \(count == 1 ? "entry" : "entries")")
  }

  static func notFound(_ key: Argument) {
    let remedy = keyOfPage(key) ?? "'offlinecache ls' lists the keys"
    printMessage("offlinecache: \(key): there is no such entry; \(remedy)")
  }

  /// Prints that no key begins so, if that is because a URL was given.
  static func notFound(prefix: Argument) {
    if let remedy = keyOfPage(prefix) {
      printMessage("offlinecache: \(prefix): no key begins with this; \(remedy)")
    }
  }

  /// Returns the key of a page that was given by its URL, or by a URL that is not in the normal form.
  private static func keyOfPage(_ given: Argument) -> String? {
    guard let text = given.text,
      let url = try? NormalizedURL(text.hasPrefix("GET ") ? String(text.dropFirst(4)) : text),
      text != "GET \(url.string)"
    else { return nil }
    return "the key of a page is 'GET \(url.string)'"
  }
}
