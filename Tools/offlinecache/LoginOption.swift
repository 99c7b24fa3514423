import CacheClient
import CommandLineTools
import HTTPSemantics
import Synchronization

/// `--user`: the user that logs in, and the host.
enum LoginOption {
  static let option = Option(
    "user", short: "u", .login,
    help:
      "Log in at this host, or HOST:PORT, when it asks (Digest, else Basic); the password is taken "
      + "from OFFLINECACHE_PASSWORD, or asked for on the terminal. Responses stored for this user "
      + "are found only with this option")

  /// Returns the user and the password, or `nil` if the option is not given.
  ///
  /// - Parameter addresses: The URLs of the command line.
  /// - Throws: ``ToolError`` if there is no password, or it is not UTF-8; `Interrupted`.
  static func read(_ invocation: Invocation, for addresses: [String]) throws -> HostLogin? {
    guard let place = invocation[option] else { return nil }
    let secret: Argument
    if let given = Argument.environment("OFFLINECACHE_PASSWORD") {
      secret = given
    } else if let typed = try Terminal.readSecret("Password of \(terminalSafe(place.text)): ") {
      secret = typed
    } else {
      throw ToolError(
        subject: place.text, problem: "there is no password, and no terminal to ask for it",
        remedy: "set OFFLINECACHE_PASSWORD")
    }
    guard let password = secret.text else {
      throw ToolError(
        subject: place.text, problem: "the password is not UTF-8",
        remedy: "set the locale of the terminal to UTF-8")
    }
    return HostLogin(place, .password(user: place.user, password: password), for: addresses)
  }
}

struct LoginPlace: Sendable {
  /// The value of the option, unchanged.
  let text: String
  let user: String
  /// The root URL of the host, with https.
  let root: NormalizedURL
  /// Whether a port was given. Without one, the log-in holds for all ports of the host in the URLs
  /// of the command line.
  let hasPort: Bool
}

/// A user and a password for one host: for the servers of the URLs on the command line, and for the
/// host itself with https.
///
/// A redirect does not add servers: a server at another port, or without TLS, does not get the
/// password.
final class HostLogin: Sendable {
  private let credential: Credential
  private let roots: Set<NormalizedURL>
  private let isRefused = Mutex(false)

  init(_ place: LoginPlace, _ credential: Credential, for addresses: [String]) {
    self.credential = credential
    var roots: Set<NormalizedURL> = [place.root]
    for address in addresses {
      // Invalid URLs are reported where they are fetched.
      guard let url = try? NormalizedURL(address), url.host == place.root.host,
        !place.hasPort || url.port == place.root.port, let root = try? url.replacingTarget("/")
      else { continue }
      roots.insert(root)
    }
    self.roots = roots
  }

  /// The function that answers a server's challenge. After a server has refused the password, the
  /// 401 is the answer: the same password would be refused again, and further attempts may lock the
  /// account.
  var provider: CredentialProvider {
    { [self] challenge in
      guard challenge.scheme != .bearer, let root = try? challenge.url.replacingTarget("/"),
        roots.contains(root)
      else { return .tryNextScheme }
      return isRefused.withLock { isRefused in
        if challenge.failures > 0 { isRefused = true }
        return isRefused ? .goOnWithout : .use(credential)
      }
    }
  }

  /// Makes a client find the responses that are stored for this user.
  func use(by client: CachingClient) {
    for root in roots { client.use(credential, for: root) }
  }
}

extension ValueKind where Value == LoginPlace {
  /// A name, `@`, a host, and optionally a port.
  static var login: ValueKind {
    ValueKind("NAME@HOST") { argument throws(InvalidValue) in
      guard let text = argument.text, let end = text.lastIndex(of: "@"), end > text.startIndex,
        !text[end...].contains(where: { "/?#".contains($0) }), !text.hasSuffix(":"),
        let root = try? NormalizedURL("https://\(text[text.index(after: end)...])/")
      else {
        throw InvalidValue(expected: "a user and a host such as alice@example.org")
      }
      let place = text[text.index(after: end)...]
      let hasPort = (place.lastIndex(of: "]").map { place[$0...] } ?? place).contains(":")
      // RFC 7617, section 2: the name ends at the first colon.
      let user = String(text[..<end])
      if user.contains(":") {
        throw InvalidValue(
          problem: "a name has no colon, and a password does not stand on a command line, which "
            + "others see",
          remedy: "set OFFLINECACHE_PASSWORD")
      }
      return LoginPlace(text: text, user: user, root: root, hasPort: hasPort)
    }
  }
}
