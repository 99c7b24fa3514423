#if canImport(Darwin)
  final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    enum Answer: Sendable {
      case use(user: String, password: String, once: Bool)
      case goOnWithout
      case cancel
    }

    private let receive: @Sendable (Answer) -> Void

    /// Makes a receiver. `receive` may be called from any thread.
    init(_ receive: @escaping @Sendable (Answer) -> Void) { self.receive = receive }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
      guard let user = credential.user, let password = credential.password else {
        return receive(.goOnWithout)
      }
      receive(.use(user: user, password: password, once: credential.persistence == .none))
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
      receive(.goOnWithout)
    }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { receive(.goOnWithout) }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
      receive(.goOnWithout)
    }

    func cancel(_ challenge: URLAuthenticationChallenge) { receive(.cancel) }
  }
#endif
