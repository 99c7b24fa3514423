import CXML

/// Finds the references of an HTML document, of XHTML or of SVG, with libxml2.
///
/// libxml2 mends broken documents, converts from other encodings, and reports one element after the
/// other, so no tree is made.
package enum LinkExtractor {
  /// The limit of the nesting of elements. What is nested deeper, and all that follows, is not
  /// read: the time that libxml2 takes for an end tag grows with the nesting.
  package static let maximumDepth: Int32 = 2000

  private static let isReady: Bool = {
    xmlInitParser()
    return true
  }()

  /// Returns the references of a document.
  ///
  /// - Parameters:
  ///   - bytes: The document, or its beginning.
  ///   - charset: The `charset` of its `Content-Type`. Without one, the document says it, or is
  ///     UTF-8, or ISO 8859-1 if it is not UTF-8.
  ///   - mustEnd: Returns whether to end before the end of the document; called for each 4 KB or so.
  ///     libxml2 compares each attribute of a tag with all those before it, so a hostile document
  ///     takes hours.
  package static func references(
    in bytes: [UInt8], charset: String?, mustEnd: @escaping () -> Bool = { false }
  ) -> References {
    precondition(isReady)
    // Safety: the context, its handlers and `run` live until the end of this function, which is the
    // only one that uses them; libxml2 calls the handlers on this thread.
    guard let context = unsafe htmlNewParserCtxt() else { return References() }
    defer { unsafe htmlFreeParserCtxt(context) }
    let encoding = encoding(of: bytes, charset)
    let isUTF8 = encoding?.lowercased() == "utf-8"
    var text = bytes
    // In the pieces after a byte that is no UTF-8, libxml2 would take all text for ISO 8859-1.
    if isUTF8, String(validating: bytes, as: UTF8.self) == nil {
      text = Array(String(decoding: bytes, as: UTF8.self).utf8)
    }
    // It takes a NUL for the end. In UTF-16 and UTF-32, half of the first `<` is one.
    if isUTF8 || !isWide(bytes), text.contains(0) { text = text.map { $0 == 0 ? 0x20 : $0 } }
    let run = unsafe ParserRun(context, text, mustEnd)
    let pointer = unsafe Unmanaged.passUnretained(run).toOpaque()
    unsafe context.pointee.userData = pointer
    unsafe context.pointee.sax.pointee = handlers
    let options =
      HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue
      | HTML_PARSE_NONET.rawValue
    let read: xmlInputReadCallback = { run, target, room in
      guard let run = unsafe ParserRun.from(run), let target = unsafe target else { return -1 }
      // Safety: libxml2 passes room for so many bytes.
      return unsafe run.read(
        UnsafeMutableRawBufferPointer(start: target, count: Int(max(0, room))))
    }
    let document = unsafe htmlCtxtReadIO(
      context, read, nil, pointer, nil, encoding, Int32(options))
    if let document = unsafe document { unsafe xmlFreeDoc(document) }
    return withExtendedLifetime(run) { run.references }
  }

  /// Returns whether a document has characters of two or four bytes.
  private static func isWide(_ bytes: [UInt8]) -> Bool {
    bytes.prefix(4).contains(0) || bytes.starts(with: [0xFE, 0xFF])
      || bytes.starts(with: [0xFF, 0xFE])
  }

  /// Returns the name of the encoding for libxml2; `nil` if it has to look into the document.
  private static func encoding(of bytes: [UInt8], _ charset: String?) -> String? {
    if let charset {
      if let handler = unsafe xmlFindCharEncodingHandler(charset) {
        unsafe xmlCharEncCloseFunc(handler)
        return charset
      }
    }
    // ISO 2022 is ASCII with escapes.
    let isUTF8 = String(validating: bytes, as: UTF8.self) != nil && !bytes.contains(0x1B)
    return isUTF8 ? "UTF-8" : nil
  }

  private static var handlers: xmlSAXHandler {
    var handlers = unsafe xmlSAXHandler()
    unsafe handlers.startElement = { run, name, attributes in
      guard let run = unsafe ParserRun.from(run), let name = unsafe text(name) else { return }
      var values: [String: String] = [:]
      if var next = unsafe attributes {
        while let name = unsafe text(next.pointee) {
          let value = unsafe text(next.successor().pointee)
          if values[name] == nil { values[name] = value ?? "" }
          unsafe next += 2
        }
      }
      run.start(name, values)
    }
    unsafe handlers.endElement = { run, name in
      guard let run = unsafe ParserRun.from(run), let name = unsafe text(name) else { return }
      run.end(name)
    }
    unsafe handlers.characters = characters
    unsafe handlers.cdataBlock = characters
    return unsafe handlers
  }
}

private let characters: charactersSAXFunc = { run, start, count in
  guard let run = unsafe ParserRun.from(run), run.isInStyle, let start = unsafe start
  else { return }
  // Safety: libxml2 passes `count` bytes that stay during the call.
  unsafe run.style += Array(UnsafeBufferPointer(start: start, count: Int(count)))
}

/// Returns the copy of a text of libxml2; `nil` for no text.
private func text(_ start: UnsafePointer<xmlChar>?) -> String? {
  // Safety: the texts of libxml2 end with a zero and live during the call.
  unsafe start.map { unsafe String(cString: $0) }
}

@safe
private final class ParserRun {
  private let context: htmlParserCtxtPtr
  private let elements = ElementReader()
  private let bytes: [UInt8]
  private var position = 0
  private let mustEnd: () -> Bool
  var references: References { elements.references }
  /// The text of the `style` element that is open.
  var style: [UInt8] = []
  private(set) var isInStyle = false

  init(_ context: htmlParserCtxtPtr, _ bytes: [UInt8], _ mustEnd: @escaping () -> Bool) {
    unsafe self.context = context
    self.bytes = bytes
    self.mustEnd = mustEnd
  }

  static func from(_ pointer: UnsafeMutableRawPointer?) -> ParserRun? {
    unsafe pointer.map { unsafe Unmanaged<ParserRun>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Copies the next bytes of the document.
  ///
  /// - Returns: their number; 0 at the end.
  func read(_ target: UnsafeMutableRawBufferPointer) -> Int32 {
    if position < bytes.count, mustEnd() {
      position = bytes.count
      elements.references.cut = "it takes too long to read"
    }
    let count = min(target.count, bytes.count - position)
    // Safety: the room is for more bytes than are copied.
    unsafe target.copyBytes(from: bytes[position..<(position + count)])
    position += count
    return Int32(count)
  }

  func start(_ name: String, _ values: [String: String]) {
    // Safety: the context lives as long as the parser runs.
    let depth = LinkExtractor.maximumDepth
    if unsafe context.pointee.nameNr > depth {
      elements.references.cut = "it has more than \(depth) elements within one another"
      unsafe xmlStopParser(context)
    }
    isInStyle = name == "style"
    elements.read(name, values)
  }

  func end(_ name: String) {
    guard isInStyle, name == "style" else { return }
    isInStyle = false
    elements.references.add(style: style)
    style = []
  }
}
