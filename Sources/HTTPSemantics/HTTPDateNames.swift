/// The names in dates, starting with Sunday and January.
package enum HTTPDateNames {
  static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  /// The names of the months, as in `06 Nov 1994`.
  package static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  static let packedDays = days.compactMap { PackedName($0.utf8) }
  static let packedLongDays = ["Sun", "Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur"]
    .compactMap { PackedName(($0 + "day").utf8) }
  static let packedMonths = months.compactMap { PackedName($0.utf8) }
  static let packedZone = PackedName("GMT".utf8)
}
