import OfflineCacheKit

struct Article: Decodable {
  var title: String
  var text: URL
  var image: URL
}

do {
  let folder = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
  let cache = try OfflineCache(capacity: 200 << 20, directory: folder.appending(path: "reader"))
  let (list, _) = try await cache.data(from: URL(string: CommandLine.arguments[1])!)
  for article in try JSONDecoder().decode([Article].self, from: list) {
    let (text, response) = try await cache.data(from: article.text)
    let (image, _) = try await cache.data(from: article.image)
    let reason = response.metadata?.reason ?? ""  // why this answer, from the store or the network
    print("\(article.title): \(text.count) + \(image.count) bytes; \(reason)")
  }
} catch {
  FileHandle.standardError.write(Data("\(error.localizedDescription)\n".utf8))
  exit(1)
}
