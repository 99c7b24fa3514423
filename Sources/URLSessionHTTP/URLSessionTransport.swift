import CacheSystem
import Foundation
public import HTTPSemantics
public import HTTPTransports

#if canImport(FoundationNetworking)
  // For all files of this module.
  @_exported public import FoundationNetworking
#endif

/// Sends requests with URLSession: the transport for Apple platforms. On Linux it is built for tests
/// only; use `CurlTransport` there.
///
/// A reader that is slower than the server suspends the task, so memory is limited by
/// `NetworkSetup.bufferBytes`. Redirects are returned, not followed.
///
/// **Content coding.** URLSession decodes gzip, deflate and Brotli. Such a response is returned as if
/// it had never been coded: without `Content-Encoding` and `Content-Length`, and with a weak `ETag`,
/// because the strong one belongs to the coded bytes. If a request has no `Accept-Encoding`, or has a
/// `Range`, `identity` is requested.
///
/// **What URLSession does not have:** trailers, the reason phrase, the version of HTTP, the order of
/// fields, and the borders between fields of the same name: their values are joined with commas.
/// Requests with `GET` have no body, and none may log its connection in (NTLM, Negotiate). `Expect` is
/// not sent. If the request has none, `User-Agent`, `Accept` and a `Content-Type` are sent, whatever
/// `TransportOptions.addsDefaultFields` says.
/// `connectTimeout` and `idleTimeout` are added up until the first sign of the server, because
/// URLSession does not report that it has connected. HTTP/2 cannot be switched off.
///
/// **Set-up.** The proxy `environment` is that of the system's settings. A client certificate is a
/// file in PKCS #12. Pins, own authorities and client certificates need an Apple platform.
public final class URLSessionTransport: HTTPTransport {
  /// The set-up that the transport was created with.
  public let setup: NetworkSetup

  /// Whether the set-up has cookies or a client certificate.
  public var isForOneUser: Bool { setup.isForOneUser }

  /// Whether the set-up has a proxy.
  public var mayUseProxy: Bool { setup.mayUseProxy }

  private let downloads: Bool
  private let delegate: SessionDelegate
  private let configuration: URLSessionConfiguration

  /// Creates a transport.
  ///
  /// - Throws: `TransportError.Code.invalidSetup` if this platform's URLSession cannot do what the
  ///   set-up or the options say, or a pin is for an invalid host name; `authoritiesFile` and
  ///   `clientCertificate` if their files cannot be used.
  public convenience init(
    _ setup: NetworkSetup = NetworkSetup(), options: URLSessionOptions = URLSessionOptions()
  ) throws(TransportError) {
    try self.init(setup, options, downloads: options.backgroundIdentifier != nil)
  }

  init(
    _ setup: NetworkSetup, _ options: URLSessionOptions, downloads: Bool
  ) throws(TransportError) {
    if let fault = setup.fault { throw fault }
    if downloads, !setup.pins.isEmpty || setup.keepsCookies {
      throw TransportError(
        .invalidSetup, url: "https:", detail: "a background session takes neither pins nor cookies")
    }
    self.setup = setup
    self.downloads = downloads
    configuration = try SessionConfiguration.make(setup, options)
    delegate = SessionDelegate(try ServerCheck(setup, options))
  }

  deinit {
    // Bodies keep the transport alive, so no task is running. A session keeps its delegate.
    for session in delegate.takeSessions() { session.finishTasksAndInvalidate() }
  }

  /// Sends a request and waits for the head of the final response.
  ///
  /// - Throws: `TransportError`.
  public func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    // A cancelled task sends nothing, even if the response would be there before the wait for it.
    if Task.isCancelled { throw TransportError(.cancelled, url: request.url.string) }
    #if canImport(Darwin)
      let answer = try start(request, body, options, onInterim)
    #else
      let answer = try start(request, try await collected(body, request), options, onInterim)
    #endif
    return try await answer.response()
  }

  /// Ends all transfers with `cancelled`, and forgets all cookies.
  public func reset() async {
    for session in delegate.endTasks() {
      let tasks = await withCheckedContinuation { continuation in
        session.getAllTasks { continuation.resume(returning: $0) }
      }
      // They cancel themselves later, on another queue. The session answers the second time once it has
      // cancelled them; then they set no more cookies.
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          for task in tasks { task.cancel() }
          session.getAllTasks { _ in continuation.resume() }
        }
      }
    }
    let cookies = configuration.httpCookieStorage
    for cookie in cookies?.cookies ?? [] { cookies?.deleteCookie(cookie) }
  }

  /// Starts a request. Releasing the returned body ends it.
  func start(
    _ request: HTTPRequest, _ body: RequestBody?, _ options: TransportOptions,
    _ onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) throws(TransportError) -> TransferBody {
    let urlRequest = try SessionRequest.make(request, body, setup)
    if setup.pins(of: request.url.host) != nil, request.url.scheme != .https {
      throw TransportError(
        .pinMismatch, url: request.url.string,
        detail: "\(request.url.host) has pins, and http has no certificate to compare")
    }
    if downloads, request.method != .get {
      throw TransportError(
        .invalidRequest, url: request.url.string, detail: "a background session sends only GET")
    }
    let upload = body.map { Upload($0, mayRepeat: request.method.isIdempotent) }
    let task = makeTask(urlRequest, body, request.url.host)
    task.priority = min(max(0.5 + Float(options.priority) / 20, 0), 1)
    let pace = TaskPace(task)
    let transfer = Transfer(
      request, upload, options: options, capacity: { [bytes = setup.bufferBytes] in bytes },
      onInterim: onInterim
    ) { pace.carryOut($1) }
    delegate.start(SessionTask(transfer, pace, setup), task, watchesTime: !downloads)
    return TransferBody(transfer, of: self)
  }

  private func makeTask(
    _ request: URLRequest, _ body: RequestBody?, _ host: String
  ) -> URLSessionTask {
    let session = session(for: host)
    let isGet = request.httpMethod == "GET"
    return switch body {
    case _ where downloads: session.downloadTask(with: request)
    // URLSession refuses to upload with GET, even nothing.
    case _ where isGet, nil: session.dataTask(with: request)
    case .bytes(let bytes): session.uploadTask(with: request, from: Data(bytes))
    case .stream: session.uploadTask(withStreamedRequest: request)
    }
  }

  /// Returns the session for a host. A host with pins has one of its own: a connection that was
  /// opened for another host is never used for it.
  func session(for host: String) -> URLSession {
    let name = setup.pins(of: host) == nil ? "" : NetworkSetup.withoutDot(host)
    return delegate.session(named: name) {
      let session = URLSession(
        configuration: configuration, delegate: delegate, delegateQueue: nil)
      if downloads { cancelLeftTasks(of: session) }
      return session
    }
  }

  /// Cancels the tasks that an earlier run of the app left in its background session: nobody waits
  /// for them. A new task runs only after the delegate knows it.
  private func cancelLeftTasks(of session: URLSession) {
    session.getAllTasks { [delegate] tasks in
      for task in tasks where task.state == .running && delegate.task(of: task) == nil {
        task.cancel()
      }
    }
  }

  /// Sets the handler that is called once all events of a background session have been delivered.
  ///
  /// The handler is that of `application(_:handleEventsForBackgroundURLSession:completionHandler:)`. It
  /// is called on a queue of the session; UIKit wants it on the main one.
  public func setBackgroundHandler(_ handler: @escaping @Sendable () -> Void) {
    delegate.setBackgroundHandler(handler)
    // The system waits for a session of that name.
    _ = session(for: "")
  }

  #if !canImport(Darwin)
    /// Reads a stream to its end: on Linux, a stream of Foundation would block all URLSessions.
    private func collected(
      _ body: RequestBody?, _ request: HTTPRequest
    ) async throws(TransportError) -> RequestBody? {
      guard let body, case .stream(let length, let source) = body else { return body }
      func fail(_ detail: String) -> TransportError {
        TransportError(
          Task.isCancelled ? .cancelled : .requestBodyFailed, url: request.url.string,
          detail: detail)
      }
      var bytes: [UInt8] = []
      do {
        while length != 0, let piece = try await source.next() { bytes += piece }
      } catch {
        throw fail("its source threw: \(error)")
      }
      if let length, length != UInt64(bytes.count) {
        throw fail("it has \(bytes.count) bytes instead of the stated \(length)")
      }
      return .bytes(bytes)
    }
  #endif
}
