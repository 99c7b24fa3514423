import LoopbackOrigin
import OfflineCacheKit
import ReaderModel
import Testing

@Suite(.timeLimit(.minutes(5)))
@MainActor
struct ArticlesModelTests {
  @Test func `the list is loaded from the server`() async throws {
    let sandbox = try ReaderSandbox { _ in listed(["one", "two"]) }
    let model = sandbox.model
    #expect(model.articles.isEmpty && !model.isLoading)
    await model.load()
    #expect(model.articles.map(\.title) == ["one", "two"])
    #expect(model.storedReason == nil && model.errorText == nil && !model.isLoading)
  }

  @Test func `an element is an object or an address, and each article is shown once`() async throws
  {
    let sandbox = try ReaderSandbox { _ in
      OriginAnswer(
        #"""
        ["https://example.org/a.html",
         {"title": "B", "url": "https://example.org/b", "image": "https://example.org/b.png"},
         {"url": "https://example.org/c"}, {"title": "A again", "url": "https://example.org/a.html"}]
        """#)
    }
    await sandbox.model.load()
    #expect(sandbox.model.articles.map(\.title) == ["a.html", "B", "c"])
    #expect(
      sandbox.model.articles.map { $0.image?.lastPathComponent } == [nil, "b.png", nil])
  }

  @Test func `offline the stored list is shown, with the reason`() async throws {
    let sandbox = try ReaderSandbox()
    await sandbox.model.load()
    sandbox.origin.stop()
    let model = sandbox.restarted()
    await model.load()
    #expect(model.articles.map(\.title) == ["one"])
    let reason = try #require(model.storedReason)
    #expect(reason.hasPrefix("it is stored, and the server could not be reached"))
    #expect(model.errorText == nil)
  }

  @Test func `offline without a stored list there is a text for the user`() async throws {
    let sandbox = try ReaderSandbox()
    sandbox.origin.stop()
    await sandbox.model.load()
    #expect(sandbox.model.articles.isEmpty && sandbox.model.storedReason == nil)
    #expect(
      sandbox.model.errorText
        == "127.0.0.1 cannot be reached. Check the connection to the network.")
    #expect(!sandbox.model.isLoading)
  }

  @Test func `a refresh validates a fresh list`() async throws {
    let sandbox = try ReaderSandbox { request in
      var answer = listed(["one"], to: request)
      answer.fields[0] = "Cache-Control: max-age=1000"
      return answer
    }
    let model = sandbox.model
    await model.load()
    await model.load()
    #expect(sandbox.origin.requests.count == 1)
    #expect(model.storedReason?.hasPrefix("it is stored, and fresh for") == true)
    await model.refresh()
    #expect(sandbox.origin.requests.count == 2)
    #expect(sandbox.origin.requests.last?.value(of: "If-None-Match") == "\"one\"")
    #expect(model.articles.map(\.title) == ["one"])
    // The server has confirmed it.
    #expect(model.storedReason == nil)
    sandbox.origin.set("/list", listed(["one", "new"]))
    await model.refresh()
    #expect(model.articles.map(\.title) == ["one", "new"])
  }

  @Test func `a refresh without a network keeps the list`() async throws {
    let sandbox = try ReaderSandbox()
    await sandbox.model.load()
    sandbox.origin.stop()
    for model in [sandbox.model, sandbox.restarted()] {
      await model.refresh()
      #expect(model.articles.map(\.title) == ["one"])
      #expect(model.storedReason == "it is stored, and there is no newer one")
      #expect(model.errorText?.hasPrefix("127.0.0.1 cannot be reached.") == true)
    }
  }

  @Test(arguments: [
    ("[{\"title\": \"cut", 200, "it cannot be read"), ("<html>", 200, "it cannot be read"),
    ("[\"file:///etc/passwd\"]", 200, "it cannot be read"),
    ("sorry", 500, "the server has answered 500"), ("gone", 404, "the server has answered 404"),
  ])
  func `a list that cannot be used keeps the old one`(
    body: String, status: Int, fault: String
  ) async throws {
    let sandbox = try ReaderSandbox()
    let model = sandbox.model
    await model.load()
    sandbox.origin.set(
      "/list", OriginAnswer(body, status: status, fields: ["Cache-Control: max-age=1000"]))
    await model.refresh()
    #expect(model.articles.map(\.title) == ["one"])
    #expect(
      model.errorText == "127.0.0.1 has sent no usable list: \(fault). Try again later.")
    // The next start of the app has the old list, too, even without a network.
    sandbox.origin.stop()
    let next = sandbox.restarted()
    await next.load()
    #expect(next.articles.map(\.title) == ["one"])
    #expect(next.errorText == nil)
  }

  @Test func `an unusable first answer is not kept`() async throws {
    let sandbox = try ReaderSandbox { _ in listed(["one"]) }
    sandbox.origin.set("/list", OriginAnswer("{", fields: ["Cache-Control: max-age=1000"]))
    await sandbox.model.load()
    #expect(sandbox.model.articles.isEmpty && sandbox.model.errorText != nil)
    sandbox.origin.set("/list", listed(["one"]))
    await sandbox.model.load()
    #expect(sandbox.model.articles.map(\.title) == ["one"])
    #expect(sandbox.model.errorText == nil)
  }

  @Test func `the size is shown, and clearing empties store and list`() async throws {
    let padding = String(repeating: " ", count: 1 << 20)
    let sandbox = try ReaderSandbox { _ in
      OriginAnswer("[\"https://example.org/a\"]" + padding)
    }
    let model = sandbox.model
    let empty = model.storedBytes
    await model.load()
    await sandbox.wait {
      $0.storedBytes > empty + 1 << 20 && $0.storedBytes == $0.cache.size.physical
    }
    #expect(model.articles.count == 1)
    await model.clear()
    #expect(model.articles.isEmpty && model.errorText == nil && model.storedReason == nil)
    await sandbox.wait { $0.storedBytes < 1 << 20 }
    sandbox.origin.stop()
    await model.load()
    #expect(model.articles.isEmpty)
  }

  @Test func `a cancelled load leaves everything as it is`() async throws {
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    let sandbox = try ReaderSandbox { request in
      guard request.value(of: "If-None-Match") != nil else { return listed(["one"]) }
      arrival.yield()
      return .silence
    }
    let model = sandbox.model
    await model.load()
    let load = Task { await model.refresh() }
    for await _ in arrivals { break }
    #expect(model.isLoading)
    load.cancel()
    await load.value
    #expect(model.articles.map(\.title) == ["one"])
    #expect(model.errorText == nil && model.storedReason == nil && !model.isLoading)
  }

  @Test func `an answer that comes after clearing is not shown`() async throws {
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let sandbox = try ReaderSandbox { _ in
      arrival.yield()
      let isOpen = DispatchSemaphore(value: 0)
      Task {
        for await _ in gate {}
        isOpen.signal()
      }
      isOpen.wait()
      return listed(["late"])
    }
    let model = sandbox.model
    let load = Task { await model.load() }
    for await _ in arrivals { break }
    await model.clear()
    opening.finish()
    await load.value
    #expect(model.articles.isEmpty && !model.isLoading)
  }

  @Test func `pages and pictures are kept for reading offline`() async throws {
    let sandbox = try ReaderSandbox { request in
      let base = "http://\(request.value(of: "Host") ?? "")"
      return request.target == "/list"
        ? OriginAnswer(#"[{"url": "\#(base)/page", "image": "\#(base)/image"}]"#)
        : OriginAnswer("content of \(request.target)")
    }
    let model = sandbox.model
    await model.load()
    await model.keepForOffline()
    sandbox.origin.stop()
    let article = try #require(model.articles.first)
    #expect(await model.picture(of: article) == Data("content of /image".utf8))
    let (page, _) = try await model.cache.data(from: article.url)
    #expect(page == Data("content of /page".utf8))
  }
}
