internal import CacheSystem

/// A type above `Catalog` in the engine (Docs/Architecture.md, "The engine"), and what it calls.
protocol CatalogUser: Sendable {
  var catalog: Catalog { get }
}

extension CatalogUser {
  var reader: JournalReader { catalog.reader }
  var writer: JournalWriter { catalog.writer }
  var journal: Journal { catalog.journal }
  var tree: Tree { catalog.tree }
  var place: StorePlace { tree.place }
  var path: String { tree.path }
  var fileSystem: any FileSystem { tree.fileSystem }
  var upkeep: Upkeep { reader.upkeep }
}
