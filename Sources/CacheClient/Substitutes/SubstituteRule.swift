import HTTPSemantics

/// Says which file answers for which URLs.
public struct SubstituteRule: Sendable, Hashable {
  /// Names what answers.
  public enum Target: Sendable, Hashable {
    /// One file, for every URL of the rule.
    case file(String)
    /// A folder: what follows the beginning of the URL is a path below it.
    case folder(String)

    /// The path of the file or folder.
    var path: String {
      switch self {
      case .file(let path), .folder(let path): path
      }
    }

    /// What the path has to be, in a word.
    var kind: String {
      switch self {
      case .file: "file"
      case .folder: "folder"
      }
    }
  }

  /// Says how long those who get an answer may keep it.
  public enum Lifetime: Sendable, Hashable {
    /// For so many seconds; with 0 they have to ask each time, and get a 304 where nothing has changed.
    case seconds(Int)
    /// For ever: what the URL means never changes.
    case always
  }

  /// Gives the URL. Each `*` in its path or query stands for any characters, also none and `/`.
  ///
  /// For a folder it ends in `/*` and has no other. URLs are compared in their normal form, without
  /// fragment and credentials; the query counts, but not for a folder.
  public var pattern: String

  /// Names what answers.
  public var target: Target

  /// Gives the value of `Content-Type`; nil: it is told by the name of the file.
  public var mediaType: String?

  /// Says how long those who get an answer may keep it. The substitute itself answers at any age.
  public var lifetime: Lifetime

  /// Lets a stored response go first that its server changed (`Last-Modified`, else `Date`) after the
  /// file was last changed: one that a reload has brought.
  public var yieldsToNewer: Bool

  /// Makes a rule.
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

  /// Gives the seconds for `max-age`.
  var seconds: Int64 {
    switch lifetime {
    case .seconds(let seconds): Int64(max(0, seconds))
    case .always: 31_536_000
    }
  }

  /// Gives the value of `Cache-Control`; what is fresh for ever need not be validated (RFC 8246).
  var cacheControl: String {
    lifetime == .always ? "max-age=\(seconds), immutable" : "max-age=\(seconds)"
  }
}
