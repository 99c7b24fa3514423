import CLibrary
import HTTPTransports
import Testing

@Suite struct IPAddressTests {
  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1",
    "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8",
    "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
    "::ffff:0.0.0.0", "::ffff:0:1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::10.0.0.1",
    "64:ff9b:1::1", "2002:7f00:1::",
    "2002:a00:1::1", "2001::1", "fc00::1", "fdff::1", "fe80::1", "fec0::1", "ff02::1",
  ])
  func `an address that is not public is private`(text: String) throws {
    #expect(try #require(IPAddress(text)).isPrivate)
  }

  @Test(arguments: [
    "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "128.0.0.1",
    "169.253.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.0.1", "198.20.0.1",
    "223.255.255.255", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1",
    "2001:4860::8888",
  ])
  func `an address of the public network is not`(text: String) throws {
    #expect(try #require(IPAddress(text)).isPrivate == false)
  }

  @Test(arguments: ["1.2.3.4", "::1", "fe80::1", "::ffff:1.2.3.4", "2001:db8::1:0:0:1"])
  func `an address has the text that it is read from`(text: String) throws {
    #expect(try #require(IPAddress(text)).text == text)
  }

  @Test func `this machine has loopback and the unspecified address`() throws {
    for text in ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0"] {
      #expect(try #require(IPAddress(text)).isOfThisMachine, "\(text)")
    }
    #expect(try #require(IPAddress("192.0.2.1")).isOfThisMachine == false)
  }

  @Test func `this machine has the addresses of its interfaces`() throws {
    var first: UnsafeMutablePointer<ifaddrs>?
    // Safety: the list is valid until it is freed; an address has at least the size of its family.
    try #require(unsafe getifaddrs(&first) == 0)
    defer { unsafe freeifaddrs(first) }
    var next = unsafe first
    while let interface = unsafe next?.pointee {
      if unsafe interface.ifa_flags & UInt32(IFF_UP) != 0,
        let place = unsafe interface.ifa_addr,
        case let size = MemoryLayout<sockaddr_in>.size,
        let (address, _) = unsafe IPAddress.of(UnsafeRawPointer(place), length: size)
      {
        #expect(address.isOfThisMachine, "\(address)")
      }
      unsafe next = interface.ifa_next
    }
  }

  #if os(Linux)
    @Test func `without a descriptor an address counts as this machine's`() async {
      await #expect(processExitsWith: .success) {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        let address = IPAddress("192.0.2.1")
        // Safety: the call reads the local variable.
        unsafe precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none) == 0)
        precondition(address?.isOfThisMachine == true)
      }
    }
  #endif

  @Test(arguments: ["", "a.test", "1.2.3", "127.0.0.1:80", "[::1", "1.2.3.4 ", "0x7f.1"])
  func `other texts are no addresses`(text: String) {
    #expect(IPAddress(text) == nil)
  }
}
