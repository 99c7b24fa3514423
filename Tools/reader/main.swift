import OfflineCacheKit

guard let list = URL(string: CommandLine.arguments.dropFirst().first ?? "") else {
  print("usage: reader URL")
  exit(2)
}
do {
  let folder = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
  let cache = try OfflineCache(capacity: 200 << 20, directory: folder.appending(path: "reader"))
  defer { cache.close() }
  let (json, answer) = try await cache.data(from: list)
  guard answer.statusCode == 200 else {
    print("\(list): status \(answer.statusCode)")
    exit(1)
  }
  for page in try JSONDecoder().decode([URL].self, from: json) {
    let (data, response) = try await cache.data(from: page)
    print("\(page.lastPathComponent): \(data.count) bytes; \(response.metadata?.reason ?? "")")
  }
} catch {
  FileHandle.standardError.write(Data("\(error.localizedDescription)\n".utf8))
  exit(1)
}
