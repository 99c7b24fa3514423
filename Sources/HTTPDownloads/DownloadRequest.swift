public import HTTPAuthentication
public import HTTPSemantics
public import HTTPTransports

/// What to download, and to which file.
public struct DownloadRequest: Sendable {
  /// When a file that was downloaded before is used.
  public enum Reuse: Sendable, Hashable {
    /// Without a request until it expires; after that, or without an expiry, if the server confirms
    /// it.
    case unexpired
    /// If the server confirms it.
    case confirmed
    /// Never.
    case never
  }

  /// The request, a `GET`. The download sets its conditions and its `Range`.
  public var request: HTTPRequest

  /// The path of the file. Its folder must exist. Any file that is there is replaced, once the new
  /// content is complete and verified; a directory, a device or a pipe is an error, and so are other
  /// files if ``replacesOthers`` is false.
  public var file: String

  /// Whether a file is replaced that is not a download of this URL, or was changed since. If false,
  /// such a file is an error and stays as it is.
  public var replacesOthers: Bool

  /// The digest that the file must have, in addition to those that the server states.
  public var digest: StatedDigest?

  /// How long the file is used without asking the server; `nil` for not at all.
  public var expiry: DownloadExpiry?

  /// When an existing file is used.
  public var reuse: Reuse

  /// Whether the bytes of an interrupted download are used.
  public var resumes: Bool

  /// The priority among downloads that wait: higher ones first, equal ones in the order of their
  /// start.
  public var priority: Int

  /// How requests are sent.
  public var transport: TransportOptions

  /// The credential that is sent to the origin of the request before the server asks, if the
  /// transport of the downloader logs in, like that of a client.
  public var credential: Credential?

  /// The limit of redirects in a row.
  public var maximumRedirects: Int

  /// The name of the user that the transport logs in, if the caller knows it. A file of another user
  /// is not used without asking the server.
  package var user: String?

  /// The state of the log-ins at the start. A download is not joined, nor its file copied, after
  /// another user may have logged in.
  package var loginState: UInt64 = 0

  /// Creates a request. By default, an interrupted download is resumed, and a file that has not
  /// expired is used.
  public init(
    _ request: HTTPRequest, to file: String, replacesOthers: Bool = true,
    digest: StatedDigest? = nil, expiry: DownloadExpiry? = nil, reuse: Reuse = .unexpired,
    resumes: Bool = true,
    priority: Int = 0, transport: TransportOptions = TransportOptions(), maximumRedirects: Int = 20,
    credential: Credential? = nil
  ) {
    self.request = request
    self.file = file
    self.replacesOthers = replacesOthers
    self.digest = digest
    self.expiry = expiry
    self.reuse = reuse
    self.resumes = resumes
    self.priority = priority
    self.transport = transport
    self.maximumRedirects = maximumRedirects
    self.credential = credential
  }

  /// Returns whether the download of another request is the same as this one, whatever its priority
  /// and time-outs.
  func isAnswered(as other: DownloadRequest) -> Bool {
    asks(for: other) && file == other.file && digest == other.digest
      && expiry == other.expiry && reuse == other.reuse && resumes == other.resumes
      && replacesOthers == other.replacesOthers && maximumRedirects == other.maximumRedirects
  }

  /// Returns whether another request has the same content, because it is for the same user, too.
  func asks(for other: DownloadRequest) -> Bool {
    request == other.request && credential == other.credential && user == other.user
      && loginState == other.loginState
      && transport.allowsInsecureRedirects == other.transport.allowsInsecureRedirects
  }
}

extension HTTPRequest {
  /// Returns the request without a range and without conditions, whose answer would be no whole file.
  package func forWholeContent() -> HTTPRequest {
    var request = self
    for name in ["Range", "If-Range", "If-None-Match", "If-Modified-Since"] {
      request.fields.removeAll(named: name)
    }
    return request
  }
}

/// How long a downloaded file is used without asking the server.
public struct DownloadExpiry: Sendable, Hashable {
  /// The number of seconds from the end of the download, or from when the server last confirmed the
  /// content; at least 0.
  public var seconds: Int64

  /// Whether the time begins anew with each use of the file.
  public var isSliding: Bool

  /// Creates an expiry.
  public init(after seconds: Int64, isSliding: Bool = false) {
    self.seconds = max(0, seconds)
    self.isSliding = isSliding
  }
}
