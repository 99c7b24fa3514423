internal import HTTPSemantics

/// Holds what an archived request says about method and fields.
struct ArchivedRequest {
  var method: String
  var fields: HTTPFields

  /// Reads an NSKeyedArchiver archive of an NSURLRequest; nil where it is none.
  init?(keyedArchive bytes: [UInt8]) {
    var budget = PropertyListBudget()
    guard let archive = try? KeyedArchive(bytes), let root = archive.root,
      let name = try? archive.className(of: root, &budget),
      name == "NSURLRequest" || name == "NSMutableURLRequest",
      let list = try? ArchiveList(root, in: archive)
    else { return nil }
    self.init(list)
  }

  /// Reads a `{Version, Array}` property list of Cache.db; nil where it is none.
  init?(cacheBlob bytes: [UInt8]) {
    guard let list = try? ArchiveList(cacheBlob: bytes) else { return nil }
    self.init(list)
  }

  /// Looks for the integer 2, the method and the dictionary of fields: the place of these three
  /// depends on the version, their order does not. Without them it is a `GET` without own fields.
  private init(_ list: ArchiveList) {
    method = "GET"
    fields = []
    let items = list.items
    for index in items.indices.dropFirst().dropLast() where items[index - 1].integer == 2 {
      guard let name = items[index].string, name.utf8.count <= 32, HTTPField.isToken(name),
        let pairs = items[index + 1].pairs
      else { continue }
      method = name.uppercased()
      fields = ArchivedFields.request(pairs).0
    }
  }
}
