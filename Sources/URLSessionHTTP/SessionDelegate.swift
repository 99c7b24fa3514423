import CacheSystem
import Foundation
import HTTPSemantics
import HTTPTransports
import Synchronization

/// Receives the calls of the sessions of one transport, and passes each to its task.
final class SessionDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable
{
  let check: ServerCheck
  /// The running tasks. They are found by the task itself, as several sessions number their tasks.
  private let running = Mutex<[ObjectIdentifier: SessionTask]>([:])
  private let sessions = Mutex<[String: URLSession]>([:])
  private let backgroundHandler = Mutex<(@Sendable () -> Void)?>(nil)

  init(_ check: ServerCheck) { self.check = check }

  /// Returns the session of a name, or makes it. Each host with pins has a session of its own: a
  /// challenge comes once for each connection, which the hosts of one session may share.
  func session(named name: String, _ make: () -> URLSession) -> URLSession {
    sessions.withLock { sessions in
      if let session = sessions[name] { return session }
      let session = make()
      sessions[name] = session
      return session
    }
  }

  func takeSessions() -> [URLSession] {
    sessions.withLock { sessions in
      defer { sessions = [:] }
      return Array(sessions.values)
    }
  }

  func endTasks() -> [URLSession] {
    for task in running.withLock({ Array($0.values) }) {
      task.fail(task.transfer.error(.cancelled))
    }
    return sessions.withLock { Array($0.values) }
  }

  /// Forgets a session that the system, or another process with the same background session, has
  /// ended: a task for it would raise an exception. Its own tasks end one by one.
  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
    sessions.withLock { sessions in
      if let name = sessions.first(where: { $0.value === session })?.key { sessions[name] = nil }
    }
  }

  func start(_ task: SessionTask, _ urlTask: URLSessionTask, watchesTime: Bool) {
    running.withLock { $0[ObjectIdentifier(urlTask)] = task }
    urlTask.resume()
    if watchesTime { task.watchTime() }
  }

  func task(of urlTask: URLSessionTask) -> SessionTask? {
    running.withLock { $0[ObjectIdentifier(urlTask)] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    let isWanted = task(of: dataTask)?.receive(response) ?? false
    completionHandler(isWanted ? .allow : .cancel)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    task(of: dataTask)?.receive(data)
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask,
    didFinishDownloadingTo location: URL
  ) {
    if let response = downloadTask.response {
      task(of: downloadTask)?.receive(response, in: location)
    }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    task(of: downloadTask)?.noteSign()
  }

  func setBackgroundHandler(_ handler: @escaping @Sendable () -> Void) {
    backgroundHandler.withLock { $0 = handler }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    let ended = running.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
    ended?.end(error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) {
    self.task(of: task)?.noteSign()
  }

  /// Has the redirect itself returned: the caller knows which ones may be followed.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  #if canImport(Darwin)
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
      let handler = backgroundHandler.withLock { $0.take() }
      handler?()
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      didReceiveInformationalResponse response: HTTPURLResponse
    ) {
      self.task(of: task)?.receiveInterim(response)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
      self.task(of: task)?.noteWaiting()
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
      completionHandler(self.task(of: task).flatMap { UploadPump.start($0) })
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
      guard let running = self.task(of: task) else { return (.cancelAuthenticationChallenge, nil) }
      return await check.answer(challenge, running)
    }
  #else
    /// Ends the task, because on Linux it cannot return a 401 with `Basic`: without this method, or
    /// without a credential, it would never end.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      if let running = self.task(of: task) {
        let detail = "URLSession on Linux cannot return a 401 with Basic"
        running.fail(running.transfer.error(.failed, detail))
      }
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  #endif
}
