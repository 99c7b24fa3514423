#if canImport(Darwin)
  // On Apple platforms the client of a URLProtocol gets redirects and challenges, and passes them to
  // the delegate of the session. On Linux both crash or hang in Foundation.
  extension ProtocolLoad {
    /// Tells the client of a redirect. URLSession starts another load for it.
    ///
    /// - Returns: whether the response was a redirect that can be followed.
    func redirect(_ fetched: Fetched) -> Bool {
      let original = unsafe target.request
      let next: URLRequest?
      do throws(TransportError) {
        next = try original.redirected(
          by: fetched.response, fetched.asked,
          allowsInsecure: fetched.cache.options.allowsInsecureRedirects)
      } catch {
        let failure = ClientError(.transport(error), url: error.url)
        fail(URLError(failure, url: fetched.asked.url, isOffline: false))
        return true
      }
      guard let next else { return false }
      guard end(), let client = unsafe target.client else { return true }
      unsafe client.urlProtocol(target, wasRedirectedTo: next, redirectResponse: fetched.response)
      // This load is over, also if the delegate does not follow the redirect.
      unsafe client.urlProtocol(target, didFailWithError: CocoaError(.userCancelled))
      unsafe target.forget(self)
      return true
    }

    /// Asks the client for a credential, unless the cache asks its own provider.
    ///
    /// - Returns: whether it is asked; the load goes on with its answer.
    func askForCredential(_ fetched: Fetched) -> Bool {
      guard fetched.response.statusCode == 401, fetched.cache.options.credentials == nil,
        let space = Self.space(of: fetched.response), let client = unsafe target.client
      else { return false }
      let sender = ChallengeSender { [self] answer in
        onQueue { $0.goOn(fetched, answer) }
      }
      let challenge = URLAuthenticationChallenge(
        protectionSpace: space, proposedCredential: nil, previousFailureCount: fetched.failures,
        failureResponse: fetched.response, error: nil, sender: sender)
      unsafe client.urlProtocol(target, didReceive: challenge)
      return true
    }

    private func goOn(_ fetched: Fetched, _ answer: ChallengeSender.Answer) {
      if isOver { return }
      switch answer {
      case .use(let user, let password, let once):
        var again = fetched.asked
        again.options.credential = .password(
          user: user, password: password, persistence: once ? .request : .session)
        run(again, fetched.cache, failures: fetched.failures + 1)
      case .goOnWithout: deliver(fetched)
      case .cancel:
        fail(
          URLError(
            .userCancelledAuthentication, url: fetched.asked.url,
            cause: "the delegate of the session has cancelled the challenge"))
      }
    }

    private static func space(of response: HTTPURLResponse) -> URLProtectionSpace? {
      guard let value = response.value(forHTTPHeaderField: "WWW-Authenticate"),
        let url = response.url, let host = url.host(percentEncoded: true)
      else { return nil }
      let challenges = Challenge.all(in: [HTTPField("WWW-Authenticate", value)])
      // The stronger scheme first.
      for (scheme, method) in [
        ("Digest", NSURLAuthenticationMethodHTTPDigest),
        ("Basic", NSURLAuthenticationMethodHTTPBasic),
      ] {
        guard let challenge = challenges.first(where: { $0.isScheme(scheme) }) else { continue }
        return URLProtectionSpace(
          host: host, port: url.port ?? (url.scheme == "https" ? 443 : 80), protocol: url.scheme,
          realm: challenge.realm, authenticationMethod: method)
      }
      return nil
    }
  }
#endif
