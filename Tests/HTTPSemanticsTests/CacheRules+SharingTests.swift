import HTTPSemantics
import Testing

struct CacheRulesSharingTests {
  private func mayShare(
    _ control: String = "max-age=60", status: Int = 200, _ more: [HTTPField] = [],
    selection: Selection = .none, isPersonal: Bool = false, mayBePersonal: Bool = false
  ) throws -> Bool {
    let response = StoredResponse(
      status: status, fields: HTTPFields(Array(cacheControl(control)) + more),
      requestTime: received, responseTime: received, selection: selection, isPersonal: isPersonal,
      mayBePersonal: mayBePersonal, rules: CacheRules())
    return CacheRules.mayShare(response, of: try NormalizedURL("http://a.test/"))
  }

  @Test func `only a status that says what the URL stands for is shared`() throws {
    let shared = try (100...599).filter { try mayShare("public, max-age=60", status: $0) }
    #expect(shared == [200, 203, 301, 308, 404, 410])
  }

  @Test(arguments: [
    "private", "private, max-age=60", "private=\"X\", max-age=60", "public, private", "no-store",
    "no-store, max-age=60",
  ])
  func `what a shared cache may not store is not shared`(control: String) throws {
    #expect(try !mayShare(control))
  }

  @Test(arguments: [
    ("private", "max-age=60"), ("no-store", "max-age=60"), ("max-age=60", "private"),
    ("max-age=60", "no-store"), ("max-age=60, public", "private=\"X\""),
  ])
  func `what either of Cache-Control and CDN-Cache-Control forbids is not shared`(
    control: String, targeted: String
  ) throws {
    #expect(try !mayShare(control, [HTTPField("CDN-Cache-Control", targeted)]))
    #expect(try mayShare("max-age=60", [HTTPField("CDN-Cache-Control", "max-age=60")]))
  }

  @Test func `what is meant for one user is not shared, whatever its fields say`() throws {
    #expect(try !mayShare("public, max-age=60", isPersonal: true))
    #expect(try !mayShare("public, max-age=60", [HTTPField("set-cookie", "a=b")]))
    #expect(try mayShare("public, max-age=60"))
  }

  @Test(arguments: [
    ("max-age=60", false), ("max-age=60, s-maxage=0", false), ("max-age=60, public", true),
    ("s-maxage=60", true), ("max-age=60, must-revalidate", true),
  ])
  func `what a field that may be a credential has selected is shared as with Authorization`(
    control: String, isShared: Bool
  ) throws {
    #expect(try mayShare(control, mayBePersonal: true) == isShared)
    #expect(try mayShare(control))
  }

  @Test func `a response that concealed values select is not shared`() throws {
    let hex = [UInt8](repeating: UInt8(ascii: "a"), count: 64)
    func select(_ name: String, _ value: [UInt8]?) -> Selection {
      Selection(fields: [SelectedField(name: name, value: value)])
    }
    #expect(try mayShare(selection: select("accept-language", Array("de".utf8))))
    #expect(try mayShare(selection: select("accept-language", nil)))
    #expect(try mayShare(selection: select("prefer", Array(hex.dropLast()))))
    #expect(try mayShare(selection: select("prefer", hex.dropLast() + [UInt8(ascii: "g")])))
    #expect(try !mayShare(selection: select("prefer", hex)))
    #expect(try !mayShare(selection: select("prefer", hex.map { $0 - 0x20 })))
    let long = [UInt8](repeating: UInt8(ascii: "z"), count: Selection.maximumValueLength + 1)
    #expect(try !mayShare(selection: select("prefer", long)))
    #expect(try !mayShare(selection: select("x-api-key", Array("k".utf8))))
    #expect(try mayShare(selection: select("x-api-key", nil)))
    for name in ["authorization", "cookie"] {
      #expect(try !mayShare(selection: select(name, Array("short".utf8))), "\(name)")
      #expect(try !mayShare(selection: select(name, nil)), "\(name)")
    }
  }
}
