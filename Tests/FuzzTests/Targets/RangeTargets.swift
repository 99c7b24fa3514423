@testable import HTTPSemantics

/// Reads a value as the `Range` of a request.
func fuzzRange(_ value: [UInt8]) {
  let request = request([HTTPField(name: "Range", value: value)])
  let asked = ByteRange(of: request)
  let lengths: [UInt64] = [0, 1, 2, 500, UInt64(Int64.max)]
  for length in lengths {
    if let range = asked?.resolve(length: length) {
      require(range.upperBound < length, "a range lies within the representation")
    }
    let stored = StoredResponse(
      status: 200, fields: [], requestTime: received, responseTime: received, selection: .none,
      rules: CacheRules())
    switch RangeAnswer.answer(to: request, from: stored, length: length, now: received) {
    case .part(let range): require(range.upperBound < length, "a part lies within the body")
    case .unsatisfiable(let told): require(told == length, "the length is told")
    case .whole: break
    case .unanswerable: require(false, "a whole body answers every range")
    }
  }
}

/// Reads the lines of an input as `Content-Range` fields of stored parts, and puts them together.
func fuzzContentRange(_ bytes: [UInt8]) {
  var parts: [ContentRange] = []
  for line in bytes.split(separator: 0x0A) {
    guard let range = ContentRange(Array(line)) else { continue }
    require(range.first <= range.last, "a range has at least one byte")
    require(range.last < range.completeLength ?? .max, "a range ends within the representation")
    require(ContentRange(Array(range.fieldValue.utf8)) == range, "a round trip changes nothing")
    parts.append(range)
  }
  checkCover(0...999, by: parts)
  for part in parts { checkCover(part.first...part.last, by: parts) }
}

/// Checks that the pieces of a range are without gap and overlap, and where they say to be.
private func checkCover(_ wanted: ClosedRange<UInt64>, by parts: [ContentRange]) {
  var position = wanted.lowerBound
  for piece in Parts.cover(wanted, by: parts) {
    switch piece {
    case .stored(let index, let offset, let count):
      let part = parts[index]
      require(part.first + offset == position, "a piece follows the one before")
      require(count > 0 && offset + count <= part.count, "a piece lies within its part")
      position += count
    case .missing(let range):
      require(range.lowerBound == position, "a gap follows the piece before")
      require(!parts.contains { ($0.first...$0.last).overlaps(range) }, "a gap is in no part")
      position = range.upperBound + 1
    }
  }
  require(position == wanted.upperBound + 1, "the pieces make up the range")
}
