/// The reason why a proxy cannot start or write its log.
package struct ProxyError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable {
    /// The address is in use by this or another program.
    case addressInUse
    /// The address belongs to no interface of this machine, or the name cannot be resolved.
    case addressNotAvailable
    /// The port requires a privilege.
    case permissionDenied
    /// The file of the log cannot be opened.
    case log
    /// The certificate for clients cannot be used.
    case certificate
    /// The user's authority for intercepted connections cannot be used.
    case authority
    /// Other machines could use the authority.
    case openAuthority
    /// Another error of the system, such as a lack of memory or threads.
    case system
  }

  package let code: Code

  /// The address or path.
  package let subject: String

  /// The text of the system; may be empty.
  package let detail: String

  package init(_ code: Code, subject: String, detail: String = "") {
    self.code = code
    self.subject = subject
    self.detail = detail
  }

  /// The subject, the problem and the advice.
  package var description: String {
    let (problem, remedy) = explanation
    let words = detail.isEmpty ? problem : "\(problem) (\(detail))"
    return "\(subject): \(words); \(remedy)"
  }

  /// Compares code and subject. The detail is not compared, because it is text for people.
  package static func == (left: ProxyError, right: ProxyError) -> Bool {
    left.code == right.code && left.subject == right.subject
  }

  /// Hashes the properties that ``==(_:_:)`` compares.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(subject)
  }

  private var explanation: (problem: String, remedy: String) {
    switch code {
    case .addressInUse:
      (
        "the address is in use",
        "choose another port with --listen, or end the program that listens there"
      )
    case .addressNotAvailable:
      ("there is no such address on this machine", "check the host in --listen")
    case .permissionDenied:
      ("this port needs a privilege", "choose a port from 1024 on")
    case .log: ("the log cannot be opened", "check folder and permissions, or use another file")
    case .certificate:
      ("the certificate cannot be used", "check the files of --tls-cert and --tls-key")
    case .authority:
      (
        "the authority cannot be used",
        "remove it with 'offlinecache ca remove', and make another one"
      )
    case .openAuthority:
      (
        "other machines could use --intercept, and read what is stored for this user",
        "use --listen 127.0.0.1:PORT, or allow it with --allow-private"
      )
    case .system: ("the server cannot start", "check the limits of the system")
    }
  }
}
