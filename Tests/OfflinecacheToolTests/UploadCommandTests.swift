import Foundation
import LoopbackOrigin
import Testing
import ToolTesting

@Suite struct UploadCommandTests {
  private func echo() throws -> LoopbackOrigin {
    try LoopbackOrigin { request in
      if request.method == "GET" {
        return OriginAnswer("page", fields: ["Cache-Control: max-age=1000"])
      }
      let type = request.value(of: "Content-Type") ?? "-"
      return OriginAnswer(
        Array("\(request.method) \(type) \(request.value(of: "X-A") ?? "-")\n".utf8) + request.body,
        status: request.target == "/refused" ? 403 : 200, fields: ["Content-Type: text/plain"])
    }
  }

  private func address(_ origin: LoopbackOrigin, _ target: String = "/a") -> String {
    origin.url(target).absoluteString
  }

  @Test func `a file is put there, and its answer is written out`() throws {
    let (tool, origin) = (ToolRun(), try echo())
    defer { origin.stop() }
    let file = tool.path("content")
    try tool.write(Array("content".utf8), to: file)
    let first = try tool.run("upload", address(origin), "--file", file)
    #expect(first.status == 0)
    #expect(first.errors == "")
    #expect(first.text == "sent    200  15 B  \(address(origin))\n")
    let second = try tool.run(
      "upload", address(origin), "-f", file, "-X", "PATCH", "-H", "X-A: b", "-H",
      "Content-Type: text/plain", "-o", "-")
    #expect(second.text == "PATCH text/plain b\ncontent")
    let copy = tool.path("copy")
    #expect(try tool.run("upload", address(origin), "-f", file, "-q", "-o", copy).text == "")
    #expect(try tool.read(copy) == Array("PUT - -\ncontent".utf8))
    let folder = try tool.run("upload", address(origin), "-f", tool.folder)
    #expect(folder.status == 2)
    #expect(
      folder.errors == "offlinecache: \(tool.folder): it is a folder, a pipe or a device; send a "
        + "regular file\n")
  }

  @Test func `forms are sent in their order`() throws {
    let (tool, origin) = (ToolRun(), try echo())
    defer { origin.stop() }
    let encoded = try tool.run(
      "upload", address(origin), "--urlencode", "q=fish & chips", "--urlencode", "q=@a=b", "-o", "-"
    )
    #expect(
      encoded.text == "POST application/x-www-form-urlencoded -\nq=fish+%26+chips&q=%40a%3Db")
    let file = tool.path("sun\"set.jpg")
    try tool.write([1, 2, 3], to: file)
    let form = try tool.run(
      "upload", address(origin), "-F", "title=Sün", "-F", "photo=@\(file)", "-F", "empty=", "-o",
      "-"
    )
    #expect(form.status == 0)
    let body = try #require(origin.requests.last?.body)
    let text = String(decoding: body, as: UTF8.self)
    #expect(text.contains("name=\"title\"\r\n\r\nSün\r\n"))
    let name = "name=\"photo\"; filename=\"sun%22set.jpg\"\r\nContent-Type: "
    #expect(text.contains("\(name)image/jpeg\r\n"))
    _ = try tool.run("upload", address(origin), "-F", "photo=@\(file);type=text/x;a=b")
    let typed = String(decoding: try #require(origin.requests.last?.body), as: UTF8.self)
    #expect(typed.contains("\(name)text/x;a=b\r\n"))
    #expect(text.contains("\r\n\r\n\u{1}\u{2}\u{3}\r\n"))
  }

  @Test func `what is stored for the URL goes once the server has taken the upload`() throws {
    let (tool, origin) = (ToolRun(), try echo())
    defer { origin.stop() }
    for target in ["/a", "/refused"] { _ = try tool.run("fetch", address(origin, target)) }
    #expect(try tool.run("upload", address(origin), "--urlencode", "a=b").status == 0)
    let refused = try tool.run(
      "upload", address(origin, "/refused"), "--urlencode", "a=b", "-o", "-")
    #expect(refused.status == 1)
    #expect(refused.text == "POST application/x-www-form-urlencoded -\na=b")
    #expect(refused.errors.contains("403"))
    #expect(!refused.errors.contains("a=b"))
    let told = try tool.run("upload", address(origin, "/refused"), "--urlencode", "a=b")
    #expect(told.status == 1 && told.text == "" && told.errors.hasSuffix("\n  a=b\n"))
    #expect(try tool.run("ls").lines == ["GET \(address(origin, "/refused"))"])
  }

  @Test(arguments: ["text/plain", "text/html"], [false, true])
  func `a refusal is one whatever comes behind its head`(type: String, isCut: Bool) throws {
    let tool = ToolRun()
    let origin = try LoopbackOrigin { _ in
      OriginAnswer(
        [UInt8](repeating: 0x61, count: 500_000), status: 404, fields: ["Content-Type: \(type)"]
      ).cut(after: isCut ? 100_000 : nil)
    }
    defer { origin.stop() }
    for quiet in [[], ["-q"]] {
      let words = ["upload", address(origin), "--urlencode", "a=b"] + quiet
      let run = try tool.run(bytes: words.map { Array($0.utf8) })
      #expect(run.status == 1 && run.errors.contains("404"), "\(run.errors)")
      #expect(!run.errors.contains("cancelled"))
    }
  }

  @Test func `progress is shown where it is asked for`() throws {
    let (tool, origin) = (ToolRun(), try echo())
    defer { origin.stop() }
    let file = tool.path("large")
    try tool.write([UInt8](repeating: 1, count: 1_000_000), to: file)
    let shown = try tool.run("upload", address(origin), "-f", file, "--progress")
    #expect(shown.errors.contains("%"))
    #expect(try tool.run("upload", address(origin), "-f", file).errors == "")
  }

  @Test func `content that cannot be sent is reported with its cause`() throws {
    let (tool, origin) = (ToolRun(), try echo())
    let missing = try tool.run("upload", address(origin), "--file", tool.path("missing"))
    #expect(missing.status == 2)
    #expect(missing.errors.contains("missing"))
    #expect(missing.errors.contains("check path"))
    #expect(try tool.run("upload", address(origin)).status == 64)
    for arguments in [
      ["--form", "a=b", "--urlencode", "a=b"], ["--form", "a"], ["--form", "a=@"],
      ["--urlencode", "=b"], ["-X", "A B", "--form", "a=b"], ["-H", "A", "--form", "a=b"],
      ["-H", "A: b\r\nC: d", "--form", "a=b"], ["--client-key", "/dev/null", "--form", "a=b"],
      ["--form", "a=@x;type=png"], ["--form", "a=@x;type=/"],
      ["--form", "a=@-"], ["-H", "Content-Length: 3", "--form", "a=b"],
      ["--form", "a=@x;type=a/b;filename=c"],
      ["--file", "-"], ["--timeout", "0", "--form", "a=b"],
      ["--timeout", "0.0001s", "--form", "a"],
      ["--pin", "example.org", "--form", "a=b"], ["--pin", "example.org=x", "--form", "a=b"],
    ] {
      let run = try tool.run(
        bytes: (["upload", address(origin)] + arguments).map { Array($0.utf8) })
      #expect(run.status == 64, "\(arguments)")
    }
    let named = address(origin).replacingOccurrences(of: "//", with: "//user:secret@")
    let secret = try tool.run("upload", named, "--form", "a=b")
    #expect(secret.status == 64)
    #expect(!secret.errors.contains("secret"))
    #expect(origin.requests.isEmpty)
    origin.stop()
    let gone = try tool.run("upload", address(origin), "--form", "a=b")
    #expect(gone.status == 2)
    #expect(gone.errors.contains("no connection can be made"))
  }
}
