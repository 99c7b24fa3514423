import LoopbackOrigin
import OfflineCacheKit
import Synchronization

/// How a program waits for its requests.
enum Mode: String, CaseIterable {
  case handler, delegate, async

  static func named(_ name: String) -> [Mode] {
    name == "all" ? Array(allCases) : Mode(rawValue: name).map { [$0] } ?? []
  }
}

/// Many requests with random cancels; counts how each of them ends.
final class Stress: Sendable {
  private struct Request: Sendable {
    let target: String
    /// When it is cancelled, in microseconds after its start; nil: not.
    let cancelAfter: Int?
  }

  private struct Results {
    var completions: [UInt8]
    var good = 0
    var cancelled = 0
    var faults: [String] = []
  }

  private static let inFlight = 32

  private let setting: Setting
  private let mode: Mode
  private let requests: [Request]
  private let results: Mutex<Results>
  private let room = DispatchSemaphore(value: Stress.inFlight)

  init(_ setting: Setting, _ mode: Mode, count: Int, seed: UInt64) {
    self.setting = setting
    self.mode = mode
    var random = SplitMix64(seed: seed)
    requests = (0..<count).map { _ in Self.request(&random) }
    results = Mutex(Results(completions: Array(repeating: 0, count: count)))
  }

  /// Runs all, and ends the process where something is wrong.
  func run() {
    let delegate = StressDelegate(self)
    let session = setting.session(mode == .delegate ? delegate : nil)
    for index in requests.indices {
      wait(index)
      start(index, session, delegate)
    }
    for _ in 0..<Self.inFlight { wait(requests.count) }
    // A second completion would come on the same queues as the first one: behind them, all have come.
    session.finishTasksAndInvalidate()
    session.delegateQueue.waitUntilAllOperationsAreFinished()
    report()
    for _ in 0..<Self.inFlight { room.signal() }
  }

  private func wait(_ index: Int) {
    if room.wait(timeout: .now() + 60) == .timedOut {
      stop(1, "\(mode): nothing has ended for 60 s, with \(index) requests started")
    }
  }

  private func report() {
    results.withLock { results in
      let once = results.completions.count { $0 == 1 }
      print(
        "\(mode): \(requests.count) requests, \(results.good) answered, "
          + "\(results.cancelled) cancelled, \(once) completed once")
      for fault in results.faults.prefix(10) { print("  \(fault)") }
      if once != requests.count || !results.faults.isEmpty {
        stop(
          1, "\(mode): \(requests.count - once) not completed once, \(results.faults.count) faults")
      }
    }
  }

  /// Half of them are cancelled: some at once, some while they run, some too late.
  private static func request(_ random: inout SplitMix64) -> Request {
    let kinds = ["hot", "hot", "hot", "cold", "slow", "moved", "large"]
    let kind = kinds[random.below(kinds.count)]
    let target = "/\(kind)/\(random.below(kind == "large" ? 8 : 200))"
    let isCancelled = random.below(2) == 0
    return Request(
      target: target, cancelAfter: isCancelled ? random.below(4) * random.below(1500) : nil)
  }

  private func start(_ index: Int, _ session: URLSession, _ delegate: StressDelegate) {
    let request = requests[index]
    var asked = URLRequest(url: setting.origin.url(request.target))
    asked.timeoutInterval = 30
    switch mode {
    case .handler:
      let task = session.dataTask(with: asked) { [self] data, response, error in
        complete(index, data, response, error)
      }
      task.resume()
      cancel(task, after: request.cancelAfter)
    case .delegate:
      let task = session.dataTask(with: asked)
      delegate.expect(task, index)
      task.resume()
      cancel(task, after: request.cancelAfter)
    case .async:
      let task = Task { [self] in
        do {
          let (data, response) = try await Self.data(for: asked, session)
          complete(index, data, response, nil)
        } catch {
          complete(index, nil, nil, error)
        }
      }
      if let delay = request.cancelAfter { Self.run(after: delay) { task.cancel() } }
    }
  }

  private func cancel(_ task: URLSessionDataTask, after delay: Int?) {
    if let delay { Self.run(after: delay) { task.cancel() } }
  }

  private static func run(after delay: Int, _ work: @escaping @Sendable () -> Void) {
    if delay == 0 { return work() }
    DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay), execute: work)
  }

  /// The way to await a task of URLSession that survives on Swift 6.3 (cancelling `data(for:)` itself
  /// can deadlock the process): the cancellation leaves the handler before it reaches the task.
  private static func data(
    for request: URLRequest, _ session: URLSession
  ) async throws -> (Data?, URLResponse?) {
    let running = Mutex<URLSessionDataTask?>(nil)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let task = session.dataTask(with: request) { data, response, error in
          if let error {
            continuation.resume(throwing: error)
          } else {
            continuation.resume(returning: (data, response))
          }
        }
        running.withLock { $0 = task }
        task.resume()
        if Task.isCancelled { DispatchQueue.global().async { task.cancel() } }
      }
    } onCancel: {
      guard let task = running.withLock({ $0 }) else { return }
      DispatchQueue.global().async { task.cancel() }
    }
  }

  func complete(_ index: Int, _ data: Data?, _ response: URLResponse?, _ error: (any Error)?) {
    let request = requests[index]
    var fault: String?
    if let error {
      let code = (error as? URLError)?.code ?? URLError.Code(rawValue: (error as NSError).code)
      if code != .cancelled || request.cancelAfter == nil {
        fault = "\(request.target): ended with \(error)"
      }
    } else if (response as? HTTPURLResponse)?.statusCode != 200
      || data.map({ [UInt8]($0) }) != Setting.body(of: request.target)
    {
      fault = "\(request.target): has a wrong body of \(data?.count ?? -1) bytes"
    }
    results.withLock { results in
      results.completions[index] &+= 1
      if error == nil { results.good += 1 } else { results.cancelled += 1 }
      if let fault { results.faults.append(fault) }
    }
    room.signal()
  }
}

final class StressDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let stress: Stress
  private let loads = Mutex<[Int: (index: Int, data: Data)]>([:])

  init(_ stress: Stress) { self.stress = stress }

  func expect(_ task: URLSessionTask, _ index: Int) {
    loads.withLock { $0[task.taskIdentifier] = (index, Data()) }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    loads.withLock { $0[dataTask.taskIdentifier]?.data += data }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    guard let load = loads.withLock({ $0[task.taskIdentifier] }) else { return }
    stress.complete(load.index, load.data, task.response, error)
  }
}
