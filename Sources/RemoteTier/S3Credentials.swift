import CacheFormat
import HTTPSemantics
import MessageDigests

/// The keys of an S3 service.
public struct S3Credentials: Sendable, Hashable, CustomReflectable {
  /// The region, such as `eu-central-1`.
  public var region: String
  /// The name of the key.
  public var accessKey: String
  /// The key, which is never sent.
  public var secretKey: String
  /// The token of temporary keys.
  public var sessionToken: String?

  /// Creates keys.
  public init(region: String, accessKey: String, secretKey: String, sessionToken: String? = nil) {
    self.region = region
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
  }

  /// All properties but the secrets, so that a dump has none.
  public var customMirror: Mirror {
    Mirror(self, children: ["region": region, "accessKey": accessKey])
  }
}

extension S3Credentials {
  /// Signs a request with AWS Signature Version 4.
  ///
  /// The fields `Host`, `x-amz-content-sha256`, `x-amz-date` and `x-amz-security-token` are signed.
  ///
  /// - Parameters:
  ///   - contentDigest: The SHA-256 of the body in hex.
  ///   - time: The current time; the service refuses requests that are more than 15 minutes off.
  func sign(_ request: inout HTTPRequest, contentDigest: String, at time: Timestamp) {
    let moment = Self.basicTime(time)
    let day = String(moment.prefix(8))
    let url = request.url
    let host = url.port == url.scheme.defaultPort ? url.host : "\(url.host):\(url.port)"
    var signed = [("host", host), ("x-amz-content-sha256", contentDigest), ("x-amz-date", moment)]
    if let sessionToken { signed.append(("x-amz-security-token", sessionToken)) }
    for (name, value) in signed.dropFirst() {
      request.fields.replace(with: HTTPField(name, value))
    }
    let names = signed.map(\.0).joined(separator: ";")
    let canonical =
      ([request.method.rawValue, Self.canonicalPath(url.target), ""]
      + signed.map { "\($0.0):\($0.1)" } + ["", names, contentDigest]).joined(separator: "\n")
    let scope = "\(day)/\(region)/s3/aws4_request"
    let text =
      "AWS4-HMAC-SHA256\n\(moment)\n\(scope)\n"
      + MessageDigest.of(Array(canonical.utf8), .sha256).hexadecimal
    var key = Array("AWS4\(secretKey)".utf8)
    for part in [day, region, "s3", "aws4_request", text] {
      key = MessageDigest.authenticationCode(of: Array(part.utf8), key: key, .sha256)
    }
    let value =
      "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(names), "
      + "Signature=\(key.hexadecimal)"
    request.fields.replace(with: HTTPField("Authorization", value))
  }

  /// Returns a time such as `20260131T235959Z`.
  static func basicTime(_ time: Timestamp) -> String {
    var writer = JSONWriter(capacity: 30)
    writer.appendTime(time)
    return writer.text.prefix { $0 != "." }.filter { $0 != "-" && $0 != ":" } + "Z"
  }

  /// Returns the path in the form that S3 signs: each byte but the unreserved ones and the slash is
  /// escaped once.
  static func canonicalPath(_ target: String) -> String {
    let parts = target.split(separator: "/", omittingEmptySubsequences: false).map { part in
      let bytes = PercentEncoding.decoded(Array(part.utf8)[...], isLax: true) ?? []
      return PercentEncoding.escaped(bytes, keeping: ASCII.isUnreserved)
    }
    return parts.joined(separator: "/")
  }
}
