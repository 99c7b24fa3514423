public import HTTPAuthentication
public import HTTPSemantics
public import HTTPTransport

/// Says what is to be downloaded, and to where.
public struct DownloadRequest: Sendable {
  /// Says when a file that was downloaded before is the answer.
  public enum Reuse: Sendable, Hashable {
    /// Without a request until it expires; after that, and where no expiry was set, when the server
    /// confirms it.
    case unexpired
    /// When the server confirms it.
    case confirmed
    /// Never.
    case never
  }

  /// Gives the request, a `GET`. Its conditions and `Range` are set by the download.
  public var request: HTTPRequest

  /// Names the file that appears when everything is there; its folder has to exist. What stands there
  /// is replaced, unless it is a directory, or ``replacesOthers`` is false.
  public var file: String

  /// Replaces also a file that is no download of this URL, or was changed since; false: that is an
  /// error, and the file stays as it is.
  public var replacesOthers: Bool

  /// Says which digest the file must have, beside those that the server states.
  public var digest: StatedDigest?

  /// Says how long the file counts as good; nil: until the server says otherwise.
  public var expiry: DownloadExpiry?

  /// Says when a file that is there is the answer.
  public var reuse: Reuse

  /// Goes on with the bytes that an earlier call has left; false begins again.
  public var resumes: Bool

  /// Orders those that wait for their turn: higher ones first, equal ones as they were started.
  public var priority: Int

  /// Says how requests are sent.
  public var transport: TransportOptions

  /// The credential that is sent to the origin of the request before the server asks, if the transport
  /// of the downloader logs in, like that of a client.
  public var credential: Credential?

  /// Bounds how many redirects in a row are followed.
  public var maximumRedirects: Int

  /// Makes a request; the defaults go on, and use a file that is there as far as it is good.
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

  /// Tells whether the download of another is just what this one asks for; who waits longer, or goes
  /// first, does not matter.
  func isAnswered(as other: DownloadRequest) -> Bool {
    request == other.request && file == other.file && digest == other.digest
      && expiry == other.expiry && reuse == other.reuse && resumes == other.resumes
      && replacesOthers == other.replacesOthers && credential == other.credential
      && maximumRedirects == other.maximumRedirects
  }
}

/// Says how long a downloaded file counts as good.
public struct DownloadExpiry: Sendable, Hashable {
  /// Counts the seconds from the end of the download; at least 0.
  public var seconds: Int64

  /// Begins the time anew with each use of the file.
  public var isSliding: Bool

  /// Makes an expiry.
  public init(after seconds: Int64, isSliding: Bool = false) {
    self.seconds = max(0, seconds)
    self.isSliding = isSliding
  }
}
