import CacheSystem
import Foundation
import HTTPSemantics
import TestSupport
import Testing
import ToolTesting

@testable import CachingProxy

/// A server whose clients use TLS. The tests with clients are in OfflinecacheToolTests.
@Suite("A server with TLS") struct EncryptedServerTests {
  @Test(arguments: [("", ""), ("x", "x"), ("-----BEGIN CERTIFICATE-----\nAAAA\n", "")])
  func `does not start with a certificate that cannot be used`(certificate: String, key: String) {
    var options = ProxyOptions(listen: ListenAddress(host: "127.0.0.1", port: 0))
    options.origin = try? NormalizedURL("http://origin.test")
    options.certificate = ServerCertificate(
      certificates: Array(certificate.utf8), key: Array(key.utf8))
    let server = ProxyServer(
      backend: ScriptedBackend(), options: options, pages: nil, observers: [], clock: TestClock())
    do throws(ProxyError) {
      _ = try server.start()
      Issue.record("it has started")
    } catch {
      #expect(error.code == .certificate)
      #expect(error.description.contains("--tls-cert"))
    }
  }

  private static let certificate = ServerCertificate(
    certificates: Array(certificateText.utf8), key: Array(keyText.utf8))

  @Test(.timeLimit(.minutes(1)))
  func `closes clients that do not speak TLS, or do not go on`() async throws {
    try await withTunnels(
      to: 1, idleSeconds: 1,
      { options in
        options.origin = try? NormalizedURL("http://origin.test")
        options.certificate = Self.certificate
      }
    ) { port, server in
      try await onThread {
        let silent = try RawClient(port: port)
        let slow = try RawClient(port: port)
        slow.send([0x16, 0x03])
        let plain = try RawClient(port: port)
        plain.send("GET / HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
        #expect(!plain.read().text.contains("ok"))
        for client in [silent, slow] { #expect(client.read().end != .open) }
      }
      // They are not only closed, but released.
      if case .running(let running) = server.phase.withLock({ $0 }) {
        await eventually { running.core.connections.isBelow(1) }
      }
      #expect(throws: Never.self) { try server.replaceCertificate(Self.certificate) }
      let bad = ServerCertificate(certificates: Self.certificate.certificates, key: [])
      #expect(throws: ProxyError.self) { try server.replaceCertificate(bad) }
    }
  }

  private static let hasCurl = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

  private func withEncryption<Result: Sendable>(
    _ backend: ScriptedBackend, observers: [any ProxyObserver] = [], idleSeconds: Int = 75,
    _ body: (UInt16) async throws -> Result
  ) async throws -> Result {
    var options = ProxyOptions(
      listen: ListenAddress(host: "127.0.0.1", port: 0), idleSeconds: idleSeconds)
    options.origin = try NormalizedURL("http://origin.test")
    options.certificate = Self.certificate
    let server = ProxyServer(
      backend: backend, options: options, pages: nil, observers: observers, clock: TestClock())
    return try await run(server) { port, _ in try await body(port) }
  }

  /// Runs curl on a server with TLS; returns what it prints.
  private func curl(_ backend: ScriptedBackend, _ arguments: [String] = []) async throws -> String {
    try await withEncryption(backend) { port in
      try await onThread {
        try Child.run(
          "/usr/bin/curl",
          ["-s", "-i", "-k", "-m", "60"] + arguments + ["https://localhost:\(port)/"]
        ).output
      }
    }
  }

  @Test(
    .enabled(if: Self.hasCurl, "install curl"), .timeLimit(.minutes(5)),
    arguments: [nil, 0, 100, 10_000_000] as [Int?])
  func `refuses an upload that does not end`(length: Int?) async throws {
    let body = String(repeating: "x", count: length ?? 0)
    let backend = ScriptedBackend(answering: { _, _, _ in
      .stream(Pieces([body]), length: UInt64(body.utf8.count), status: 413)
    })
    // Without a length, the proxy itself refuses the name.
    let text = try await curl(
      backend, ["-H", "Expect:", "-T", "/dev/zero"] + (length == nil ? ["-H", "Host: other"] : []))
    #expect(text.hasPrefix(length == nil ? "HTTP/1.1 421 " : "HTTP/1.1 413 "))
    #expect(length == nil || text.hasSuffix("\r\n\r\n" + body))
  }

  @Test(.timeLimit(.minutes(3)))
  func `sends a refusal to a client that reads only after its upload`() async throws {
    let begun = Monitor(false)
    let (pieces, piece) = (16, String(repeating: "x", count: 1 << 20))
    let backend = ScriptedBackend(answering: { _, _, _ in
      .stream(
        Pieces { index in
          // The first one has been sent.
          if index == 1 { begun.change { $0 = true } }
          return index < pieces ? Array(piece.utf8) : nil
        }, length: UInt64(pieces * piece.utf8.count), status: 413)
    })
    let (isSent, reading) = try await withEncryption(backend, idleSeconds: 10) { port in
      try await onThread {
        let client = try EncryptedClient(port: port)
        var left = 20_000_000
        client.send(
          "POST / HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Length: \(left)\r\n\r\n")
        while !begun.change({ $0 }) {
          client.send([1])
          left -= 1
          client.waitForEnd(50)
        }
        return (client.send([UInt8](repeating: 1, count: left)), client.read())
      }
    }
    #expect(isSent && reading.status == 413 && reading.end == .closed)
    #expect(reading.body.utf8.count == pieces * piece.utf8.count)
  }

  @Test(.timeLimit(.minutes(3)))
  func `sends no body of a refusal whose head a client has not let through`() async throws {
    let recorder = Recorder()
    let reading = try await withEncryption(
      ScriptedBackend(), observers: [recorder], idleSeconds: 1
    ) { port in
      try await onThread {
        let client = try EncryptedClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: other\r\nContent-Length: 90000000\r\n\r\nabc")
        // The time in which the refusal waits, and the head, and half of the body's.
        client.waitForEnd(3000)
        client.send("def")
        return client.read()
      }
    }
    // On a slow machine, the client has come in time.
    #expect(reading.bytes.isEmpty || reading.status == 421)
    #expect(try await recorder.records(count: 1)[0].isComplete == !reading.bytes.isEmpty)
  }

  @Test(.enabled(if: Self.hasCurl, "install curl"))
  func `passes interim answers on`() async throws {
    let hinting = ScriptedBackend(answering: { _, _, onInterim in
      for link in ["</a>", "</b>"] {
        onInterim(HTTPResponseHead(status: 103, fields: [HTTPField("Link", link)]))
      }
      return .text("ok")
    })
    let text = try await curl(hinting)
    let heads = text.components(separatedBy: "\r\n\r\n")
    #expect(heads.count == 4)
    #expect(heads.prefix(2).allSatisfy { $0.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </") })
    #expect(heads.last == "ok")
  }
}

/// A certificate for the name localhost, which nobody trusts.
private let certificateText = """
  -----BEGIN CERTIFICATE-----
  MIIBfzCCASWgAwIBAgIUVNIay1MGyUqJvsVqcJ6pen7ODeUwCgYIKoZIzj0EAwIw
  FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzEzMTAxOVoYDzIxMjYxMDMw
  MTMxMDE5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
  PQMBBwNCAATeaC5lx3h6iHl54Uh8mXp72d9jg6uLC7G9GHhpN/8v1NZqD2SzL9Oi
  sZ0tYDbsorZLDmSHQhKOCqLz+i8Boz9mo1MwUTAdBgNVHQ4EFgQUORFD37mHkgIx
  GgFB14NLVimxOn8wHwYDVR0jBBgwFoAUORFD37mHkgIxGgFB14NLVimxOn8wDwYD
  VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAwP8SGM+zvpIQVhhGARImw
  ayHph5HX+yOzD3PskkwjNwIhAP649dC0z4vBwVtKSQGpmvOw7uP92VFqQzo+B5uj
  p8cz
  -----END CERTIFICATE-----
  """

private let keyText = """
  -----BEGIN PRIVATE KEY-----
  MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgaBfcbKm9mKmCl3YS
  pvd+6LyI+yhbXzSJuViUqLf9QkOhRANCAATeaC5lx3h6iHl54Uh8mXp72d9jg6uL
  C7G9GHhpN/8v1NZqD2SzL9OisZ0tYDbsorZLDmSHQhKOCqLz+i8Boz9m
  -----END PRIVATE KEY-----
  """
