import CCurl
import CCurlLibrary
import CacheClient
import CacheStore
import CurlHTTP
import Foundation
import HTTPSemantics
import LoopbackOrigin
import TestSupport

/// Measures what a second tier costs: hits in it beside two plain requests by libcurl, hits in the
/// store, and misses beside a server that never answers. nginx is the tier and the origin.
struct RemoteMeasurement {
  private let count: Int
  private let port: UInt16
  private let body: [UInt8]
  private let folder = TemporaryFolder()

  init(count: Int) throws {
    self.count = max(100, count)
    port = try LoopbackListener.unusedPort()
    var random = SplitMix64(seed: 1)
    body = random.bytes(4096)
  }

  func run() async throws {
    let nginx = try start()
    defer {
      nginx.terminate()
      nginx.waitUntilExit()
    }
    try await measure()
  }

  /// Runs outside of the main actor, whose thread would have to be woken for each answer.
  @concurrent private func measure() async throws {
    try await remoteHits()
    try await localHits()
    try await hanging()
  }

  /// Starts nginx, and waits until it answers.
  private func start() throws -> Process {
    let path = folder.path
    let configuration = """
      daemon off; master_process off; pid \(path)/pid; \(geteuid() == 0 ? "user root;" : "")
      events { }
      http {
        access_log off; client_body_temp_path \(path)/body;
        server {
          listen 127.0.0.1:\(port); keepalive_requests 100000000; root \(path);
          location /tier/ { dav_methods PUT; create_full_put_path on; }
          location /page/ { rewrite ^ /4k break; add_header Cache-Control max-age=3600; }
          location /once/ { rewrite ^ /4k break; add_header Cache-Control no-store; }
        }
      }
      """
    try Data(configuration.utf8).write(to: folder.url.appending(path: "conf"))
    try Data(body).write(to: folder.url.appending(path: "4k"))
    let nginx = Process()
    nginx.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    nginx.arguments = ["nginx", "-p", path, "-c", "\(path)/conf", "-e", "\(path)/log"]
    try nginx.run()
    guard let handle = unsafe FetchMeasurement.handle(address("/4k")) else {
      stop(3, "libcurl has no memory")
    }
    while unsafe curl_easy_perform(handle) != CURLE_OK {
      guard nginx.isRunning else { stop(3, "nginx does not start; is it installed?") }
      usleep(10_000)
    }
    return nginx
  }

  /// A machine with a store of its own.
  private struct Machine {
    let client: CachingClient
    let tier: RemoteCache?
    private let folder = TemporaryFolder()

    init(tier base: String?) throws {
      let network = NetworkSetup(proxy: .none)
      var options = ClientOptions()
      if let base {
        options.remote = RemoteCache(
          options: try RemoteCacheOptions(
            servers: [try RemoteServer(base)], secret: Array("a secret of enough bytes".utf8)),
          transport: try CurlTransport(network))
      }
      tier = options.remote
      client = CachingClient(
        store: try Store(at: folder.path), transport: try CurlTransport(network), options: options)
    }

    func fetch(_ url: String) async throws -> [UInt8] {
      try await client.data(for: NormalizedURL(url)).bytes
    }
  }

  private func address(_ path: String) -> String {
    "http://127.0.0.1:\(port)\(path)"
  }

  private func page(_ number: Int, _ folder: String = "page") -> String {
    address("/\(folder)/\(number)")
  }

  private func remoteHits() async throws {
    let (one, two) = (try Machine(tier: address("/tier/")), try Machine(tier: address("/tier/")))
    for number in 0..<count {
      _ = try await one.fetch(page(number))
      if number % 100 == 99 { await one.client.waitForBackground() }
    }
    await one.client.waitForBackground()
    guard let handle = unsafe FetchMeasurement.handle(address("/4k")) else {
      stop(3, "libcurl has no memory")
    }
    var (plain, found): ([UInt64], [UInt64]) = ([], [])
    for number in 0..<count {
      plain.append(
        await time {
          for _ in 0..<2 {
            guard unsafe curl_easy_perform(handle) == CURLE_OK else { stop(1, "libcurl failed") }
          }
        })
      found.append(try await fetch(page(number), two))
    }
    let hits = two.tier?.statistics.hits ?? 0
    guard hits == count else { stop(1, "only \(hits) of \(count) were found in the tier") }
    show("a hit of 4 KB in the tier", found, "two plain GETs by libcurl", plain)
  }

  private func localHits() async throws {
    let (plain, tiered) = (try Machine(tier: nil), try Machine(tier: address("/tier/")))
    for machine in [plain, tiered] { _ = try await machine.fetch(page(0)) }
    try await compare("a hit of 4 KB in the store", tiered, plain) { _ in page(0) }
  }

  private func hanging() async throws {
    let silent = try LoopbackOrigin { (_: OriginRequest, connection: OriginConnection) in
      connection.waitForClose()
    }
    defer { silent.stop() }
    let (plain, tiered) = (try Machine(tier: nil), try Machine(tier: silent.base))
    let whole = try await time {
      for number in 0..<200 { _ = try await tiered.fetch(page(number, "once")) }
    }
    print("200 misses beside a tier that never answers: \(whole / 1_000_000) ms")
    try await compare("a miss beside it", tiered, plain) { page($0, "once") }
  }

  /// Measures the same fetches on two machines in turns.
  private func compare(
    _ name: String, _ tiered: Machine, _ plain: Machine, _ url: (Int) -> String
  ) async throws {
    var times: ([UInt64], [UInt64]) = ([], [])
    for number in 0..<count {
      times.0.append(try await fetch(url(number), plain))
      times.1.append(try await fetch(url(number), tiered))
    }
    show(name, times.1, "without a tier", times.0)
  }

  private func fetch(_ url: String, _ machine: Machine) async throws -> UInt64 {
    var bytes: [UInt8] = []
    let taken = try await time { bytes = try await machine.fetch(url) }
    guard bytes == body else { stop(1, "\(url): wrong bytes") }
    return taken
  }

  private func time(_ work: () async throws -> Void) async rethrows -> UInt64 {
    let start = DispatchTime.now().uptimeNanoseconds
    try await work()
    return DispatchTime.now().uptimeNanoseconds - start
  }

  private func show(_ name: String, _ times: [UInt64], _ base: String, _ others: [UInt64]) {
    func place(_ times: [UInt64], _ percent: Int) -> Double {
      (Double(times.sorted()[times.count * percent / 100]) / 100).rounded() / 10
    }
    let ratio = (place(times, 50) / place(others, 50) * 100).rounded() / 100
    print(
      "\(name): median \(place(times, 50)) us, p99 \(place(times, 99)) us; \(base): "
        + "\(place(others, 50)) us, p99 \(place(others, 99)) us; ratio \(ratio)")
  }
}
