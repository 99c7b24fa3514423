import CacheSystem
import ContentCoding
import Foundation
import HTTPDownloads
import HTTPTransports
import Testing

struct DownloadErrorTests {
  @Test func `each error names the URL or the file first, and what to do`() {
    let causes: [DownloadError.Cause] = [
      .cancelled, .status(500), .tooManyRedirects(maximum: 3), .unusableRedirect("file:x"),
      .method("POST"), .coding(.truncated(coding: "gzip")), .wrongLength(expected: 5, received: 4),
      .disturbed, .invalidPath, .isDirectory, .fileExists, .othersFile("x"), .file(.notFound),
      .file(.inputOutput), .file(SystemError(ENOSPC)), .file(SystemError(EACCES)),
    ]
    let texts = causes.map { "\(DownloadError($0, url: "http://a/", path: "/f"))" }
    #expect(Set(texts).count == texts.count)
    for text in texts {
      #expect(text.hasPrefix("http://a/: ") || text.hasPrefix("/f: "), "\(text)")
      #expect(text.contains(";") && text.last != "." && !text.contains("\n"), "\(text)")
    }
    let full = DownloadError(.file(SystemError(ENOSPC)), url: "http://a/", path: "/f")
    #expect("\(full)".hasSuffix("; free some space, and start it again: it resumes"))
    let forbidden = DownloadError(.file(SystemError(EACCES)), url: "http://a/", path: "/f")
    #expect("\(forbidden)".hasSuffix("; check the owner and mode of it and its folder"))
    let transport = TransportError(.timeout, url: "http://a/")
    #expect("\(DownloadError(.transport(transport), url: "u", path: "/f"))" == "\(transport)")
  }
}
