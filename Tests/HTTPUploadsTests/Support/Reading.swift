import HTTPTransports
import Testing

@testable import HTTPUploads

extension RequestBody {
  /// Reads a stream to its end, as a transport does.
  func readAll() async throws -> [UInt8] {
    guard case .stream(let length, let source) = self else { return [] }
    var bytes: [UInt8] = []
    while let piece = try await source.next() { bytes += piece }
    #expect(UInt64(bytes.count) == length)
    return bytes
  }
}

extension UploadBody {
  /// Reads the body as text.
  func readText() async throws -> String {
    String(decoding: try await requestBody().readAll(), as: UTF8.self)
  }
}
