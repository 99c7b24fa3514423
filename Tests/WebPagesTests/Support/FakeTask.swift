import OfflineCacheKit
import Synchronization
import WebKit

/// A call of a method of a task.
enum TaskEvent: Equatable {
  case response(Int)
  case data(String)
  case finished
  case failed(URLError.Code)
}

/// What a handler has done with a task.
final class TaskRecord: Sendable {
  private let state = Mutex<([TaskEvent], [String: String], URL?)>(([], [:], nil))
  /// Yields after each call, and ends when the handler has released the task.
  let calls = AsyncStream.makeStream(of: Void.self)

  /// The calls, with data that came in pieces as one.
  var events: [TaskEvent] { state.withLock { $0.0 } }
  var fields: [String: String] { state.withLock { $0.1 } }
  var url: URL? { state.withLock { $0.2 } }

  /// Waits until the handler has released the task: from then on it cannot call it.
  func end() async {
    for await _ in calls.stream {}
  }

  fileprivate func add(_ event: TaskEvent) {
    state.withLock { state in
      if case .data(let new) = event, case .data(let old)? = state.0.last {
        state.0[state.0.count - 1] = .data(old + new)
      } else {
        state.0.append(event)
      }
    }
    calls.continuation.yield()
  }

  fileprivate func add(_ response: HTTPURLResponse) {
    state.withLock { state in
      state.2 = response.url
      for case (let name as String, let value as String) in response.allHeaderFields {
        state.1[name] = value
      }
    }
    add(.response(response.statusCode))
  }
}

/// A task of WebKit that records what is done with it.
final class FakeTask: NSObject, WKURLSchemeTask {
  let request: URLRequest
  private let record: TaskRecord

  init(_ request: URLRequest, _ record: TaskRecord) {
    self.request = request
    self.record = record
  }

  deinit { record.calls.continuation.finish() }

  func didReceive(_ response: URLResponse) {
    if let response = response as? HTTPURLResponse { record.add(response) }
  }

  func didReceive(_ data: Data) { record.add(.data(String(decoding: data, as: UTF8.self))) }

  func didFinish() { record.add(.finished) }

  func didFailWithError(_ error: any Error) {
    record.add(.failed((error as? URLError)?.code ?? .unknown))
  }
}

/// A web view that records what it is told to load, and stops the present load then, as WebKit does.
final class FakeWebView: WKWebView {
  private(set) var loaded: [URL?] = []

  init() { super.init(frame: CGRect(), configuration: WKWebViewConfiguration()) }

  override func load(_ request: URLRequest) -> WKNavigation? {
    loaded.append(request.url)
    return nil
  }
}
