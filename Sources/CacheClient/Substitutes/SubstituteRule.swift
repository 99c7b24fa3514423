/// A file or folder that answers for URLs.
public struct SubstituteRule: Sendable, Hashable {
  /// The file or folder of a rule.
  public enum Target: Sendable, Hashable {
    /// One file, for every URL of the rule.
    case file(String)
    /// A folder: the URL after the pattern is a path below it.
    case folder(String)

    var path: String {
      switch self {
      case .file(let path), .folder(let path): path
      }
    }

    var kind: String {
      switch self {
      case .file: "file"
      case .folder: "folder"
      }
    }
  }

  /// How long clients may keep an answer.
  public enum Lifetime: Sendable, Hashable {
    /// For this many seconds; with 0 they have to validate it each time, and get a 304 if nothing
    /// has changed.
    case seconds(Int)
    /// For ever: the answer for this URL never changes.
    case always
  }

  /// The URL. Each `*` in its path or query stands for any characters, also none and `/`.
  ///
  /// For a folder it ends in `/*` and has no other `*`. URLs are compared in their normal form,
  /// without fragment and credentials; the query is compared, except for a folder.
  public var pattern: String

  /// The file or folder.
  public var target: Target

  /// The value of `Content-Type`; `nil` to derive it from the name of the file.
  public var mediaType: String?

  /// How long clients may keep an answer. The substitute itself answers at any age.
  public var lifetime: Lifetime

  /// Whether a stored response is preferred if its server changed it (`Last-Modified`, else `Date`)
  /// after the file was last changed.
  public var yieldsToNewer: Bool

  /// Creates a rule.
  ///
  /// The pattern is a URL with scheme, host and path.
  public init(
    _ pattern: String, _ target: Target, mediaType: String? = nil,
    lifetime: Lifetime = .seconds(3600), yieldsToNewer: Bool = false
  ) {
    self.pattern = pattern
    self.target = target
    self.mediaType = mediaType
    self.lifetime = lifetime
    self.yieldsToNewer = yieldsToNewer
  }

  /// The pattern for messages: without credentials, and without control characters.
  var shownPattern: String {
    do throws(InvalidURL) { return try NormalizedURL(pattern).string } catch { return error.url }
  }

  var seconds: Int64 {
    switch lifetime {
    case .seconds(let seconds): Int64(max(0, seconds))
    case .always: 31_536_000
    }
  }

  /// The value of `Cache-Control`. An answer that never changes need not be validated (RFC 8246).
  var cacheControl: String {
    lifetime == .always ? "max-age=\(seconds), immutable" : "max-age=\(seconds)"
  }
}
