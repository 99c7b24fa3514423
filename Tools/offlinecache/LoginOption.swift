import CacheClient
import CommandLineTools
import HTTPSemantics
import Synchronization

/// `--user`: who logs in, and at which host.
enum LoginOption {
  static let option = Option(
    "user", short: "u", .login,
    help:
      "Log in at this host, or HOST:PORT, when it asks (Digest, else Basic); the password is taken "
      + "from OFFLINECACHE_PASSWORD, or asked for on the terminal at once. What is stored for this user "
      + "is found with this option alone")

  /// Returns who logs in, with the password; nil: nobody.
  ///
  /// - Parameter addresses: the URLs that were typed.
  /// - Throws: ``ToolError`` where there is no password to be had; `Interrupted`.
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
    return HostLogin(
      place, .password(user: place.user, password: password), for: addresses)
  }
}

/// A user of one host.
struct LoginPlace: Sendable {
  /// As it was typed.
  let text: String
  let user: String
  /// The host by https.
  let root: NormalizedURL
  /// Whether a port was named; else any that is typed in a URL will do.
  let hasPort: Bool
}

/// Who logs in at one host: at the servers of the URLs that were typed, and by https at the host itself.
///
/// A redirect does not lead to more: whoever answers at another port, or in clear, is asked for nothing.
final class HostLogin: Sendable {
  private let credential: Credential
  private let roots: Set<NormalizedURL>
  private let isRefused = Mutex(false)

  init(_ place: LoginPlace, _ credential: Credential, for addresses: [String]) {
    self.credential = credential
    var roots: Set<NormalizedURL> = [place.root]
    for address in addresses {
      // What is no URL is told where it is asked for.
      guard let url = try? NormalizedURL(address), url.host == place.root.host,
        !place.hasPort || url.port == place.root.port, let root = try? url.replacingTarget("/")
      else { continue }
      roots.insert(root)
    }
    self.roots = roots
  }

  /// Answers a server that asks, as long as none has refused: the same password again would be as wrong,
  /// and may lock the account.
  var provider: CredentialProvider {
    { [self] challenge in
      guard challenge.scheme != .bearer, let root = try? challenge.url.replacingTarget("/"),
        roots.contains(root)
      else { return nil }
      return isRefused.withLock { isRefused in
        if challenge.failures > 0 { isRefused = true }
        return isRefused ? nil : credential
      }
    }
  }

  /// Has a client look for what is stored for this user, too.
  func use(by client: CachingClient) {
    for root in roots { client.use(credential, for: root) }
  }
}

extension ValueKind where Value == LoginPlace {
  /// A name, `@`, a host, and a port if it matters.
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
