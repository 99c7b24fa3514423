internal import CacheFormat

extension ValueKind where Value == UInt64 {
  /// A number of bytes: `500M`, `2GiB`, `1.5GB`, `4096`.
  ///
  /// `K M G T P` and `KiB MiB …` are powers of 1024, `KB MB …` powers of 1000, as in the GNU core
  /// utilities; case does not matter. A fraction of a unit is rounded down to whole bytes; bytes have
  /// no fractions.
  ///
  /// - Parameter bounds: The accepted values, in bytes.
  package static func size(in bounds: ClosedRange<UInt64> = 0...UInt64(Int64.max)) -> ValueKind {
    ValueKind("SIZE", expected: describe(bounds), describe: { ByteCount($0).exact }) { text in
      parseSize(Argument(text)).flatMap { bounds.contains($0) ? $0 : nil }
    }
  }

  private static func describe(_ bounds: ClosedRange<UInt64>) -> String {
    let example = "a size such as 500M, 2GiB or 1.5GB"
    if bounds.lowerBound == 0 && bounds.upperBound >= UInt64(Int64.max) { return example }
    let low = ByteCount(bounds.lowerBound).exact
    if bounds.upperBound >= UInt64(Int64.max) { return "\(example), of at least \(low)" }
    return "\(example), from \(low) to \(ByteCount(bounds.upperBound).exact)"
  }
}

extension ValueKind where Value == Duration {
  /// A duration: `30s`, `5m`, `12h`, `7d`, `250ms`, or several parts as in `1h30m`.
  ///
  /// The unit must be given, except for `0`.
  package static var duration: ValueKind {
    ValueKind(
      "TIME", expected: "a time such as 30s, 5m, 12h or 7d", describe: describeDuration
    ) { parseDuration(Argument($0)) }
  }

  /// A duration as above, or a number of seconds; for options where seconds are obvious.
  package static var seconds: ValueKind {
    ValueKind(
      "TIME", expected: "a number of seconds, or a time such as 30s, 5m, 12h or 7d",
      describe: describeDuration
    ) { text in
      if text.utf8.allSatisfy(isDigit), let seconds = Int64(text) { return .seconds(seconds) }
      return parseDuration(Argument(text))
    }
  }

  /// A duration above zero: how long to wait.
  package static var timeout: ValueKind {
    ValueKind(
      "TIME", expected: "a number of seconds from 1 on, or a time such as 500ms or 5m",
      describe: describeDuration
    ) { seconds.value(of: Argument($0)).flatMap { $0 > .zero ? $0 : nil } }
  }
}

/// Returns a size, or `nil` if the argument is not one or is over 2^63 - 1.
func parseSize(_ argument: Argument) -> UInt64? {
  var rest = argument.bytes[...]
  guard let number = takeDecimal(&rest), let unit = sizeUnit(rest), unit > 1 || number.scale == 1
  else { return nil }
  return number.times(unit)
}

private func sizeUnit(_ text: ArraySlice<UInt8>) -> UInt64? {
  let unit = String(decoding: text, as: UTF8.self).lowercased()
  if unit.isEmpty || unit == "b" { return 1 }
  let powers: [Character: Int] = ["k": 1, "m": 2, "g": 3, "t": 4, "p": 5]
  guard let power = powers[unit[unit.startIndex]] else { return nil }
  let base: UInt64
  switch unit.dropFirst() {
  case "", "i", "ib": base = 1024
  case "b": base = 1000
  default: return nil
  }
  return (0..<power).reduce(1) { product, _ in product * base }
}

func parseDuration(_ argument: Argument) -> Duration? {
  if argument.bytes == [UInt8(ascii: "0")] { return .zero }
  let units: [String: UInt64] = [
    "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
  ]
  var rest = argument.bytes[...]
  var milliseconds: UInt64 = 0
  repeat {
    guard let number = takeDecimal(&rest) else { return nil }
    let letters = rest.prefix { !isDigit($0) }
    rest = rest.dropFirst(letters.count)
    guard let unit = units[String(decoding: letters, as: UTF8.self)], let part = number.times(unit)
    else { return nil }
    milliseconds += part
    // A thousand years: more is a typing error, and the sum cannot overflow.
    if milliseconds > 1000 * 366 * 86_400_000 { return nil }
  } while !rest.isEmpty
  return .milliseconds(Int64(milliseconds))
}

/// Returns a duration as text, in the largest unit that divides it.
func describeDuration(_ duration: Duration) -> String {
  let (seconds, attoseconds) = duration.components
  if attoseconds != 0 { return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms" }
  for (unit, length) in [("d", Int64(86_400)), ("h", 3600), ("m", 60)]
  where seconds != 0 && seconds % length == 0 { return "\(seconds / length)\(unit)" }
  return "\(seconds)s"
}

/// A decimal number without rounding: `1.5` is 15 tenths.
private struct Decimal {
  var digits: UInt64
  var scale: UInt64

  /// Returns the product, rounded down, or `nil` if it is over 2^63 - 1.
  func times(_ unit: UInt64) -> UInt64? {
    let (high, low) = digits.multipliedFullWidth(by: unit)
    guard high < scale else { return nil }
    let quotient = scale.dividingFullWidth((high, low)).quotient
    return quotient <= UInt64(Int64.max) ? quotient : nil
  }
}

/// Removes a decimal number of at most 19 digits from the front and returns it, or returns `nil`.
private func takeDecimal(_ rest: inout ArraySlice<UInt8>) -> Decimal? {
  let whole = rest.prefix(while: isDigit)
  rest = rest.dropFirst(whole.count)
  var fraction = rest.prefix(0)
  if !whole.isEmpty, rest.first == UInt8(ascii: ".") {
    fraction = rest.dropFirst().prefix(while: isDigit)
    if !fraction.isEmpty { rest = rest.dropFirst(1 + fraction.count) }
  }
  let all = whole + fraction
  guard all.count <= 19, let digits = UInt64(String(decoding: all, as: UTF8.self)) else {
    return nil
  }
  return Decimal(digits: digits, scale: fraction.reduce(1) { scale, _ in scale * 10 })
}

func isDigit(_ byte: UInt8) -> Bool {
  byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
}
