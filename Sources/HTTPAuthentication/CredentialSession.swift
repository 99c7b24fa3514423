import CacheSystem
package import HTTPSemantics

/// The credentials of one client, in memory: which is sent where before a server asks, and how.
package final class CredentialSession: Sendable {
  /// A protection space (RFC 9110, section 11.5).
  package struct Space: Hashable {
    let origin: NormalizedURL.Origin
    let realm: String

    package init(origin: NormalizedURL.Origin, realm: String) {
      self.origin = origin
      self.realm = realm
    }
  }

  /// How a credential is sent to one origin.
  enum Way: Hashable {
    case bearer
    case basic
    case digest(DigestTerms, count: UInt32)
  }

  /// The limit of remembered pairs of credential and origin. Those of credentials that are kept or in
  /// use may be more: a password that was sent by Digest must not be sent by Basic. Any other that is
  /// forgotten costs one more 401.
  static let maximumWays = 1024

  /// How often in a row a credential that was accepted may be refused before it is forgotten. A server
  /// also sends 401 where this user may not go, and a password that has changed must not be tried for
  /// ever.
  static let maximumRefusals = 8

  /// The limit of realms of one origin: a server may name another one each time. The oldest is forgotten
  /// for another, which costs one more 401.
  private static let maximumRealms = 64

  /// The limit of directories of one protection space; a forgotten one costs one more 401.
  private static let maximumDirectories = 64

  private struct Kept {
    let space: Space
    /// The directories below which it is sent before the server asks (RFC 7617, section 2.2).
    var directories: [String]
    let credential: Credential
    /// Where the vault saves it once a server has accepted it; `nil` if it is saved, or not to be.
    var unsaved: ProtectionSpace?
    var isAccepted = false
    /// How often it has been refused since it was accepted.
    var refusals = 0
  }

  private struct State {
    var kept: [Kept] = []
    /// The credentials in use, by name, with the number of users.
    var inUse: [String: (credential: Credential, users: Int, owners: Int)] = [:]
    var ways: [WayKey: Way] = [:]
    var changes: UInt64 = 0
    var logOuts: UInt64 = 0
    /// The number of log-outs that are emptying the vault.
    var emptying = 0
  }

  private struct WayKey: Hashable {
    let origin: NormalizedURL.Origin
    let name: String
  }

  private let state = Lock(State())

  /// The number of log-ins and log-outs.
  package var changes: UInt64 { state.withLock { $0.changes } }

  /// The number of log-outs that have begun, and of those that have emptied the vault.
  package var logOuts: UInt64 { state.withLock { $0.logOuts } }

  /// Records that a credential is used that is not kept.
  ///
  /// - Parameter logOuts: It must not be used unless ``logOuts`` has this value.
  /// - Returns: Whether it may be used.
  package func noteUnkept(ifStill logOuts: UInt64) -> Bool {
    state.withLock { state in
      guard logOuts == state.logOuts else { return false }
      state.changes += 1
      return true
    }
  }

  /// Returns the credential that is sent to a URL before the server asks, or `nil`.
  func credential(for url: NormalizedURL) -> Credential? {
    state.withLock { state in
      guard !state.kept.isEmpty else { return nil }
      let origin = NormalizedURL.Origin(url)
      // The deepest directory counts, and then the credential whose realm is known.
      var best: (rank: (depth: Int, hasRealm: Int), credential: Credential)?
      for kept in state.kept where kept.space.origin == origin {
        for directory in kept.directories where url.target.hasPrefix(directory) {
          let rank = (depth: directory.utf8.count, hasRealm: kept.space.realm.isEmpty ? 0 : 1)
          if rank > best?.rank ?? (-1, 0) { best = (rank, kept.credential) }
        }
      }
      return best?.credential
    }
  }

  func credential(in space: Space) -> Credential? {
    state.withLock { state in state.kept.first { $0.space == space }?.credential }
  }

  /// Keeps a credential for a protection space. From now on it is sent below some directories.
  ///
  /// - Parameters:
  ///   - directories: The beginnings of the paths; `nil` for the directory of the URL.
  ///   - unsaved: Where the vault saves it once a server has accepted it, or `nil`.
  ///   - logOuts: Nothing is kept unless ``logOuts`` has this value, and no log-out is emptying the vault;
  ///     `nil` to keep it in any case.
  /// - Returns: Whether it is kept.
  @discardableResult
  package func keep(
    _ credential: Credential, in space: Space, at url: NormalizedURL,
    below directories: [String]? = nil, saving unsaved: ProtectionSpace? = nil,
    ifStill logOuts: UInt64? = nil
  ) -> Bool {
    let directories = directories ?? [Self.directory(of: url)]
    return state.withLock { state in
      guard logOuts == nil || logOuts == state.logOuts && state.emptying == 0
      else { return false }
      if let index = state.kept.firstIndex(where: { $0.space == space }) {
        if state.kept[index].credential == credential {
          let known = state.kept[index].directories
          let all = known + directories.filter { !known.contains($0) }
          state.kept[index].directories = all.suffix(Self.maximumDirectories)
          if let unsaved { state.kept[index].unsaved = unsaved }
          return true
        }
        Self.release(state.kept[index].credential, &state)
        state.kept.remove(at: index)
      }
      let others = state.kept.indices.filter {
        state.kept[$0].space.origin == space.origin && !state.kept[$0].space.realm.isEmpty
      }
      if others.count >= Self.maximumRealms {
        Self.release(state.kept.remove(at: others[0]).credential, &state)
      }
      Self.retain(credential, &state)
      state.changes += 1
      state.kept.append(
        Kept(
          space: space, directories: directories.suffix(Self.maximumDirectories),
          credential: credential, unsaved: unsaved))
      return true
    }
  }

  func noteAccepted(_ credential: Credential, at url: NormalizedURL) {
    let origin = NormalizedURL.Origin(url)
    state.withLock { state in
      for index in state.kept.indices
      where state.kept[index].space.origin == origin && state.kept[index].credential == credential
        && state.kept[index].directories.contains(where: { url.target.hasPrefix($0) })
      {
        state.kept[index].isAccepted = true
        state.kept[index].refusals = 0
      }
    }
  }

  /// Returns where the vault has to save a credential that a server has accepted, once.
  ///
  /// - Returns: The place, and the value of ``logOuts``; `nil` if there is nothing to save.
  func takeAccepted(
    _ credential: Credential, at url: NormalizedURL
  ) -> (space: ProtectionSpace, logOuts: UInt64)? {
    let origin = NormalizedURL.Origin(url)
    return state.withLock { state in
      let index = state.kept.firstIndex {
        $0.isAccepted && $0.unsaved != nil && $0.space.origin == origin
          && $0.credential == credential
      }
      guard let index, let space = state.kept[index].unsaved.take() else { return nil }
      return (space, state.logOuts)
    }
  }

  /// Records that an origin has refused a credential, and forgets it, unless the origin has accepted
  /// it before: then only the page may be closed to this user.
  ///
  /// - Returns: Whether it is not kept any more.
  func refuse(_ credential: Credential, at url: NormalizedURL) -> Bool {
    let origin = NormalizedURL.Origin(url)
    return state.withLock { state in
      var isKept = false
      for index in state.kept.indices.reversed()
      where state.kept[index].space.origin == origin && state.kept[index].credential == credential {
        state.kept[index].refusals += 1
        if state.kept[index].isAccepted, state.kept[index].refusals < Self.maximumRefusals {
          isKept = true
        } else {
          state.kept.remove(at: index)
          Self.release(credential, &state)
          state.changes += 1
        }
      }
      return !isKept
    }
  }

  /// Returns whether a 401 asks for realms for which a credential is not kept: the server has not tried
  /// it there. A credential whose realm is not known is for all, and so is one that a request was given.
  func isForOtherRealm(
    _ credential: Credential, than head: HTTPResponseHead, at url: NormalizedURL
  ) -> Bool {
    let origin = NormalizedURL.Origin(url)
    let asked = AuthenticationChallenge.supported(in: head).map { $0.challenge.realm }
    return state.withLock { state in
      guard state.inUse[credential.name]?.owners ?? 0 == 0 else { return false }
      let own = state.kept.filter { $0.space.origin == origin && $0.credential == credential }
      return !own.isEmpty && !asked.isEmpty
        && own.allSatisfy { !$0.space.realm.isEmpty && !asked.contains($0.space.realm) }
    }
  }

  /// Returns whether a credential that the vault had may find stored responses: nobody has logged out
  /// since, and no other credential is in memory for the origin.
  ///
  /// - Parameters:
  ///   - credential: The credential.
  ///   - url: A URL of the origin.
  ///   - logOuts: The value of ``logOuts`` before the vault was asked.
  func isOnly(_ credential: Credential, at url: NormalizedURL, ifStill logOuts: UInt64) -> Bool {
    let origin = NormalizedURL.Origin(url)
    return state.withLock { state in
      logOuts == state.logOuts && state.emptying == 0
        && state.kept.allSatisfy { $0.space.origin != origin || $0.credential == credential }
    }
  }

  /// Notes that the vault is empty. What was found before is not kept.
  func endEmptying() {
    state.withLock { state in
      state.emptying -= 1
      state.logOuts += 1
    }
  }

  /// - Parameter isEmptying: Whether the vault is emptied next.
  func forgetAll(isEmptying: Bool = false) {
    state.withLock { state in
      if isEmptying { state.emptying += 1 }
      for kept in state.kept { Self.release(kept.credential, &state) }
      state.changes += 1
      state.logOuts += 1
      state.kept = []
      state.ways = [:]
    }
  }

  /// The path up to its last slash, without the query.
  private static func directory(of url: NormalizedURL) -> String {
    let path = url.target.prefix { $0 != "?" }
    return String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
  }
}

// The credentials that requests in progress use.
extension CredentialSession {
  /// Makes a credential available by its name until it is released.
  ///
  /// - Parameter isOwn: whether a request was given it, so that it is meant for any realm.
  package func retain(_ credential: Credential, isOwn: Bool = false) {
    state.withLock { state in
      Self.retain(credential, &state)
      if isOwn { state.inUse[credential.name]?.owners += 1 }
    }
  }

  package func release(_ credential: Credential, isOwn: Bool = false) {
    state.withLock { state in
      if isOwn { state.inUse[credential.name]?.owners -= 1 }
      Self.release(credential, &state)
    }
  }

  package func credential(named name: String) -> Credential? {
    state.withLock { $0.inUse[name]?.credential }
  }

  /// Returns how a credential is sent to an origin, and counts the use of a nonce.
  func way(for credential: Credential, to url: NormalizedURL) -> Way? {
    let key = WayKey(origin: NormalizedURL.Origin(url), name: credential.name)
    return state.withLock { state in
      guard let way = state.ways[key] else { return nil }
      if case .digest(let terms, let count) = way {
        state.ways[key] = .digest(terms, count: count &+ 1)
        return .digest(terms, count: count &+ 1)
      }
      return way
    }
  }

  /// Returns whether nobody has taken a way since it was returned, or has set another one.
  func isLatest(_ way: Way?, for credential: Credential, to url: NormalizedURL) -> Bool {
    let key = WayKey(origin: NormalizedURL.Origin(url), name: credential.name)
    return state.withLock { $0.ways[key] == way }
  }

  /// Records the scheme of a 401 for a credential that has not been sent to the origin yet.
  func learn(_ head: HTTPResponseHead, for credential: Credential, to url: NormalizedURL) {
    let key = WayKey(origin: NormalizedURL.Origin(url), name: credential.name)
    guard state.withLock({ $0.ways[key] }) == nil,
      var way = AuthenticatingTransport.next(after: head, nil, credential)
    else { return }
    if case .digest(let terms, _) = way { way = .digest(terms, count: 0) }
    setWay(way, for: credential, to: url)
  }

  /// Returns whether a credential that is sent by Digest has met a server that accepts only Basic,
  /// which has therefore not tried it.
  func isUnseen(
    _ credential: Credential, by head: HTTPResponseHead, at url: NormalizedURL
  ) -> Bool {
    let key = WayKey(origin: NormalizedURL.Origin(url), name: credential.name)
    guard case .digest = state.withLock({ $0.ways[key] }) else { return false }
    let wanted = AuthenticationChallenge.supported(in: head).map(\.scheme)
    return wanted.contains(.basic) && !wanted.contains(.digest)
  }

  func setWay(_ way: Way, for credential: Credential, to url: NormalizedURL) {
    let key = WayKey(origin: NormalizedURL.Origin(url), name: credential.name)
    state.withLock { state in
      if state.ways.count >= Self.maximumWays {
        state.ways = state.ways.filter { state.inUse[$0.key.name] != nil }
      }
      state.ways[key] = way
    }
  }

  private static func retain(_ credential: Credential, _ state: inout State) {
    state.inUse[credential.name, default: (credential, 0, 0)].users += 1
  }

  private static func release(_ credential: Credential, _ state: inout State) {
    guard let users = state.inUse[credential.name]?.users else { return }
    guard users == 1 else {
      state.inUse[credential.name]?.users = users - 1
      return
    }
    state.inUse[credential.name] = nil
  }
}
