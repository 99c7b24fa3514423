import LoopbackOrigin
import Observation
import OfflineCacheKit
import ReaderModel
import Synchronization

/// A model with a cache in a folder of its own, and the server of its list.
@MainActor
final class ReaderSandbox {
  private let temporary = TemporaryFolder()
  let origin: LoopbackOrigin
  let model: ArticlesModel
  private let cache: OfflineCache

  init(_ script: @escaping LoopbackOrigin.Script = { _ in listed(["one"]) }) throws {
    origin = try LoopbackOrigin(script)
    cache = try OfflineCache(
      capacity: 64 << 20, directory: temporary.url.appending(path: "store"))
    model = ArticlesModel(list: origin.url("/list"), cache: cache)
  }

  deinit {
    origin.stop()
    cache.store.close()
  }

  /// Returns a model as the next start of the app has it: with the same cache, without articles.
  func restarted() -> ArticlesModel { ArticlesModel(list: model.list, cache: model.cache) }

  /// Waits until what the model shows has a property; a test that waits needs a time limit.
  func wait(until isSo: @MainActor (ArticlesModel) -> Bool) async {
    while true {
      let isDone = Mutex(false)
      let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
      withObservationTracking {
        isDone.withLock { $0 = isSo(model) }
      } onChange: {
        continuation.yield()
      }
      if isDone.withLock({ $0 }) { return }
      for await _ in changes { break }
    }
  }
}

/// The list with articles of these names, which has to be validated with the server each time.
func listed(_ names: [String]) -> OriginAnswer {
  let articles = names.map { #"{"title": "\#($0)", "url": "https://example.org/\#($0)"}"# }
  return OriginAnswer(
    "[\(articles.joined(separator: ","))]",
    fields: ["Cache-Control: no-cache", "ETag: \"\(names.joined())\""])
}

/// The list, or 304 if the request has its tag.
func listed(_ names: [String], to request: OriginRequest) -> OriginAnswer {
  let answer = listed(names)
  let isKnown = request.value(of: "If-None-Match") == "\"\(names.joined())\""
  return isKnown ? OriginAnswer("", status: 304, fields: answer.fields) : answer
}
