import CachingClient
import CommandLineOptions
import HTTPSemantics

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
  /// - Throws: ``ToolError`` where there is no password to be had; `Interrupted`.
  static func read(_ invocation: Invocation) throws -> HostLogin? {
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
      place: place, credential: .password(user: place.user, password: password))
  }
}

/// A user of one host.
struct LoginPlace: Sendable {
  /// As it was typed.
  let text: String
  let user: String
  let host: String
  /// nil: any.
  let port: Int?
}

/// Who logs in at one host.
struct HostLogin: Sendable {
  let place: LoginPlace
  let credential: Credential

  /// Answers the host when it asks, once a request: the same password again would be as wrong.
  var provider: CredentialProvider {
    { challenge in
      challenge.failures == 0 && challenge.scheme != .bearer && isFor(challenge.url)
        ? credential : nil
    }
  }

  /// Has a client look for what is stored for this user, too.
  func use(by client: CachingClient, for addresses: [String]) throws {
    var known: Set<NormalizedURL> = []
    for address in addresses {
      guard let url = try? NormalizedURL(address), isFor(url) else { continue }
      let root = try url.replacingTarget("/")
      if known.insert(root).inserted { client.use(credential, for: root) }
    }
  }

  private func isFor(_ url: NormalizedURL) -> Bool {
    url.host == place.host && (place.port ?? url.port) == url.port
  }
}

extension ValueKind where Value == LoginPlace {
  /// A name, `@`, a host, and a port if it matters.
  static var login: ValueKind {
    ValueKind("NAME@HOST") { argument throws(InvalidValue) in
      guard let text = argument.text, let end = text.lastIndex(of: "@"), end > text.startIndex,
        let url = try? NormalizedURL("https://\(text[text.index(after: end)...])/"),
        url.target == "/"
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
      return LoginPlace(
        text: text, user: user, host: url.host, port: hasPort ? url.port : nil)
    }
  }
}
