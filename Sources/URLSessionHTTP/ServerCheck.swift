import Foundation
import HTTPTransports
import MessageDigests

#if canImport(Security)
  import HTTPSemantics
  import Security
#endif

/// Checks servers, and proves this client to them. On Linux, URLSession does that alone.
struct ServerCheck: Sendable {
  private let setup: NetworkSetup
  private let acceptsServer: (@Sendable (ServerCertificates) async -> Bool)?

  #if canImport(Security)
    private let authorities: [SecCertificate]?
    private let identity: ClientIdentity?

    /// Reads the files of the set-up.
    ///
    /// - Throws: `authoritiesFile`, `clientCertificate`.
    init(_ setup: NetworkSetup, _ options: URLSessionOptions) throws(TransportError) {
      self.setup = setup
      acceptsServer = options.acceptsServer
      authorities =
        if let file = setup.certificateAuthoritiesFile { try Self.certificates(in: file) } else {
          nil
        }
      identity = if let mine = setup.clientCertificate { try ClientIdentity(mine) } else { nil }
    }

    func answer(
      _ challenge: URLAuthenticationChallenge, _ running: SessionTask
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
      let space = challenge.protectionSpace
      // Not that of the space, which has no brackets around an IPv6 address.
      let host = running.transfer.request.url.host
      switch space.authenticationMethod {
      case NSURLAuthenticationMethodServerTrust:
        guard let trust = space.serverTrust else { return (.cancelAuthenticationChallenge, nil) }
        if let fault = await fault(of: trust, host, running.transfer) {
          running.fail(fault)
          return (.cancelAuthenticationChallenge, nil)
        }
        return (.useCredential, URLCredential(trust: trust))
      case NSURLAuthenticationMethodClientCertificate:
        guard let identity, identity.isFor(host) else {
          return (.performDefaultHandling, nil)
        }
        return (.useCredential, identity.credential)
      default:
        // A proxy may have credentials in the system's settings. A 401 is returned as it is.
        return (space.isProxy() ? .performDefaultHandling : .rejectProtectionSpace, nil)
      }
    }

    /// Returns the reason why a server is not accepted, or `nil` if it is.
    private func fault(
      of trust: SecTrust, _ host: String, _ transfer: Transfer
    ) async -> TransportError? {
      if let authorities {
        SecTrustSetAnchorCertificates(trust, authorities as CFArray)
        SecTrustSetAnchorCertificatesOnly(trust, true)
      }
      let refusal = await Self.refusal(of: trust)
      let chain = (SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []).map {
        [UInt8](SecCertificateCopyData($0) as Data)
      }
      return await verdict(chain, refusal: refusal, host, transfer)
    }

    /// Returns why the system does not trust a server, or `nil`. It may ask the network, so it runs
    /// on a thread that may wait.
    private static func refusal(of trust: SecTrust) async -> String? {
      // Safety: this task does nothing with it until the evaluation has ended.
      let shared = Shared(trust: trust)
      return await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          var error: CFError?
          let isTrusted = unsafe SecTrustEvaluateWithError(shared.trust, &error)
          let text = error.map { CFErrorCopyDescription($0) as String }
          continuation.resume(returning: isTrusted ? nil : text ?? "it is not trusted")
        }
      }
    }

    private struct Shared: @unchecked Sendable {
      let trust: SecTrust
    }

    private static func certificates(in file: String) throws(TransportError) -> [SecCertificate] {
      let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
      let found = PEM.contents(of: "CERTIFICATE", in: text).compactMap {
        SecCertificateCreateWithData(nil, Data($0) as CFData)
      }
      guard !found.isEmpty else {
        throw TransportError(
          .authoritiesFile, url: "https:", detail: "\(file) cannot be read, or has no certificate")
      }
      return found
    }
  #else
    /// Checks nothing: `SessionConfiguration` has refused a set-up that needs it.
    init(_ setup: NetworkSetup, _ options: URLSessionOptions) throws(TransportError) {
      self.setup = setup
      acceptsServer = options.acceptsServer
    }
  #endif

  /// Returns the reason why a server is not accepted, or `nil` if it is.
  ///
  /// - Parameters:
  ///   - chain: its certificates in DER, its own first.
  ///   - refusal: the reason why the system, or the authorities of the set-up, do not trust it.
  func verdict(
    _ chain: [[UInt8]], refusal: String?, _ host: String, _ transfer: Transfer
  ) async -> TransportError? {
    let found = chain.first.map(Self.pins) ?? []
    if let acceptsServer {
      let server = ServerCertificates(
        host: host, certificates: chain, isTrusted: refusal == nil, pins: found)
      if await !acceptsServer(server) {
        return transfer.error(.certificate, refusal ?? "the program does not accept \(host)")
      }
    } else if let refusal {
      return transfer.error(.certificate, refusal)
    }
    guard let pins = setup.pins(of: host), pins.isDisjoint(with: found) else { return nil }
    let names = found.map(\.description).sorted().joined(separator: " and ")
    return transfer.error(.pinMismatch, "\(host) has \(names)")
  }

  static func pins(of certificate: [UInt8]) -> Set<Pin> {
    var found: Set<Pin> = []
    for (subject, bytes) in [
      (Pin.Subject.certificate, certificate[...]),
      (.publicKey, PublicKeyInfo.of(certificate: certificate)),
    ] {
      guard let bytes else { continue }
      let digest = MessageDigest.of(Array(bytes), .sha256)
      if let pin = Pin(subject, digest: digest) { found.insert(pin) }
    }
    return found
  }
}
