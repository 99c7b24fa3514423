/// Waits for the end of the task.
package func untilCancelled() async {
  let never = AsyncStream.makeStream(of: Void.self)
  for await _ in never.stream {}
  // The stream would end with its continuation.
  never.continuation.finish()
}

extension LoopbackOrigin {
  /// Makes a server that answers with the body that it got, read by the framing that the request
  /// states.
  package static func echo() throws -> LoopbackOrigin {
    try LoopbackOrigin { request, connection in
      let length = request.value(of: "Content-Length").flatMap { Int($0) }
      let isChunked = request.value(of: "Transfer-Encoding") == "chunked"
      guard length == nil || !isChunked else { return connection.close() }
      let body = isChunked ? connection.readChunked() : connection.read(length ?? 0)
      if let body { connection.answer(body) } else { connection.close() }
    }
  }

  /// Sends a body to this server, and reads the answer to its end.
  package func send(
    _ body: RequestBody?, by kind: TransportKind = .curl, method: String = "POST",
    fields: HTTPFields = [], options: TransportOptions = patient
  ) async throws -> (TransportResponse, [UInt8]) {
    let response = try await kind.make().send(
      HTTPRequest(method: HTTPMethod(rawValue: method), url: address(), fields: fields), body: body,
      options: options
    ) { _ in }
    return (response, try await response.body.readAll())
  }
}
