import CacheFormat
import HTTPSemantics

/// A form that is sent as `multipart/form-data` (RFC 7578), with values and files of any length.
///
/// Names and file names are sent in UTF-8, with `"`, CR and LF as `%22`, `%0D` and `%0A`, as
/// browsers do (WHATWG HTML, section 4.10.21.8). Values are sent as they are.
///
/// The boundary has 192 random bits, made together with the body, when the content is fixed. So
/// nobody can predict it, and a terabyte of content contains it with a probability below 2^-150.
public struct MultipartForm: Sendable {
  private enum Content: Sendable {
    case bytes([UInt8])
    case file(String)
  }

  private struct Part: Sendable {
    let name: String
    let fileName: String?
    let contentType: String?
    let content: Content
  }

  private var parts: [Part] = []

  /// Creates a form without parts.
  public init() {}

  /// Appends a value; names may be repeated.
  public mutating func add(_ name: String, _ value: String) {
    add(name, bytes: Array(value.utf8))
  }

  /// Appends bytes; with a file name, a server treats them as a file.
  public mutating func add(
    _ name: String, bytes: [UInt8], fileName: String? = nil, contentType: String? = nil
  ) {
    parts.append(
      Part(name: name, fileName: fileName, contentType: contentType, content: .bytes(bytes)))
  }

  /// Appends a file, which is read while the form is sent.
  ///
  /// - Parameters:
  ///   - name: The name of the field.
  ///   - path: The file.
  ///   - fileName: The name for the server; `nil` for the last component of the path.
  ///   - contentType: The media type; `nil` for that of the file extension, without a charset.
  public mutating func add(
    _ name: String, file path: String, fileName: String? = nil, contentType: String? = nil
  ) {
    let last = path.utf8.split(separator: UInt8(ascii: "/")).last
    let fileName = fileName ?? last.map { String(Substring($0)) } ?? path
    let type = contentType ?? String(MediaTypes.type(ofFile: fileName).prefix { $0 != ";" })
    parts.append(Part(name: name, fileName: fileName, contentType: type, content: .file(path)))
  }

  /// Returns the content of a request, with a new boundary.
  ///
  /// - Throws: ``UploadError`` if a file is missing or cannot be read.
  public func body() throws(UploadError) -> UploadBody {
    let random = (0..<3).map { _ in UInt64.random(in: 0 ... .max) }
    return try body(
      boundary: "OfflineCache-" + random.map { Hexadecimal.string($0) }.joined())
  }

  func body(boundary: String) throws(UploadError) -> UploadBody {
    var segments: [UploadBody.Segment] = []
    // The text between two files is one segment.
    var text: [UInt8] = []
    for part in parts {
      text += Array(try Self.head(part, boundary).utf8)
      switch part.content {
      case .bytes(let bytes): text += bytes
      case .file(let path):
        segments += [.bytes(text), .file(try UploadFile(path))]
        text = []
      }
      text += Array("\r\n".utf8)
    }
    text += Array("--\(boundary)--\r\n".utf8)
    return UploadBody(
      segments + [.bytes(text)], contentType: "multipart/form-data; boundary=\(boundary)")
  }

  private static func head(_ part: Part, _ boundary: String) throws(UploadError) -> String {
    var lines = ["--\(boundary)", "Content-Disposition: form-data; name=\"\(escaped(part.name))\""]
    if let fileName = part.fileName { lines[1] += "; filename=\"\(escaped(fileName))\"" }
    if let type = part.contentType {
      guard type.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        throw UploadError(.mediaType, path: part.name)
      }
      lines.append("Content-Type: \(type)")
    }
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  /// Escapes by scalars, because CR LF is one `Character`.
  private static func escaped(_ text: String) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": escaped.append(contentsOf: "%22".unicodeScalars)
      case "\r": escaped.append(contentsOf: "%0D".unicodeScalars)
      case "\n": escaped.append(contentsOf: "%0A".unicodeScalars)
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }
}
