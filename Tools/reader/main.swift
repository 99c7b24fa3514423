import Foundation
import OfflineCache

struct Page: Decodable {
  var title: String
  var text: URL
  var image: URL
}

guard let list = CommandLine.arguments.dropFirst().first.flatMap({ URL(string: $0) }) else {
  print("usage: reader URL-of-a-list")
  exit(64)
}
do {
  let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
  let cache = try OfflineCache(
    capacity: 200 << 20, directory: caches.appendingPathComponent("reader"))
  let (json, _) = try await cache.data(from: list)
  for page in try JSONDecoder().decode([Page].self, from: json) {
    async let text = cache.data(from: page.text)
    async let image = cache.data(from: page.image)
    let (words, response) = try await text
    let (picture, _) = try await image
    print(
      "\(page.title): \(words.count) + \(picture.count) bytes; \(response.metadata?.reason ?? "")")
  }
} catch {
  // Which URL, what happened, what to do.
  FileHandle.standardError.write(Data("\(error.localizedDescription)\n".utf8))
  exit(1)
}
