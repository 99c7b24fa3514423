/// Bounds on what a check takes from a directory that anybody may have filled.
enum CheckLimits {
  /// The most names read of one directory, so that one that grows all the time ends, too.
  static let names = 1 << 24
  /// The most foreign names of one directory that are findings of their own; more are counted in one.
  static let strays = 64
  /// The most segments, and foreign names in the journal, and sessions.
  static let segments = 1 << 20
  /// The most findings of one kind in one segment of the journal.
  static let segmentFindings = 64
  /// The names of a foreign directory that are searched for an entry.
  static let searched = 64
  /// The most often that something is begun again because all entries were removed meanwhile.
  static let attempts = 8
  /// How often one key is mended again because something new has shown.
  static let rounds = 4
  /// How far a time may lie ahead of the clock, in nanoseconds: a day, as clocks differ.
  static let aheadNanoseconds: Int64 = 86_400_000_000_000
}
