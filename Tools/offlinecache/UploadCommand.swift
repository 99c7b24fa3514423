import CacheClient
import CommandLineTools
import CurlHTTP
import HTTPSemantics

enum UploadCommand: ToolCommand {
  private static let url = Parameter("url", .address, help: "The URL to send to; http or https")
  private static let file = Option(
    "file", short: "f", .pathOrDash.named("PATH"), help: "Send a file unchanged")
  private static let form = Option(
    "form", short: "F", .formPart, repeats: true,
    help: "Send a form with files (multipart/form-data); @ precedes the path of a file, "
      + "';type=image/png' follows it if the name does not show the type")
  private static let encoded = Option(
    "urlencode", .formField, repeats: true,
    help: "Send a form of names and values (application/x-www-form-urlencoded)")
  private static let method = Option(
    "method", short: "X",
    ValueKind("METHOD", expected: "the name of a method such as POST, PUT or PATCH") { text in
      HTTPField.isToken(text) && text != "CONNECT" ? text : nil
    }, defaultText: "POST, or PUT with --file", help: "The method")
  private static let progress = Flag(
    "progress", help: "Show the progress even if standard error is not a terminal")
  private static let quiet = Flag("quiet", short: "q", help: "Print errors only")

  static let declaration = Command(
    "upload",
    summary: "Sends a file or a form, and removes stored responses that this makes invalid",
    discussion: [
      "Files are read while they are sent; their length is sent first. If a file changes "
        + "meanwhile, the request fails, and the server does not get all of it. Options of one "
        + "kind keep their order, and names may be repeated.",
      "The answer gets a line on standard output: 'sent', the HTTP status, the length and the URL; "
        + "-o writes its body to a file, whatever the status is. A 4xx counts as not found, any "
        + "other status than 2xx as a failure; without -o the beginning of the body goes to "
        + "standard error. Redirects are followed.",
    ],
    parameters: [url],
    options: [file, form, encoded, method, HeaderOption.option, GetCommand.output, progress, quiet]
      + NetworkOptions.allForTransfers + [FingerprintOption.option],
    examples: [
      .init(
        "offlinecache upload https://example.org/backup.tar --file backup.tar",
        "Uploads a file with PUT"),
      .init(
        "offlinecache upload https://example.org/photos -F title=Sunset -F photo=@sunset.jpg",
        "Fills in a form with a file"),
      .init(
        "offlinecache upload https://example.org/search --urlencode q='fish & chips' -o -",
        "Sends a form and prints the answer"),
    ])

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    let body = try content(invocation)
    let address = invocation.value(of: url)
    let target = try NormalizedURL(address)
    var request = HTTPRequest(
      method: HTTPMethod(
        rawValue: invocation[method] ?? (invocation[file] == nil ? "POST" : "PUT")),
      url: target)
    if let type = body.contentType { request.fields.append(HTTPField("Content-Type", type)) }
    for field in invocation.all(HeaderOption.option) {
      if field.isNamed("Content-Length") || field.isNamed("Transfer-Encoding") {
        throw invocation.usageError(
          "\(field.name) cannot be given, as it follows from what is sent", remedy: "leave it out")
      }
      if field.isNamed("Content-Type") { request.fields.removeAll(named: "Content-Type") }
      request.fields.append(field)
    }
    let setup = try NetworkOptions.setup(invocation)
    let login = try LoginOption.read(invocation, for: [address])
    var options = ClientOptions(
      transport: NetworkOptions.transportOptions(invocation), credentials: login?.provider)
    options.fingerprintKey = try FingerprintOption.read(invocation)
    return try await withStore(invocation, .fill) { store in
      let client = CachingClient(
        store: store, transport: try CurlTransport(setup), options: options)
      let isShown = !invocation[quiet] && (invocation[progress] || Terminal.isTerminal(2))
      let run = UploadRun(
        client: client, request: request, body: body, output: invocation[GetCommand.output],
        isQuiet: invocation[quiet], progress: ProgressLine(total: 1, isEnabled: isShown))
      return try await run.run()
    }
  }

  private static func noInput(_ invocation: Invocation) -> UsageError {
    invocation.usageError(
      "standard input cannot be sent, as its length is not known",
      remedy: "write it to a file, and send that")
  }

  private static func content(_ invocation: Invocation) throws -> UploadBody {
    let parts = invocation.all(form)
    let fields = invocation.all(encoded)
    switch (invocation[file], parts.isEmpty, fields.isEmpty) {
    case (let path?, true, true):
      if path == "-" { throw noInput(invocation) }
      return try UploadBody(file: try invocation.text(of: path))
    case (nil, false, true):
      var form = MultipartForm()
      for part in parts {
        switch part {
        case .value(let name, let value): form.add(name, value)
        case .file(_, "-", _): throw noInput(invocation)
        case .file(let name, let path, let type): form.add(name, file: path, contentType: type)
        }
      }
      return try form.body()
    case (nil, true, false):
      return URLEncodedForm(fields).body
    case (nil, true, true):
      throw invocation.usageError(
        "there is nothing to send", remedy: "give --file, --form or --urlencode")
    default:
      throw invocation.usageError(
        "--file, --form and --urlencode exclude each other", remedy: "choose one of them")
    }
  }
}

enum FormPart: Sendable {
  case value(String, String)
  case file(String, path: String, type: String?)
}

extension ValueKind where Value == FormPart {
  /// A name, `=`, and either a value or `@` and a path, optionally with `;type=` and a media type.
  static var formPart: ValueKind {
    ValueKind("NAME=VALUE|NAME=@FILE") { argument throws(InvalidValue) in
      guard let (name, value) = argument.text.flatMap({ pair($0) }), value != "@" else {
        throw InvalidValue.unnamed("give a form part such as title=Sunset or photo=@sunset.jpg")
      }
      guard value.hasPrefix("@") else { return .value(name, value) }
      let (path, type) = typed(value.dropFirst())
      if let type, !isMediaType(type) {
        throw InvalidValue(
          expected: "a media type such as image/png behind ';type=', and nothing else")
      }
      return .file(name, path: path, type: type)
    }
  }

  /// Returns whether a text is a media type, with or without parameters (RFC 9110, section 8.3.1).
  private static func isMediaType(_ text: String) -> Bool {
    let parts = text.split(separator: ";").map { $0.drop { $0 == " " } }
    let names = parts.first?.split(separator: "/", omittingEmptySubsequences: false) ?? []
    return names.count == 2 && names.allSatisfy { HTTPField.isToken(String($0)) }
      && HTTPField("Content-Type", text).isValid
      && !parts.contains { $0.lowercased().hasPrefix("filename=") }
  }

  /// Splits a path from the media type behind it, at the last `;type=`. For a file whose own name
  /// contains `;type=`, a type has to be given.
  private static func typed(_ text: Substring) -> (path: String, type: String?) {
    let mark = ";type="
    let starts = text.indices.reversed().first { text[$0...].hasPrefix(mark) }
    guard let start = starts, start > text.startIndex else {
      return (String(text), nil)
    }
    return (String(text[..<start]), String(text[start...].dropFirst(mark.count)))
  }
}

extension ValueKind where Value == URLEncodedForm.Field {
  static var formField: ValueKind {
    ValueKind("NAME=VALUE") { argument throws(InvalidValue) in
      guard let (name, value) = argument.text.flatMap({ pair($0) }) else {
        throw InvalidValue.unnamed("give a name and a value such as q=fish")
      }
      return URLEncodedForm.Field(name, value)
    }
  }
}

extension InvalidValue {
  /// The error for a value of a form without a name. The value is not repeated, as it may be a
  /// password.
  fileprivate static func unnamed(_ remedy: String) -> InvalidValue {
    InvalidValue(problem: "a value of the form has no name, or is not UTF-8", remedy: remedy)
  }
}

/// Splits a text at its first `=`.
private func pair(_ text: String) -> (String, String)? {
  guard let end = text.firstIndex(of: "="), end > text.startIndex else { return nil }
  return (String(text[..<end]), String(text[text.index(after: end)...]))
}
