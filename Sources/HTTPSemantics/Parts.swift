/// Combines stored parts of a representation (RFC 9111, sections 3.3 and 3.4).
public enum Parts {
  /// A piece of a requested range.
  public enum Piece: Sendable, Hashable {
    /// The bytes are stored: `count` bytes from `offset` in the body of the part with this index.
    case stored(part: Int, offset: UInt64, count: UInt64)
    /// The bytes are not stored: these positions of the representation.
    case missing(ClosedRange<UInt64>)
  }

  /// Returns whether two stored 206 responses contain bytes of the same state of a representation, so
  /// that they may be combined: they have the same strong validator and do not contradict each
  /// other.
  public static func mayCombine(_ left: StoredResponse, _ right: StoredResponse) -> Bool {
    guard let first = left.contentRange, let second = right.contentRange,
      Validators(left).matchStrongly(Validators(right))
    else { return false }
    if let one = first.completeLength, let other = second.completeLength, one != other {
      return false
    }
    let codings = [left, right].map { $0.fields.combinedValue(of: "Content-Encoding") }
    return codings[0] == codings[1]
  }

  /// Returns the pieces of a requested range, in their order and without gaps or overlaps.
  ///
  /// - Parameters:
  ///   - wanted: The positions in the representation.
  ///   - parts: The ranges of the stored parts; they may overlap and have any order.
  /// - Complexity: O(*n* log *n*) in the number of parts.
  public static func cover(
    _ wanted: ClosedRange<UInt64>, by parts: [ContentRange]
  ) -> [Piece] {
    var pieces: [Piece] = []
    var position = wanted.lowerBound
    let order = parts.indices.sorted { parts[$0].first < parts[$1].first }
    var next = 0
    while position <= wanted.upperBound {
      var best: Int?
      while next < order.count, parts[order[next]].first <= position {
        if let current = best, parts[current].last >= parts[order[next]].last {
          // The previous one ends at the same position or later.
        } else {
          best = order[next]
        }
        next += 1
      }
      if let best, parts[best].last >= position {
        let last = min(parts[best].last, wanted.upperBound)
        pieces.append(
          .stored(
            part: best, offset: position - parts[best].first, count: last - position + 1))
        position = last + 1
      } else if next < order.count, parts[order[next]].first <= wanted.upperBound {
        pieces.append(.missing(position...(parts[order[next]].first - 1)))
        position = parts[order[next]].first
      } else {
        pieces.append(.missing(position...wanted.upperBound))
        break
      }
    }
    return pieces
  }
}
