import CacheFormat
import CacheStore
import HTTPSemantics
import TestSupport
import Testing

@testable import HTTPCaching

struct EntryFieldsTests {
  private func response(
    _ fields: HTTPFields = [], selection: Selection = .none, isPersonal: Bool = false,
    mayBePersonal: Bool = false, bodyDate: HTTPDate? = nil
  ) -> StoredResponse {
    StoredResponse(
      status: 203, fields: fields, requestTime: moment(1).date, responseTime: moment(2).date,
      selection: selection, isPersonal: isPersonal, mayBePersonal: mayBePersonal,
      bodyDate: bodyDate, rules: CacheRules())
  }

  private func info(_ metadata: EntryMetadata) -> EntryInfo {
    let head = PutHead(
      keyHash: KeyHash(high: 0, low: 0), digest: Digest(high: 0, low: 0), variant: 0, length: 0,
      created: moment(9), accessed: moment(9), expires: nil, bodyFile: 0, overhead: 0,
      status: metadata.status, isPinned: false)
    return EntryInfo(
      record: PutRecord(head: head, key: "GET http://a/", metadata: metadata), accessed: moment(9))
  }

  private func metadata(_ response: StoredResponse, at nanoseconds: Int64 = 7) throws
    -> EntryMetadata
  {
    let times = ResponseTimes(
      request: Timestamp(nanoseconds: nanoseconds),
      response: Timestamp(nanoseconds: nanoseconds + 1))
    return EntryFields.metadata(
      response, url: try NormalizedURL("http://a/"), times: times, expires: nil)
  }

  @Test(arguments: [UInt64(1), 2])
  func `a response comes back from its metadata`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for round in 0..<500 {
      let selection = Selection(
        fields: (0..<random.below(4)).map { number in
          SelectedField(
            name: "f\(number)", value: random.below(3) == 0 ? nil : random.bytes(random.below(9)))
        })
      let fields = HTTPFields(
        (0..<random.below(4)).map {
          HTTPField(name: "N\($0)", value: random.bytes(random.below(9)))
        })
      let isPersonal = random.below(2) == 0
      let original = response(
        fields, selection: selection, isPersonal: isPersonal,
        mayBePersonal: isPersonal || random.below(2) == 0,
        bodyDate: random.below(2) == 0 ? nil : HTTPDate(seconds: Int64(bitPattern: random.next())))
      let metadata = try metadata(original, at: Int64(bitPattern: random.next()) / 2)
      let read = try #require(EntryFields.read(info(metadata), CacheRules()))
      #expect(read.response.status == 203 && read.response.fields == fields, "round \(round)")
      #expect(
        read.response.selection == selection && read.response.isPersonal == original.isPersonal)
      #expect(read.response.mayBePersonal == original.mayBePersonal)
      #expect(read.response.bodyDate == original.bodyDate && !read.response.isOutdated)
      #expect(EntryFields.url(of: metadata)?.string == "http://a/")
      let times = read.times
      #expect(times.response.nanoseconds == times.request.nanoseconds + 1)
      #expect(EntryFields.responseTime(of: metadata) == times.response)
      #expect(!read.isHistory)
    }
  }

  @Test func `an entry without a status, or with a selecting field that is none, is no response`()
    throws
  {
    var metadata = try metadata(response())
    metadata.status = nil
    #expect(EntryFields.read(info(metadata), CacheRules()) == nil)
    for line in ["", ":value", "a b:c", "ä"] {
      var metadata = try self.metadata(response())
      metadata.userInfo.append(Field("http-selecting", ByteString(line)))
      #expect(EntryFields.read(info(metadata), CacheRules()) == nil, "\(line)")
    }
  }

  @Test func `times that are missing or malformed are those of the entry`() throws {
    for text in ["", "x", "1.5", "99999999999999999999", "0x10"] {
      var metadata = EntryMetadata(status: 200)
      metadata.userInfo = [
        Field("http-request-time", ByteString(text)), Field("http-response-time", ByteString(text)),
      ]
      #expect(EntryFields.read(info(metadata), CacheRules())?.times.request == moment(9), "\(text)")
      #expect(EntryFields.responseTime(of: info(metadata)) == moment(9))
      #expect(EntryFields.responseTime(of: metadata) == nil)
      #expect(
        EntryFields.read(info(metadata), CacheRules())?.response.responseTime == moment(9).date)
    }
  }

  @Test func `lines of selecting fields are read as they were written, or not at all`() throws {
    let fields = [
      SelectedField(name: "a", value: nil), SelectedField(name: "b", value: []),
      SelectedField(name: "c", value: Array("x:y".utf8)),
      SelectedField(name: "d", value: [0xFF, 0]),
    ]
    let lines = fields.map(EntryFields.line)
    #expect(EntryFields.selection(lines) == Selection(fields: fields))
    #expect(EntryFields.selection([]) == Selection(fields: []))
    for wrong in ["", ":x", "a b", "(a):b"] {
      #expect(EntryFields.selection(lines + [ByteString(wrong)]) == nil, "\(wrong)")
    }
    #expect(EntryFields.selection(["a:1", "a:2"]) == nil, "a name twice")
    func many(_ count: Int) -> [ByteString] { (0..<count).map { ByteString("f\($0)") } }
    #expect(EntryFields.selection(many(Selection.maximumFields)) != nil)
    #expect(EntryFields.selection(many(Selection.maximumFields + 1)) == nil)
  }

  @Test func `freshening replaces what it changes, and leaves the rest`() throws {
    let select = Selection(fields: [SelectedField(name: "a", value: [1])])
    var metadata = try metadata(
      response([HTTPField("A", "1")], selection: select, isPersonal: true, bodyDate: moment(1).date)
    )
    EntryFields.markAsOutdated(&metadata)
    #expect(EntryFields.read(info(metadata), CacheRules())?.response.isOutdated == true)
    #expect(metadata.expires == nil)
    metadata.userInfo.append(Field("own", "kept"))
    metadata.tags = ["t"]
    let times = ResponseTimes(request: moment(5), response: moment(6))
    EntryFields.freshen(
      &metadata, response([HTTPField("A", "2")]), times: times, expires: moment(7))
    let read = try #require(EntryFields.read(info(metadata), CacheRules()))
    #expect(
      read.response.fields == [HTTPField("A", "2")] && read.response.selection == .none
        && !read.response.isPersonal)
    #expect(read.response.bodyDate == nil && !read.response.isOutdated)
    #expect(read.times == times && metadata.expires == moment(7))
    #expect(metadata.userInfo.contains(Field("own", "kept")) && metadata.tags == ["t"])
    #expect(EntryFields.url(of: metadata) != nil)
    let names = metadata.userInfo.map(\.name)
    #expect(Set(names).count == names.count)
  }

  @Test func `what is kept for the history is spare, and never fresh`() throws {
    var metadata = try metadata(response())
    metadata.expires = moment(5)
    EntryFields.markAsHistory(&metadata)
    #expect(
      metadata.isSpare && metadata.expires == nil
        && EntryFields.read(info(metadata), CacheRules())?.isHistory == true)
  }
}
