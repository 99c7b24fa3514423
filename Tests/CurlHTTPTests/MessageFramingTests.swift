import HTTPSemantics
import Testing

@testable import CurlHTTP

struct MessageFramingTests {
  private func fault(
    _ fields: [String], version: String = "1.1", status: Int = 200
  ) -> String? {
    var lines = FieldLines()
    for field in fields { lines.append(Array(field.utf8)) }
    do throws(MessageFraming.Violation) {
      _ = try MessageFraming(version: version, status: status).checked(lines)
      return nil
    } catch {
      return error.text
    }
  }

  @Test(
    "a length is a number up to 2^63 - 1, stated once or several times",
    arguments: [
      (["Content-Length: 5"], nil), (["Content-Length: 5", "content-length: 5"], nil),
      (["Content-Length: 5, 5"], nil), (["Content-Length: 9223372036854775807"], nil),
      (["Content-Length: 9223372036854775808"], "a length that is no number"),
      (["Content-Length: 5", "Content-Length: 6"], "two lengths"),
      (["Content-Length: 5,6"], "two lengths"),
      (["Content-Length: ,5"], "a length that is no number"),
      (["Content-Length:"], "a length that is no number"),
      (["Content-Length: -0"], "a length that is no number"),
    ] as [([String], String?)])
  func lengths(fields: [String], fault: String?) {
    #expect(self.fault(fields) == fault)
  }

  @Test(
    "the one coding is chunked, and not beside a length",
    arguments: [
      (["Transfer-Encoding: Chunked"], nil),
      (["Transfer-Encoding: gzip"], "a transfer coding other than chunked"),
      (["Transfer-Encoding: xchunked"], "a transfer coding other than chunked"),
      (["Transfer-Encoding: x, chunked"], "a transfer coding other than chunked"),
      (["Transfer-Encoding: abcdef"], nil),
      (["Transfer-Encoding: abcdef", "Content-Length: 5"], "a length and a transfer coding"),
      (["Transfer-Encoding: chunked", "Transfer-Encoding: abc"], "several transfer codings"),
      (["Transfer-Encoding: chunked", "Content-Length: 5"], "a length and a transfer coding"),
      (["Transfer-Encoding : chunked"], "an oddly written transfer-encoding"),
      (["Content-Length: 5", " 5"], "an oddly written content-length"),
    ] as [([String], String?)])
  func codings(fields: [String], fault: String?) {
    #expect(self.fault(fields) == fault)
  }

  @Test("HTTP/1.0 has no transfer codings, interim answers no lengths, and 101 leads away")
  func byVersionAndStatus() {
    #expect(
      fault(["Transfer-Encoding: chunked"], version: "1.0") == "a transfer coding in HTTP/1.0")
    #expect(fault(["Content-Length: 0"], status: 103) == "an interim answer with a length")
    #expect(fault([], status: 101) == "a switch of protocols")
    #expect(fault(["Content-Length: 5"], status: 304) == nil)
  }
}
