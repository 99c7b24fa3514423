/// The bounds of a check of directories whose contents may come from anybody.
enum CheckLimits {
  /// The most names that are read of one directory, so that the check of a directory that keeps
  /// growing ends, too.
  static let names = 1 << 24
  /// The most foreign names of one directory that are findings of their own. One more finding has
  /// the count of the others.
  static let strays = 64
  /// The most names in the journal, segments and foreign names.
  static let segments = 1 << 20
  /// The most findings of one kind in one segment of the journal.
  static let segmentFindings = 64
  /// The number of names from which `staging` and foreign directories are not searched.
  static let listed = 1 << 20
  /// The levels below a foreign directory that are searched for entries: the folder of a store in
  /// `lost+found` has them four levels below that.
  static let depth = 4
  /// The most attempts of a step if all entries are removed meanwhile.
  static let attempts = 8
  /// The most rounds of repair of one key, because a repair may show new damage.
  static let rounds = 4
  /// The most findings that a repair holds, because a later pass may repair them.
  static let heldFindings = 1 << 14
  /// The nanoseconds by which a time may be ahead of the clock: a day, because clocks differ.
  static let aheadNanoseconds: Int64 = 86_400_000_000_000
}
