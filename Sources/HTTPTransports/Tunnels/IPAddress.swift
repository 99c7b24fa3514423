import CLibrary

package struct IPAddress: Sendable, Hashable {
  /// 4 or 16 bytes, in network byte order.
  package let bytes: [UInt8]

  /// Parses a numeric address, an IPv6 address with or without its brackets; returns `nil` for other
  /// texts.
  package init?(_ text: String) {
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let text = isBracketed ? String(text.dropFirst().dropLast()) : text
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      // Safety: inet_pton writes the 4 or 16 bytes of the family into an array of that size.
      let result = unsafe bytes.withUnsafeMutableBytes {
        unsafe inet_pton(family, text, $0.baseAddress)
      }
      if result == 1 {
        self.bytes = bytes
        return
      }
    }
    return nil
  }

  /// Takes the address and port out of a socket address; returns `nil` for other families.
  package static func of(
    _ address: UnsafeRawPointer, length: Int
  ) -> (address: IPAddress, port: UInt16)? {
    guard length >= MemoryLayout<sockaddr_in>.size else { return nil }
    // Safety: the family determines the type of the contents, and the length was checked.
    switch unsafe Int32(address.loadUnaligned(as: sockaddr.self).sa_family) {
    case AF_INET:
      let narrow = unsafe address.loadUnaligned(as: sockaddr_in.self)
      let bytes = unsafe withUnsafeBytes(of: narrow.sin_addr) { unsafe Array($0) }
      return (IPAddress(bytes: bytes), UInt16(bigEndian: narrow.sin_port))
    case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
      let wide = unsafe address.loadUnaligned(as: sockaddr_in6.self)
      let bytes = unsafe withUnsafeBytes(of: wide.sin6_addr) { unsafe Array($0) }
      return (IPAddress(bytes: bytes), UInt16(bigEndian: wide.sin6_port))
    default: return nil
    }
  }

  /// Takes the address out of a socket address that is as long as its family says.
  package static func of(_ address: UnsafeRawPointer) -> IPAddress? {
    // Safety: the family says how long it is; it is read further for the two families only.
    let isWide = unsafe Int32(address.loadUnaligned(as: sockaddr.self).sa_family) == AF_INET6
    let length = isWide ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
    return unsafe of(address, length: length)?.address
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// The numeric address, an IPv6 address without brackets and zone.
  package var text: String {
    // Safety: inet_ntop reads the 4 or 16 bytes of the family, and writes at most INET6_ADDRSTRLEN
    // bytes with a NUL.
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
      guard let start = text.baseAddress else { return "" }
      let family = bytes.count == 4 ? AF_INET : AF_INET6
      return unsafe inet_ntop(family, bytes, start, socklen_t(text.count)).map {
        unsafe String(cString: $0)
      } ?? ""
    }
  }

  /// Whether it is `::1`, or one of 127.0.0.0/8, also within an IPv6 address.
  package var isLoopback: Bool {
    if bytes.count == 4 { return bytes[0] == 127 }
    let zeros = [UInt8](repeating: 0, count: 10)
    return bytes == zeros + [0, 0, 0, 0, 0, 1] || bytes.starts(with: zeros + [0xFF, 0xFF, 127])
  }

  /// The IPv4 address within an IPv6 address, if it is one of the forms that lead to it: mapped,
  /// compatible, NAT64 (RFC 6052) and 6to4 (RFC 3056); otherwise the address itself.
  package var inner: IPAddress {
    guard bytes.count == 16 else { return self }
    let zeros = [UInt8](repeating: 0, count: 10)
    let isMapped = bytes[10...].starts(with: [0xFF, 0xFF])
    // `::` and `::1` are addresses of their own.
    let isCompatible = bytes[10..<15].contains { $0 != 0 } && bytes[10...].starts(with: [0, 0])
    if bytes.starts(with: zeros), isMapped || isCompatible {
      return IPAddress(bytes: Array(bytes[12...]))
    }
    if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) {
      return IPAddress(bytes: Array(bytes[12...]))
    }
    if bytes.starts(with: [0x20, 0x02]) { return IPAddress(bytes: Array(bytes[2..<6])) }
    return self
  }

  /// Whether the address belongs to this machine, a local network or nobody, and not to one host of
  /// the public network (IANA, special-purpose address registries).
  package var isPrivate: Bool {
    let inner = inner.bytes
    if inner.count == 4 {
      switch (inner[0], inner[1]) {
      case (0, _), (10, _), (127, _), (169, 254), (172, 16...31), (192, 168): return true
      case (100, 64...127), (198, 18...19): return true
      case (192, 0): return inner[2] == 0
      default: return inner[0] >= 224
      }
    }
    if inner.dropLast().allSatisfy({ $0 == 0 }), inner[15] <= 1 { return true }
    switch (inner[0], inner[1]) {
    // Unique local, link-local, site-local, multicast.
    case (0xFC...0xFD, _), (0xFE, 0x80...), (0xFF, _): return true
    // Translation within a network (RFC 8215), and Teredo, which has an IPv4 address inside.
    case (0x00, 0x64): return true
    case (0x20, 0x01): return inner[2] == 0 && inner[3] == 0
    default: return false
    }
  }

  /// Whether this machine has the address: an interface has it, or what is sent to it comes from it, too
  /// (a route of the kind `local`). bind(2) would not tell on a machine that lets programs bind addresses
  /// of others (`ip_nonlocal_bind`).
  package var isOfThisMachine: Bool {
    let inner = inner.bytes
    if inner.allSatisfy({ $0 == 0 }) || (inner.count == 4 && inner[0] == 127) { return true }
    if Self.isOfInterface(inner) { return true }
    if inner.count == 4 {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = Self.discardPort
      // Safety: the four bytes are copied into the address.
      unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: inner) }
      return isSource(inner, address, AF_INET)
    }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = Self.discardPort
    // Safety: the sixteen bytes are copied into the address.
    unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: inner) }
    return isSource(inner, address, AF_INET6)
  }

  private static func isOfInterface(_ bytes: [UInt8]) -> Bool {
    var list: UnsafeMutablePointer<ifaddrs>?
    // If it cannot be found out, nobody is to connect to it.
    guard unsafe getifaddrs(&list) == 0 else { return true }
    defer { unsafe freeifaddrs(list) }
    var next = unsafe list
    while let interface = unsafe next {
      unsafe next = interface.pointee.ifa_next
      guard let address = unsafe interface.pointee.ifa_addr else { continue }
      if unsafe IPAddress.of(address)?.bytes == bytes { return true }
    }
    return false
  }

  /// The port does not matter, but must not be 0 on all systems.
  private static let discardPort = in_port_t(9).bigEndian

  private func isSource<Address>(_ bytes: [UInt8], _ address: Address, _ family: Int32) -> Bool {
    let socket = socket(family, Self.datagram, 0)
    // If it cannot be found out, nobody is to connect to it.
    guard socket >= 0 else { return true }
    defer { close(socket) }
    var source = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // Nothing is sent: connect(2) only chooses the source.
    // Safety: the address is read from a local of its size, and `length` bytes are written at most.
    let isConnected = unsafe withUnsafeBytes(of: address) { bytes in
      unsafe connect(
        socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        == 0
    }
    guard isConnected else { return false }
    return unsafe withUnsafeMutablePointer(to: &source) { pointer in
      let place = UnsafeMutableRawPointer(pointer)
      guard
        unsafe getsockname(socket, place.assumingMemoryBound(to: sockaddr.self), &length) == 0,
        let (own, _) = unsafe IPAddress.of(place, length: Int(length))
      else { return true }
      return own.bytes == bytes
    }
  }

  #if canImport(Glibc)
    private static let datagram = Int32(SOCK_DGRAM.rawValue)
  #else
    private static let datagram = SOCK_DGRAM
  #endif
}
