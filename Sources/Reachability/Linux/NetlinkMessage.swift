/// The contents of one message of rtnetlink(7), as far as this module needs them.
enum NetlinkMessage: Hashable {
  /// The route of packets to the requested address.
  case route(Route)
  case link(Link)
  /// An error of the kernel, as an errno value; 0 is an acknowledgement.
  case failure(Int32)
  case other

  struct Route: Hashable {
    /// Whether packets leave through a link: RTN_UNICAST, not `unreachable`, `blackhole` or
    /// `local`.
    var isUnicast: Bool
    /// The index of the link, or `nil` if the message has none.
    var link: Int32?
  }

  struct Link: Hashable {
    var name: String
    /// IFF_UP: the link is enabled.
    var isUp: Bool
    /// IFF_RUNNING: there is a carrier, netdevice(7).
    var isRunning: Bool
    var isLoopback: Bool
  }
}

/// Parses the messages of a datagram of netlink(7): lengths and types in the byte order of the
/// machine, everything aligned to 4 bytes. Parsing ends at a length that exceeds the datagram.
struct NetlinkMessages {
  struct Item: Hashable {
    var sequence: UInt32
    var message: NetlinkMessage
  }

  /// Returns all messages. Truncated and invalid messages are skipped.
  ///
  /// - Complexity: O(bytes).
  static func read(_ bytes: Span<UInt8>) -> [Item] {
    var items: [Item] = []
    var start = 0
    while let length = bytes.integer(UInt32.self, at: start).map(Int.init),
      length >= headBytes, length <= bytes.count - start,
      let type = bytes.integer(UInt16.self, at: start + 4),
      let sequence = bytes.integer(UInt32.self, at: start + 8)
    {
      let content = start + headBytes..<start + length
      items.append(Item(sequence: sequence, message: message(type, bytes, content)))
      start += aligned(length)
    }
    return items
  }

  // linux/netlink.h, linux/rtnetlink.h, linux/if_link.h, linux/if.h
  private static let headBytes = 16
  private static let errorType: UInt16 = 2
  private static let newLinkType: UInt16 = 16
  private static let newRouteType: UInt16 = 24
  private static let linkHeadBytes = 16
  private static let routeHeadBytes = 12
  private static let unicast: UInt8 = 1
  private static let routeLinkAttribute: UInt16 = 4
  private static let nameAttribute: UInt16 = 3
  private static let upFlag: UInt32 = 0x1
  private static let loopbackFlag: UInt32 = 0x8
  private static let runningFlag: UInt32 = 0x40

  private static func message(
    _ type: UInt16, _ bytes: Span<UInt8>, _ content: Range<Int>
  ) -> NetlinkMessage {
    switch type {
    case errorType:
      guard content.count >= 4, let code = bytes.integer(Int32.self, at: content.lowerBound) else {
        return .other
      }
      // The kernel sends -errno. The smallest number has no positive counterpart.
      return .failure(code == .min ? .max : -code)
    case newRouteType where content.count >= routeHeadBytes:
      let attributes = content.dropFirst(routeHeadBytes)
      let link = attribute(routeLinkAttribute, bytes, attributes).flatMap { range in
        range.count >= 4 ? bytes.integer(Int32.self, at: range.lowerBound) : nil
      }
      return .route(
        NetlinkMessage.Route(isUnicast: bytes[content.lowerBound + 7] == unicast, link: link))
    case newLinkType where content.count >= linkHeadBytes:
      guard let flags = bytes.integer(UInt32.self, at: content.lowerBound + 8) else {
        return .other
      }
      let attributes = content.dropFirst(linkHeadBytes)
      let name = attribute(nameAttribute, bytes, attributes).map { text(bytes, $0) } ?? ""
      return .link(
        NetlinkMessage.Link(
          name: name, isUp: flags & upFlag != 0, isRunning: flags & runningFlag != 0,
          isLoopback: flags & loopbackFlag != 0))
    default: return .other
    }
  }

  /// Returns the range of an attribute's value, which follows 4 bytes of length and type.
  private static func attribute(
    _ wanted: UInt16, _ bytes: Span<UInt8>, _ attributes: Range<Int>
  ) -> Range<Int>? {
    var start = attributes.lowerBound
    while attributes.upperBound - start >= 4,
      let length = bytes.integer(UInt16.self, at: start).map(Int.init),
      let type = bytes.integer(UInt16.self, at: start + 2),
      length >= 4, length <= attributes.upperBound - start
    {
      // The two highest bits are flags (NLA_TYPE_MASK).
      if type & 0x3FFF == wanted { return start + 4..<start + length }
      start += aligned(length)
    }
    return nil
  }

  private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
    var name: [UInt8] = []
    for index in range {
      if bytes[index] == 0 { break }
      name.append(bytes[index])
    }
    return String(decoding: name, as: UTF8.self)
  }

  private static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

extension Span<UInt8> {
  /// Returns the number at an offset, in the byte order of the machine, or `nil` if it exceeds the
  /// bytes.
  fileprivate func integer<Number: FixedWidthInteger>(
    _ type: Number.Type, at offset: Int
  ) -> Number? {
    let width = Number.bitWidth / 8
    guard offset >= 0, offset <= count - width else { return nil }
    var value: Number = 0
    for index in 0..<width {
      value |= Number(truncatingIfNeeded: self[offset + index]) << (8 * index)
    }
    // The bytes are combined as on a little-endian machine; on other machines they are swapped.
    return Number(littleEndian: value)
  }
}
