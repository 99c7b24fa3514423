import Foundation
import HTTPSemantics
import HTTPTransports
import Testing

@testable import URLSessionHTTP

@Suite struct SessionHeadTests {
  private func head(
    _ fields: [String: String], status: Int = 200, request: HTTPFields = [],
    method: HTTPMethod = .get
  ) throws -> SessionHead {
    let url = try #require(URL(string: "http://h/"))
    let response = try #require(
      HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
    let request = HTTPRequest(method: method, url: try NormalizedURL("http://h/"), fields: request)
    return try SessionHead(response, to: request)
  }

  @Test func `a response without a coding stays as it is`() throws {
    let fields = ["Content-Length": "5", "Etag": "\"a\"", "Accept-Ranges": "bytes"]
    let head = try head(fields)
    #expect(Set(head.fields) == Set(fields.map { HTTPField($0, $1) }))
    #expect(head.bodyBytes == 5)
  }

  @Test(arguments: ["gzip", "x-gzip", "deflate", "br", "GZIP", "deflate, gzip"])
  func `a response that is decoded says nothing of the coded bytes`(coding: String) throws {
    let head = try head([
      "Content-Encoding": coding, "Content-Length": "5", "ETag": "\"a\"", "Vary": "Accept-Encoding",
      "Content-Digest": "x", "Repr-Digest": "x", "Accept-Ranges": "bytes",
    ])
    #expect(
      Set(head.fields.map { "\($0.name.lowercased()): \($0.text)" })
        == ["etag: W/\"a\"", "vary: Accept-Encoding"])
    #expect(head.bodyBytes == nil)
  }

  @Test(arguments: ["zstd", "compress", "gzip, compress", "x"])
  func `a coding that not every platform decodes is left`(coding: String) throws {
    let head = try head(["Content-Encoding": coding, "Content-Length": "5", "ETag": "\"a\""])
    #expect(head.fields.first(named: "Content-Encoding")?.text == coding)
    #expect(head.fields.first(named: "ETag")?.text == "\"a\"")
    #expect(head.bodyBytes == 5)
  }

  @Test func `a weak tag stays weak`() throws {
    let head = try head(["Content-Encoding": "gzip", "ETag": "W/\"a\""])
    #expect(head.fields.first(named: "ETag")?.text == "W/\"a\"")
  }

  @Test func `a part in a coding is refused`() throws {
    let error = #expect(throws: TransportError.self) {
      try head(["Content-Encoding": "gzip", "Content-Range": "bytes 0-1/5"], status: 206)
    }
    #expect(error?.code == .protocolViolation)
    _ = try head(["Content-Range": "bytes 0-1/5"], status: 206)
  }

  @Test(arguments: [
    ("W/\"a\"", "W/\"a\""), ("\"b\", W/\"a\"", "W/\"a\""), ("\"a\"", "\"a\""),
    ("W/\"a\", \"a\"", "\"a\""), ("W/\"b\"", "\"a\""), ("*", "\"a\""),
  ])
  func `a 304 has the tag under which the response was returned`(
    asked: String, tag: String
  ) throws {
    let head = try head(
      ["ETag": "\"a\""], status: 304, request: [HTTPField("If-None-Match", asked)])
    #expect(head.fields.first(named: "ETag")?.text == tag)
  }

  @Test func `a response without a body has no length to wait for`() throws {
    #expect(try head(["Content-Length": "5"], method: .head).bodyBytes == nil)
    #expect(try head(["Content-Length": "5"], status: 304).bodyBytes == nil)
  }
}
