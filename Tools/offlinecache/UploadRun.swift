import CacheClient
import CacheFormat
import CommandLineTools
import HTTPSemantics
import HTTPTransports

/// Sends one request with its content, and reports the result.
struct UploadRun: Sendable {
  /// The bytes of an error response that are printed at most.
  private static let toldBytes = 2000

  let client: CachingClient
  let request: HTTPRequest
  let body: UploadBody
  let output: Argument?
  let isQuiet: Bool
  let progress: ProgressLine

  /// Sends the request and returns the exit status.
  ///
  /// - Throws: ``OutputError``; ``Interrupted``.
  func run() async throws -> ExitStatus {
    let result = await Interruption.cancelling { try await send() }
    progress.finish()
    try Interruption.check()
    return try result.get()
  }

  private func send() async throws -> ExitStatus {
    let content = body.requestBody { [progress] sent in
      progress.set(done: 0, total: 1, bytes: sent.sent, totalBytes: sent.total)
    }
    // Before anything is sent: a wrong name must not cost the answer.
    let file = try output.map { try OutputFile($0) }
    let response = try await client.fetch(request, body: content)
    let status = response.head.status
    let isGood = (200...299).contains(status)
    let verdict: ExitStatus = isGood ? .success : Refusal.isNotFound(status) ? .notFound : .failure
    if !isGood {
      printMessage(
        "offlinecache: \(response.url): "
          + Refusal.text(
            status, Refusal.location(response.head), remedy: "check the URL and the content"))
      if output == nil {
        if !isQuiet { await tell(response) }
        response.body.cancel()
        return verdict
      }
    }
    var length: UInt64 = 0
    while let piece = try await response.body.next() {
      try Interruption.check()
      try file?.write(piece)
      length += UInt64(piece.count)
    }
    try file?.finish()
    if isGood, !isQuiet, output != "-" {
      try Output.printLines(["sent    \(status)  \(ByteCount(length))  \(response.url)"])
    }
    return verdict
  }

  /// Prints the beginning of an error response. Servers describe there what is wrong.
  private func tell(_ response: ClientResponse) async {
    let type = response.head.fields.first(named: "Content-Type")?.text.lowercased() ?? ""
    guard type.hasPrefix("text/plain") || type.contains("json") else { return }
    let timer = Task {
      try await Task.sleep(for: .seconds(3))
      response.body.cancel()
    }
    defer { timer.cancel() }
    var text: [UInt8] = []
    // An error while reading ends the text; the status has been printed already.
    while text.count < Self.toldBytes, let piece = try? await response.body.next() { text += piece }
    let lines = String(decoding: text.prefix(Self.toldBytes), as: UTF8.self)
      .split(whereSeparator: \.isNewline)
    for line in lines { printMessage("  \(terminalSafe(String(line)))") }
  }
}
