import CMicrohttpd
package import CacheFormat
package import CacheSystem
import HTTPSemantics
import HTTPTransports

/// The authority of a user, which makes a certificate for each host whose connections are
/// intercepted.
@safe
package final class LocalAuthority: @unchecked Sendable {
  // Unchecked: the pointer is written once, and GnuTLS only reads what it points to.
  private let authority: OpaquePointer
  private let made: Lock<MadeCertificates>
  private let clock: any WallClock

  package let name: String
  /// The SHA-256 of the certificate.
  package let fingerprint: [UInt8]
  /// The names of the hosts for which, and for those below them, it may vouch; empty for all.
  package let hosts: [String]
  package let from: Timestamp, to: Timestamp

  /// Days for which a made certificate is valid. Clients accept no more than 398.
  private static let days: UInt32 = 30
  private static let maximumText = 8 << 10

  /// Reads certificate and key as PEM texts.
  ///
  /// - Throws: ``ProxyError`` with the code `authority`.
  package init(
    certificate: [UInt8], key: [UInt8], path: String, clock: any WallClock = SystemClock()
  ) throws(ProxyError) {
    var code: Int32 = 0
    // Safety: both texts are read during the call.
    let authority = unsafe certificate.withUnsafeBytes { certificate in
      unsafe key.withUnsafeBytes { key in
        unsafe ocmhd_read_authority(
          certificate.baseAddress, certificate.count, key.baseAddress, key.count, &code)
      }
    }
    guard let authority = unsafe authority else {
      let detail =
        switch code {
        case 1: "the file of the certificate has none of an authority in PEM"
        case 2: "the file of the key has none in PEM without a passphrase"
        case 3: "the key is not that of the certificate"
        default: "there is no memory"
        }
      throw ProxyError(.authority, subject: path, detail: detail)
    }
    unsafe self.authority = authority
    self.clock = clock
    made = Lock(MadeCertificates(clock))
    var (first, last): (Int64, Int64) = (0, 0)
    var fingerprint = [UInt8](repeating: 0, count: 32)
    // Safety: the function writes at most 32 bytes, and `capacity` bytes with a NUL.
    name = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
      let done = unsafe ocmhd_describe_authority(
        authority, text.baseAddress, text.count, &fingerprint, &first, &last)
      guard done != 0, let start = text.baseAddress else { return "" }
      return unsafe String(cString: start)
    }
    self.fingerprint = fingerprint
    var names = [CChar](repeating: 0, count: 2 * Self.maximumText)
    // Safety: at most as many bytes are written as the array has.
    guard unsafe ocmhd_permitted_hosts(authority, &names, names.count) != 0 else {
      throw ProxyError(.authority, subject: path, detail: "its name constraints are too long")
    }
    hosts = String(decoding: Self.text(names), as: UTF8.self).split(separator: "\n").map {
      $0.lowercased()
    }
    from = Timestamp(nanoseconds: first * 1_000_000_000)
    to = Timestamp(nanoseconds: last * 1_000_000_000)
  }

  deinit { unsafe ocmhd_free_authority(authority) }

  /// Makes a new authority.
  ///
  /// - Parameters:
  ///   - hosts: The names, with those below them, that it may vouch for; empty for all.
  ///   - days: The days for which it is valid.
  /// - Returns: Certificate and key as PEM texts; `nil` if GnuTLS cannot make them.
  package static func make(
    name: String, hosts: [String], days: UInt32
  ) -> (certificate: [UInt8], key: [UInt8])? {
    var certificate = [CChar](repeating: 0, count: maximumText)
    var key = [CChar](repeating: 0, count: maximumText)
    let texts = hosts.map { Array($0.utf8CString) }
    // Safety: each name has a NUL, and lives as long as the call; at most `maximumText` bytes are
    // written.
    let done = unsafe withPointers(to: texts[...], []) { names in
      unsafe ocmhd_make_authority(
        name, names.baseAddress, names.count, days, &certificate, &key, maximumText)
    }
    guard done != 0 else { return nil }
    return (text(certificate), text(key))
  }

  /// Whether it is valid now, as text for people and programs.
  package enum Validity: String {
    case valid
    case expired
    case tooEarly = "not yet valid"
  }

  package var validity: Validity {
    let now = Timestamp(nanoseconds: clock.now())
    if now < from { return .tooEarly }
    return now > to ? .expired : .valid
  }

  /// Returns whether it may vouch for a host. With name constraints, that is for no address.
  func covers(_ host: String) -> Bool {
    let host = NetworkSetup.withoutDot(host)
    return hosts.isEmpty
      || IPAddress(host) == nil
        && hosts.contains { host == $0 || host.hasSuffix($0.hasPrefix(".") ? $0 : ".\($0)") }
  }

  private static func text(_ characters: [CChar]) -> [UInt8] {
    characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
  }

  private static func withPointers<R>(
    to texts: ArraySlice<[CChar]>, _ before: [UnsafePointer<CChar>?],
    _ body: (UnsafeBufferPointer<UnsafePointer<CChar>?>) -> R
  ) -> R {
    guard let first = texts.first else {
      return unsafe before.withUnsafeBufferPointer { unsafe body($0) }
    }
    return unsafe first.withUnsafeBufferPointer { text in
      unsafe withPointers(to: texts.dropFirst(), before + [text.baseAddress], body)
    }
  }

  /// Makes a connection use a certificate for a host: that which was made before, or a new one.
  ///
  /// - Parameter host: A name, or an address, an IPv6 address with its brackets.
  /// - Returns: false if there is none, because the name is longer than names can be, or there is no
  ///   memory.
  func expect(_ host: String, on socket: Int32) -> Bool {
    // Clients ask for the name without the dot at its end.
    let host = NetworkSetup.withoutDot(host)
    return certificate(for: host)?.expect(on: socket, host: IPAddress(host) == nil ? host : nil)
      ?? false
  }

  /// Returns the certificate for a host: that which was made before, or a new one.
  func certificate(for host: String) -> MadeCertificate? {
    made.withLock { made in
      if let known = made.find(host) { return known }
      guard let new = make(host) else { return nil }
      made.add(new, for: host)
      return new
    }
  }

  /// Forgets a connection that was expected, and returns how far its handshake has come.
  @discardableResult
  static func forget(_ socket: Int32) -> ocmhd_handshake { ocmhd_end_handshake(socket) }

  var madeCount: Int { made.withLock { $0.count } }

  private func make(_ host: String) -> MadeCertificate? {
    let address = IPAddress(host)?.bytes ?? []
    guard !address.isEmpty || Self.isName(host) else { return nil }
    // Safety: name and address are read during the call.
    let leaf = unsafe address.withUnsafeBytes { bytes in
      unsafe ocmhd_make_leaf(authority, host, bytes.baseAddress, bytes.count, Self.days)
    }
    guard let leaf = unsafe leaf else { return nil }
    return unsafe MadeCertificate(taking: leaf)
  }

  /// Returns whether a certificate may be made for a name: letters, digits, `-`, `_` and dots. Not
  /// for a pattern with `*`, which would be valid for other hosts, too.
  private static func isName(_ host: String) -> Bool {
    (1...253).contains(host.utf8.count)
      && host.utf8.allSatisfy { ASCII.isUnreserved($0) && $0 != UInt8(ascii: "~") }
  }
}

@safe
final class MadeCertificate: @unchecked Sendable {
  // Unchecked: the pointer is written once, to a counted object that does not change.
  private let leaf: OpaquePointer

  fileprivate init(taking leaf: OpaquePointer) { unsafe self.leaf = leaf }

  deinit { unsafe ocmhd_release_leaf(leaf) }

  /// Makes a connection use it.
  fileprivate func expect(on socket: Int32, host: String?) -> Bool {
    // Safety: the table keeps the certificate as long as the handshake lasts, and copies the name.
    unsafe ocmhd_expect_handshake(socket, leaf, host) != 0
  }
}

/// The certificates that were made, at most 1,024: the one that was not used for the longest time
/// goes first.
private struct MadeCertificates: Sendable {
  private static let maximum = 1_024
  /// The age at which one is made anew, long before it ends.
  private static let longest: Int64 = 7 * 86_400 * 1_000_000_000

  private let clock: any WallClock
  private var items: [String: (certificate: MadeCertificate, made: Int64, used: UInt64)] = [:]
  private var uses: UInt64 = 0

  init(_ clock: any WallClock) { self.clock = clock }

  var count: Int { items.count }

  /// Returns the certificate for a host. One of the future was made before the clock was set back, so
  /// it is not valid yet.
  mutating func find(_ host: String) -> MadeCertificate? {
    guard let item = items[host], (0..<Self.longest).contains(clock.now() &- item.made) else {
      return nil
    }
    uses += 1
    items[host]?.used = uses
    return item.certificate
  }

  mutating func add(_ certificate: MadeCertificate, for host: String) {
    if items[host] == nil, items.count >= Self.maximum,
      let old = items.min(by: { $0.value.used < $1.value.used })
    {
      items[old.key] = nil
    }
    uses += 1
    items[host] = (certificate, clock.now(), uses)
  }
}
