import CacheFormat
public import HTTPSemantics

/// A server of a remote tier: its base URL, and the way to authenticate to it.
public struct RemoteServer: Sendable, Hashable {
  /// The way to authenticate.
  public enum Access: Sendable, Hashable, CustomReflectable {
    /// No credentials. Client certificates belong to the transport.
    case open
    /// Name and password (RFC 7617), sent with every request.
    case basic(user: String, password: String)
    /// A token (RFC 6750), sent with every request.
    case bearer(token: String)
    /// A signature of each request (AWS Signature Version 4, service `s3`). The bucket is part of
    /// the base URL, in its path or its host.
    case s3(S3Credentials)

    /// The way without its secrets, so that a dump has none.
    public var customMirror: Mirror {
      switch self {
      case .open: Mirror(self, children: ["scheme": "open"])
      case .basic(let user, _): Mirror(self, children: ["scheme": "basic", "user": user])
      case .bearer: Mirror(self, children: ["scheme": "bearer"])
      case .s3(let keys): Mirror(self, children: ["scheme": "s3", "keys": keys])
      }
    }
  }

  /// The base URL; ends with a slash.
  public let base: NormalizedURL
  /// The way to authenticate.
  public let access: Access

  /// Creates a server from its base URL, to which a slash is added if there is none.
  ///
  /// - Throws: ``RemoteCacheError`` for a URL with credentials, a query or a fragment, one that is
  ///   not `http` or `https`, and credentials that cannot be sent.
  public init(_ text: String, access: Access = .open) throws(RemoteCacheError) {
    let url: NormalizedURL
    do throws(InvalidURL) {
      url = try NormalizedURL(text)
      base = url.target.hasSuffix("/") ? url : try url.replacingTarget(url.target + "/")
    } catch {
      throw RemoteCacheError(.invalidURL, error.url, problem: error.reason, remedy: error.remedy)
    }
    let authority = text.drop { $0 != "/" }.drop { $0 == "/" }.prefix { !"/?#".contains($0) }
    guard !authority.contains("@") else {
      throw RemoteCacheError(
        .credentialsInURL, url.string, problem: "the URL contains credentials, which others see",
        remedy: "give them as Basic or Bearer credentials instead")
    }
    guard !text.contains("?"), !text.contains("#") else {
      throw RemoteCacheError(
        .queryInURL, url.string, problem: "the URL has a query or a fragment",
        remedy: "give the URL of a folder, such as https://cache.example/team/")
    }
    self.access = access
    try Self.check(access, url.string)
  }

  private static func check(_ access: Access, _ subject: String) throws(RemoteCacheError) {
    let texts: [String]
    switch access {
    case .open: return
    case .basic(let user, let password):
      guard !user.contains(":") else {
        throw RemoteCacheError(
          .invalidCredential, subject, problem: "the user name contains a colon",
          remedy: "choose another one")
      }
      texts = [user, password]
    case .bearer(let token): texts = [token]
    case .s3(let keys):
      texts =
        [keys.accessKey, keys.secretKey, keys.region] + (keys.sessionToken.map { [$0] } ?? [])
    }
    for text in texts {
      guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        throw RemoteCacheError(
          .invalidCredential, subject,
          problem: "a credential is empty or contains a control character",
          remedy: "check the variable or file that it comes from")
      }
    }
  }
}

extension RemoteServer.Access {
  /// The value of `Authorization`, where it is the same for all requests.
  var authorization: String? {
    switch self {
    case .open, .s3: nil
    case .bearer(let token): "Bearer \(token)"
    case .basic(let user, let password):
      "Basic " + Base64.encode(Array("\(user):\(password)".utf8))
    }
  }
}
