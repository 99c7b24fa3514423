internal import CacheSystem

/// A type above `JournalReader` in the engine (Docs/Architecture.md, "The engine"), and what it calls.
protocol ReaderUser: Sendable {
  var reader: JournalReader { get }
}

extension ReaderUser {
  var journal: Journal { reader.journal }
  var tree: Tree { reader.tree }
  var place: StorePlace { tree.place }
  var path: String { tree.path }
  var fileSystem: any FileSystem { tree.fileSystem }
  var upkeep: Upkeep { reader.upkeep }
}

/// A type above `Catalog`.
protocol CatalogUser: ReaderUser {
  var catalog: Catalog { get }
}

extension CatalogUser {
  var reader: JournalReader { catalog.reader }
  var writer: JournalWriter { catalog.writer }
}
