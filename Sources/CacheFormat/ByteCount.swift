/// A number of bytes as text for people.
package struct ByteCount: Sendable, Hashable, CustomStringConvertible {
  package var bytes: UInt64

  package init(_ bytes: UInt64) { self.bytes = bytes }

  private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

  /// The count with three digits or so, in powers of 1024: `0 B`, `1.5 KiB`, `23.4 GiB`.
  package var description: String {
    guard bytes >= 1024 else { return "\(bytes) B" }
    var unit = 1
    var scale: UInt64 = 1024
    // Tenths are rounded, so 1023.96 KiB must become 1.0 MiB here.
    while unit < Self.units.count - 1, roundedTenths(bytes, scale) >= 10_240 {
      unit += 1
      scale *= 1024
    }
    let tenths = roundedTenths(bytes, scale)
    return "\(tenths / 10).\(tenths % 10) \(Self.units[unit])"
  }

  /// The count without rounding, in the largest unit that divides it: `512M`, `4097`.
  package var exact: String {
    var rest = bytes
    var unit = ""
    for larger in ["K", "M", "G", "T", "P"] where rest != 0 && rest % 1024 == 0 {
      rest /= 1024
      unit = larger
    }
    return "\(rest)\(unit)"
  }
}

/// Returns ten times the quotient, rounded to the nearest integer.
private func roundedTenths(_ bytes: UInt64, _ scale: UInt64) -> UInt64 {
  let whole = bytes / scale
  let part = bytes % scale
  // `part` is below 2^60, so ten times `part` fits.
  return whole * 10 + (part * 10 + scale / 2) / scale
}
