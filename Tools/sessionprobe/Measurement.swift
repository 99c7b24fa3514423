import Foundation
import LoopbackOrigin
import OfflineCacheKit
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Measures what a hit costs, as medians: the machine has other things to do, too.
struct Measurement {
  private let setting: Setting
  private let count: Int

  init(_ setting: Setting, count: Int) {
    self.setting = setting
    self.count = max(1, count)
  }

  func run() async {
    let url = setting.origin.url("/hot/1")
    let request = URLRequest(url: url)
    guard let (data, response) = try? await setting.cache.data(for: request),
      let fields = response.allHeaderFields as? [String: String]
    else { stop(3, "the server does not answer") }
    print("a stored body of \(data.count) bytes, \(fields.count) fields, \(count) times each:")
    tell(
      "HTTPURLResponse(url:statusCode:httpVersion:headerFields:) alone",
      samples(count) {
        _ = HTTPURLResponse(
          url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
      })
    tell("OfflineCache.data(for:)", await hits(setting.cache, request))
    measureSession(request, fields, data)
    setting.remove()
  }

  private func hits(_ cache: OfflineCache, _ request: URLRequest) async -> [UInt64] {
    var times: [UInt64] = []
    for _ in 0..<count {
      let start = DispatchTime.now().uptimeNanoseconds
      let answer = try? await cache.data(for: request)
      times.append(DispatchTime.now().uptimeNanoseconds - start)
      if answer?.1.metadata?.source == .network { stop(1, "it was no hit") }
    }
    return times
  }

  /// Measures hits through a session, in turns with a protocol that does nothing but answer.
  private func measureSession(_ request: URLRequest, _ fields: [String: String], _ data: Data) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [ReadyProtocol.self]
    ReadyProtocol.answer.withLock { $0 = (fields, data) }
    let sessions = [URLSession(configuration: configuration), setting.session()]
    var times: [[UInt64]] = [[], []]
    for _ in 0..<count {
      for (place, session) in sessions.enumerated() {
        times[place] += samples(1) { load(request, session) }
      }
    }
    tell("URLSession with a URLProtocol that has the answer at hand, one after the other", times[0])
    tell("URLSession with OfflineURLProtocol, in turns with it", times[1])
  }

  private func load(_ request: URLRequest, _ session: URLSession) {
    let done = DispatchSemaphore(value: 0)
    session.dataTask(with: request) { data, _, _ in
      if data?.isEmpty ?? true { stop(1, "a hit has no data") }
      done.signal()
    }.resume()
    done.wait()
  }

  private func samples(_ count: Int, _ work: () -> Void) -> [UInt64] {
    (0..<count).map { _ in
      let start = DispatchTime.now().uptimeNanoseconds
      work()
      return DispatchTime.now().uptimeNanoseconds - start
    }
  }

  private func tell(_ name: String, _ times: [UInt64]) {
    let sorted = times.sorted()
    func at(_ part: Double) -> String {
      let time = Double(sorted[Int(Double(sorted.count - 1) * part)]) / 1000
      return "\((time * 10).rounded() / 10) us"
    }
    print("  \(name): median \(at(0.5)), 10 % under \(at(0.1)), 90 % under \(at(0.9))")
  }
}

/// Answers every request with the same response: what URLSession itself costs.
private final class ReadyProtocol: URLProtocol {
  static let answer = Mutex<(fields: [String: String], data: Data)>(([:], Data()))

  override class func canInit(with request: URLRequest) -> Bool { true }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    let (fields, data) = Self.answer.withLock { $0 }
    guard let url = request.url,
      let response = HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: data)
    client?.urlProtocolDidFinishLoading(self)
  }

  override func stopLoading() {}
}
