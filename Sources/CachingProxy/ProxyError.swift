/// Tells why a proxy cannot start or write its log.
package struct ProxyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Names the cause.
  package enum Code: String, Sendable, Hashable {
    /// Another program, or this one, listens there.
    case addressInUse
    /// The address belongs to no interface of this machine, or the name is not known.
    case addressNotAvailable
    /// The port is one of those that need a privilege.
    case permissionDenied
    /// The file of the log cannot be opened.
    case log
    /// The system refused something else, such as memory or threads.
    case system
  }

  /// Names the cause.
  package let code: Code

  /// Gives the address or path.
  package let subject: String

  /// Gives the system's words; may be empty.
  package let detail: String

  /// Makes an error.
  package init(_ code: Code, subject: String, detail: String = "") {
    self.code = code
    self.subject = subject
    self.detail = detail
  }

  /// Says where, what happened, and what to do.
  package var description: String {
    let (problem, remedy) = explanation
    let words = detail.isEmpty ? problem : "\(problem) (\(detail))"
    return "\(subject): \(words); \(remedy)"
  }

  /// Compares code and subject; the detail is text for people.
  package static func == (left: ProxyError, right: ProxyError) -> Bool {
    left.code == right.code && left.subject == right.subject
  }

  /// Hashes what ``==(_:_:)`` compares.
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
    case .log: ("the log cannot be opened", "check the folder and its permissions")
    case .system: ("the server cannot start", "check the limits of the system")
    }
  }
}
