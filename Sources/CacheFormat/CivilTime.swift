/// A date and time of the proleptic Gregorian calendar, converted to and from seconds.
///
/// The days are counted in eras of 400 years (146,097 days), which begin on 1 March, so that a leap
/// day is the last day of its year.
package struct CivilTime {
  /// The first second of the year 0.
  package static let earliest: Int64 = -62_167_219_200
  /// The last second of the year 9999.
  package static let latest: Int64 = 253_402_300_799

  package var year: Int64
  package var month = 1
  package var day = 1
  package var hour = 0
  package var minute = 0
  package var second = 0

  package init(year: Int64) {
    self.year = year
  }

  /// Creates the date and time of a number of seconds since 1970.
  package init(seconds: Int64) {
    let days = Self.floorDivide(seconds, 86_400)
    let rest = Int(seconds - days * 86_400)
    let shifted = days + 719_468
    let era = Self.floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    hour = rest / 3_600
    minute = rest / 60 % 60
    second = rest % 60
  }

  /// The seconds since 1970.
  package var seconds: Int64 {
    days * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
  }

  /// The day of the week, 0 for Sunday.
  package var weekday: Int {
    // 1 January 1970 was a Thursday.
    let day = (days + 4) % 7
    return Int(day < 0 ? day + 7 : day)
  }

  private var days: Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = Self.floorDivide(shiftedYear, 400)
    let yearOfEra = shiftedYear - era * 400
    let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
    let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  package var hasValidDay: Bool {
    day >= 1 && day <= Self.length(ofMonth: month, in: year)
  }

  private static func length(ofMonth month: Int, in year: Int64) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
    let quotient = number / divisor
    return number % divisor < 0 ? quotient - 1 : quotient
  }
}
