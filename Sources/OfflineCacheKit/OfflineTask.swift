import CacheSystem

/// A request with a completion handler. It begins with ``resume()``, like a URLSessionTask.
public final class OfflineTask: Sendable {
  private enum State {
    case suspended(@Sendable () async -> Void)
    case running(Task<Void, Never>)
    case over
  }

  private let state: Lock<State>

  init(_ work: @escaping @Sendable () async -> Void) { state = Lock(.suspended(work)) }

  /// Begins the task. A second call does nothing.
  public func resume() { begin(isCancelled: false) }

  /// Cancels the task: the handler gets `URLError.cancelled`, unless it has its result already.
  /// This also holds for a task that has not begun.
  public func cancel() {
    begin(isCancelled: true)
    let task = state.withLock { state -> Task<Void, Never>? in
      if case .running(let task) = state { task } else { nil }
    }
    if let task { callOut { task.cancel() } }
  }

  private func begin(isCancelled: Bool) {
    state.withLock { state in
      // Afterwards only the running task holds the work, and with it the caller's handler, which may
      // hold this object.
      guard case .suspended(let work) = state else { return }
      state = .running(
        Task { [self] in
          // The task is cancelled before the work begins, because the work checks that first.
          if isCancelled { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
          await work()
          self.state.withLock { $0 = .over }
        })
    }
  }
}

// Fetching with completion handlers. Each handler is called once, on a serial queue of the cache.
extension OfflineCache {
  /// Receives data and response, or an error.
  public typealias DataHandler = @Sendable (Data?, OfflineURLResponse?, URLError?) -> Void

  /// Creates a task for ``data(for:)``.
  public func dataTask(
    with request: URLRequest, completionHandler: @escaping DataHandler
  ) -> OfflineTask {
    task(completionHandler) { cache throws(URLError) in try await cache.data(for: request) }
  }

  /// Creates a task for ``data(from:)``.
  public func dataTask(
    with url: URL, completionHandler: @escaping DataHandler
  ) -> OfflineTask {
    dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
  }

  /// Creates a task for ``upload(for:from:)``.
  public func uploadTask(
    with request: URLRequest, from bodyData: Data, completionHandler: @escaping DataHandler
  ) -> OfflineTask {
    task(completionHandler) { cache throws(URLError) in
      try await cache.upload(for: request, from: bodyData)
    }
  }

  /// Creates a task for ``upload(for:fromFile:onProgress:)``.
  public func uploadTask(
    with request: URLRequest, fromFile file: URL,
    onProgress: (@Sendable (UploadProgress) -> Void)? = nil,
    completionHandler: @escaping DataHandler
  ) -> OfflineTask {
    task(completionHandler) { cache throws(URLError) in
      try await cache.upload(for: request, fromFile: file, onProgress: onProgress)
    }
  }

  /// Creates a task for ``upload(for:form:onProgress:)``.
  public func uploadTask(
    with request: URLRequest, form: MultipartForm,
    onProgress: (@Sendable (UploadProgress) -> Void)? = nil,
    completionHandler: @escaping DataHandler
  ) -> OfflineTask {
    task(completionHandler) { cache throws(URLError) in
      try await cache.upload(for: request, form: form, onProgress: onProgress)
    }
  }

  /// Creates a task for ``download(for:to:settings:)``.
  public func downloadTask(
    with request: URLRequest, to file: URL,
    completionHandler: @escaping @Sendable (OfflineURLResponse?, URLError?) -> Void
  ) -> OfflineTask {
    task(calling: completionHandler) { cache throws(URLError) in
      try await cache.download(for: request, to: file)
    }
  }

  private func task(
    _ handler: @escaping DataHandler,
    _ fetch: @escaping @Sendable (OfflineCache) async throws(URLError) -> (Data, OfflineURLResponse)
  ) -> OfflineTask {
    task(calling: { answer, error in handler(answer?.0, answer?.1, error) }, fetch)
  }

  private func task<Answer: Sendable>(
    calling handler: @escaping @Sendable (Answer?, URLError?) -> Void,
    _ fetch: @escaping @Sendable (OfflineCache) async throws(URLError) -> Answer
  ) -> OfflineTask {
    OfflineTask { [self] in
      let result: Result<Answer, URLError>
      do throws(URLError) {
        result = .success(try await fetch(self))
      } catch {
        result = .failure(error)
      }
      handlerQueue.async {
        switch result {
        case .success(let answer): handler(answer, nil)
        case .failure(let error): handler(nil, error)
        }
      }
    }
  }
}
