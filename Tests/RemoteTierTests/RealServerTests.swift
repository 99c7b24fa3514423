import CacheFormat
import CurlHTTP
import Foundation
import HTTPSemantics
import HTTPTransports
import NginxOrigin
import Testing

@testable import RemoteTier

/// The servers that Debian and PyPI have, each as it is set up in Docs/Sharing.md.
@Suite(.timeLimit(.minutes(5)))
struct RealServerTests {
  @Test(
    "nginx with DAV and TLS, and a client certificate",
    .enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
  func nginx() async throws {
    let origin = try await NginxOrigin(
      """
      server {
        listen PORT0 ssl; ssl_certificate FOLDER/good.pem; ssl_certificate_key FOLDER/good.key;
        ssl_client_certificate FOLDER/ca.pem; ssl_verify_client on;
        location /team/ {
          root FOLDER/site; dav_methods PUT DELETE; create_full_put_path on;
          client_max_body_size 256m;
        }
        location /small/ {
          root FOLDER/site; dav_methods PUT; create_full_put_path on; client_max_body_size 1m;
        }
        location /reading/ { root FOLDER/site; limit_except GET { deny all; } }
      }
      """, in: Certificates.make())
    var setup = NetworkSetup(proxy: .none)
    setup.certificateAuthoritiesFile = "\(origin.folder.path)/ca.pem"
    setup.clientCertificate = ClientCertificate(
      certificateFile: "\(origin.folder.path)/client.pem",
      keyFile: "\(origin.folder.path)/client.key")
    try await exercise(origin.address("/team/"), setup)
    try await limits(origin.address("/small/"), setup)
    try await readOnly(origin.address("/reading/"), setup)
  }

  @Test(
    "nginx as Docs/Sharing.md sets it up",
    .enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
  func documented() async throws {
    let guide = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Docs/Sharing.md")
    let text = try String(contentsOf: guide, encoding: .utf8)
    let start = try #require(text.range(of: "    server {\n"))
    let end = try #require(text.range(of: "\n    }\n", range: start.upperBound..<text.endIndex))
    var block = String(text[start.lowerBound..<end.upperBound])
    for (known, ours) in [
      ("listen 443", "listen PORT0"), ("/etc/ssl/cache.pem", "FOLDER/good.pem"),
      ("/etc/ssl/cache.key", "FOLDER/good.key"), ("/srv/offlinecache", "FOLDER/site"),
      ("/etc/nginx/cache.users", "FOLDER/users"),
    ] {
      #expect(block.contains(known))
      block = block.replacingOccurrences(of: known, with: ours)
    }
    let folder = try await Certificates.make()
    try Data("team:{PLAIN}word\n".utf8).write(to: folder.url.appending(path: "users"))
    let origin = try await NginxOrigin(block, in: folder)
    var setup = NetworkSetup(proxy: .none)
    setup.certificateAuthoritiesFile = "\(origin.folder.path)/ca.pem"
    try await exercise(
      origin.address("/team/"), setup, .basic(user: "team", password: "word"))
    let stranger = try makeMachine(
      origin.address("/team/"), setup, .basic(user: "team", password: "other"))
    #expect(await stranger.lookUp("k") == .failure(.refused))
  }

  @Test(
    "Apache with mod_dav, which wants folders first",
    .enabled(if: StorageServer.Kind.apache.isInstalled, "apache2 is not installed"))
  func apache() async throws {
    let server = try await StorageServer(.apache)
    try await exercise("\(server.base)/team", NetworkSetup(proxy: .none))
  }

  @Test(
    "lighttpd with mod_webdav",
    .enabled(if: StorageServer.Kind.lighttpd.isInstalled, "lighttpd-mod-webdav is not installed"))
  func lighttpd() async throws {
    let server = try await StorageServer(.lighttpd)
    try await exercise("\(server.base)/team/", NetworkSetup(proxy: .none))
  }

  @Test(
    "S3, as the emulator moto has it",
    .enabled(if: StorageServer.Kind.moto.isInstalled, "moto[server] of PyPI is not installed"))
  func s3() async throws {
    let server = try await StorageServer(.moto)
    let transport = try CurlTransport(NetworkSetup(proxy: .none))
    let credentials = S3Credentials(region: "us-east-1", accessKey: "key", secretKey: "secret")
    var request = HTTPRequest(
      method: HTTPMethod(rawValue: "PUT"), url: try NormalizedURL("\(server.base)/bucket"))
    credentials.sign(
      &request, contentDigest: ObjectName.body([]).digits,
      at: Timestamp(nanoseconds: TestClock().now()))
    #expect(try await transport.send(request).head.status == 200)
    let access = RemoteServer.Access.s3(credentials)
    // The emulator answers 500 if an object is replaced while it reads it.
    try await exercise(
      "\(server.base)/bucket/team/", NetworkSetup(proxy: .none), access, mayMiss: .serverError)
    // The bucket in the host.
    let (host, port) = ("bucket.s3.amazonaws.com", try #require(URL(string: server.base)?.port))
    var setup = NetworkSetup(proxy: .none)
    setup.resolves = ["\(host):\(port):127.0.0.1"]
    try await exercise("http://\(host):\(port)/host/", setup, access, mayMiss: .serverError)
    let machine = try Machine(
      transport, bases: ["\(server.base)/no-such-bucket/"], access: access)
    await machine.offer("k", [1])
    #expect(machine.tier.statistics.offersStored == 0)
    #expect(await machine.lookUp("k") == .failure(.absent))
  }

  private func makeMachine(
    _ base: String, _ setup: NetworkSetup, _ access: RemoteServer.Access = .open
  ) throws -> Machine {
    try Machine(try CurlTransport(setup), bases: [base], access: access) { options in
      // A machine that runs other tests, too, is slower than a cache server should be.
      options.limits.connect = .seconds(10)
      options.limits.firstByte = .seconds(10)
      options.limits.whole = .seconds(20)
    }
  }

  /// Shares responses of several lengths among three machines, changes and purges them.
  private func exercise(
    _ base: String, _ setup: NetworkSetup, _ access: RemoteServer.Access = .open,
    mayMiss miss: RemoteReason? = nil
  ) async throws {
    let machines = try (0..<3).map { _ in try makeMachine(base, setup, access) }
    var random = SplitMix64(seed: 7)
    for length in [0, 1, 4096, 4097, 9000, 3_000_000] {
      let key = ByteString("GET http://a.test/\(length)")
      let body = random.bytes(length)
      await machines[0].offer(key, body, tags: ["t"], received: 1)
      #expect(await machines[1].lookUp(key) == .success(body), "\(base) \(length)")
      await machines[1].offer(key, body, tags: ["t"], received: 2)
      #expect(await machines[2].lookUp(key) == .success(body), "\(base) \(length)")
    }
    for machine in machines { #expect(machine.tier.statistics.offersFailed == [:], "\(base)") }
    try await writers(machines, mayMiss: miss)
    try await machines[2].tier.purge(.tag("t"))
    machines[0].time.advance(bySeconds: 6)
    #expect(await machines[0].lookUp("GET http://a.test/4097") == .failure(.purged))
    for machine in machines {
      // An offer begins with a look-up of the document, which may fail beside the other writer.
      #expect(machine.tier.statistics.offersFailed.filter { $0.key != miss } == [:], "\(base)")
      #expect(machine.notices.all == [])
    }
  }

  /// Lets two machines write one document while a third one reads it: no torn document is seen.
  private func writers(_ machines: [Machine], mayMiss miss: RemoteReason?) async throws {
    let key: ByteString = "GET http://a.test/torn"
    var random = SplitMix64(seed: 8)
    let bodies = (0..<2).map { _ in random.bytes(900) }
    await machines[0].offer(key, bodies[0])
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<2 {
        group.addTask {
          for time in 1...20 {
            await machines[number].offer(key, bodies[number], received: Int64(time))
          }
        }
      }
      group.addTask {
        for _ in 0..<60 {
          switch await machines[2].lookUp(key) {
          case .success(let bytes): #expect(bodies.contains(bytes))
          case .failure(let reason): #expect(reason == miss)
          }
        }
      }
    }
  }

  /// A server that takes 1 MiB refuses more, and goes on.
  private func limits(_ base: String, _ setup: NetworkSetup) async throws {
    let machine = try makeMachine(base, setup)
    await machine.offer("large", Array(repeating: 1, count: 2 << 20))
    await machine.offer("small", [1])
    #expect(machine.tier.statistics.offersFailed == [.full: 1])
    #expect(await machine.lookUp("small") == .success([1]))
    #expect(await machine.lookUp("large") == .failure(.absent))
  }

  /// A server that may only be read switches uploads off.
  private func readOnly(_ base: String, _ setup: NetworkSetup) async throws {
    let machine = try makeMachine(base, setup)
    await machine.offer("k", [1])
    #expect(machine.notices.all.count == 1)
    #expect(await machine.lookUp("k") == .failure(.absent))
  }
}
