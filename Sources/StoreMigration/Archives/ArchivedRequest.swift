internal import HTTPSemantics

struct ArchivedRequest {
  var method: String
  var fields: HTTPFields

  /// Decodes an NSKeyedArchiver archive of an NSURLRequest; returns `nil` if the bytes are not one.
  init?(keyedArchive bytes: [UInt8]) {
    var budget = PropertyListBudget()
    guard let archive = try? KeyedArchive(bytes), let root = archive.root,
      let name = try? archive.className(of: root, &budget),
      name == "NSURLRequest" || name == "NSMutableURLRequest",
      let list = try? ArchiveList(root, in: archive)
    else { return nil }
    self.init(list)
  }

  /// Decodes a `{Version, Array}` property list of Cache.db; returns `nil` if the bytes are not
  /// one.
  init?(cacheBlob bytes: [UInt8]) {
    guard let list = try? ArchiveList(cacheBlob: bytes) else { return nil }
    self.init(list)
  }

  /// Searches the list for the integer 2, the method and the dictionary of fields: their positions
  /// depend on the version, their order does not. Without them the request is a `GET` without
  /// fields.
  private init(_ list: ArchiveList) {
    method = "GET"
    fields = []
    let items = list.items
    for index in items.indices.dropFirst().dropLast() where items[index - 1].integer == 2 {
      guard let name = items[index].string, name.utf8.count <= 32, HTTPField.isToken(name),
        let pairs = items[index + 1].pairs
      else { continue }
      method = name.uppercased()
      fields = ArchivedFields.request(pairs)
    }
  }
}
