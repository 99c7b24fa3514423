import CommandLineTools
import HTTPSemantics
import HTTPTransports

/// The options for connections to servers, shared by all commands that use the network.
enum NetworkOptions {
  private static let group = "Network"
  private static let authorities = Option(
    "ca-file", .path.named("FILE"), group: group,
    help: "Trust only these certificate authorities (PEM)")
  private static let pins = Option(
    "pin", .pin, repeats: true, group: group,
    help: "Connect to a host only if it has this key (sha256/BASE64) or certificate (the SHA-256 "
      + "in hex); with several pins for one host, one must match")
  private static let certificate = Option(
    "client-cert", .path.named("FILE"), group: group,
    help: "Present this certificate (PEM) to servers that ask for one")
  private static let key = Option(
    "client-key", .path.named("FILE"), defaultText: "in the file of --client-cert", group: group,
    help: "The private key of --client-cert (PEM); its passphrase, if it has one, is taken from "
      + "OFFLINECACHE_KEY_PASSPHRASE")

  /// The proxy option; a command may have its own instead.
  static let proxy = Option(
    "proxy", .proxy, defaultText: "environment", group: group,
    help: "Reach servers through this proxy (http, https, socks5, socks5h), through the one in "
      + "http_proxy and similar variables, or directly")

  /// All options but the proxy, which some commands describe in their own words.
  static let all: [any OptionDeclaration] = [authorities, pins, certificate, key]

  /// All options for commands that send requests for the user of the command line.
  static let allWithLogin: [any OptionDeclaration] = [LoginOption.option] + all + [proxy]

  /// All options for commands that use a second tier alone.
  static let allForRemote = all + [proxy]

  private static let timeout = Option(
    "timeout", .timeout, defaultText: "60s, 30s to connect", group: group,
    help: "Give up on a server if no byte is sent or received for this time")

  static let insecureRedirects = Flag(
    "insecure-redirects", group: group,
    help: "Follow redirects from https to http, which others on the network can read and change")

  /// All options for commands that send or receive content.
  static let allForTransfers = allWithLogin + [timeout, insecureRedirects]

  /// Returns the time limits and the redirect rule for commands that have ``allForTransfers``.
  static func transportOptions(_ invocation: Invocation) -> TransportOptions {
    var options = TransportOptions()
    if let time = invocation[timeout] {
      options.connectTimeout = time
      options.idleTimeout = time
    }
    options.allowsInsecureRedirects = invocation[insecureRedirects]
    return options
  }

  /// Returns the set-up that the options describe.
  ///
  /// - Throws: `UsageError`; ``ToolError`` for a file that cannot be read. Without this check,
  ///   every request would fail later, with a message about certificates.
  static func setup(
    _ invocation: Invocation, _ proxy: Option<NetworkSetup.Proxy> = NetworkOptions.proxy
  ) throws -> NetworkSetup {
    var setup = NetworkSetup()
    setup.certificateAuthoritiesFile = try path(authorities, invocation)
    for pin in invocation.all(pins) { setup.pins[pin.host, default: []].insert(pin.pin) }
    if let file = try path(certificate, invocation) {
      setup.clientCertificate = ClientCertificate(
        certificateFile: file, keyFile: try path(key, invocation),
        passphrase: Argument.environment("OFFLINECACHE_KEY_PASSPHRASE")?.text)
    } else if invocation[key] != nil {
      throw invocation.usageError(
        "--client-key goes with --client-cert", remedy: "give the certificate, too")
    }
    setup.proxy = invocation[proxy] ?? .environment
    return setup
  }

  private static func path(_ option: Option<Argument>, _ invocation: Invocation) throws -> String? {
    guard let argument = invocation[option] else { return nil }
    let path = try invocation.text(of: argument)
    _ = try InputFile(argument)
    return path
  }
}

struct HostPin: Sendable {
  let host: String
  let pin: Pin
}

extension ValueKind where Value == HostPin {
  static var pin: ValueKind {
    ValueKind("HOST=PIN") { argument throws(InvalidValue) in
      guard let text = argument.text, let end = text.firstIndex(of: "="), end > text.startIndex,
        NetworkSetup.isHost(text[..<end].lowercased())
      else {
        throw InvalidValue(
          expected: "a host and a pin such as example.org=sha256/BASE64 of a key, or "
            + "example.org=AB:CD:... of a certificate (32 bytes in hex)")
      }
      do throws(PinError) {
        let pin = try Pin(String(text[text.index(after: end)...]))
        return HostPin(host: text[..<end].lowercased(), pin: pin)
      } catch {
        throw InvalidValue(problem: "'\(error.text)': \(error.problem)", remedy: error.remedy)
      }
    }
  }
}

extension ValueKind where Value == NetworkSetup.Proxy {
  static var proxy: ValueKind {
    ValueKind("environment|none|URL") { argument throws(InvalidValue) in
      switch argument.text {
      case "environment": return .environment
      case "none": return NetworkSetup.Proxy.none
      case let text? where isProxy(text): return .url(text)
      case let text? where text.contains("@"):
        // The message must not show a password.
        throw InvalidValue(
          problem: "the URL of the proxy, with a name, is not valid",
          remedy: "give one such as http://NAME:PASSWORD@proxy:3128, with '/', '?', '#' and '@' in "
            + "name and password written as %2F, %3F, %23 and %40")
      default:
        throw InvalidValue(expected: "environment, none, or a URL such as http://proxy:3128")
      }
    }
  }

  private static func isProxy(_ url: String) -> Bool {
    for scheme in ["http://", "https://", "socks5://", "socks5h://"] where url.hasPrefix(scheme) {
      return (try? NormalizedURL("http://" + url.dropFirst(scheme.count))) != nil
    }
    return false
  }
}
