/// Puts stored parts of a representation together (RFC 9111, sections 3.3 and 3.4).
public enum Parts {
  /// Tells where bytes of a wanted range come from.
  public enum Piece: Sendable, Hashable {
    /// They are stored: this many bytes from this offset in the body of this part.
    case stored(part: Int, offset: UInt64, count: UInt64)
    /// They are not stored: these positions of the representation.
    case missing(ClosedRange<UInt64>)
  }

  /// Tells whether two stored responses hold bytes of the same state of a representation, so that
  /// they may be combined: the same strong validator, and nothing that contradicts it.
  public static func mayCombine(_ left: StoredResponse, _ right: StoredResponse) -> Bool {
    guard isPart(left), isPart(right), Validators(left).matchStrongly(Validators(right)) else {
      return false
    }
    if let one = left.contentRange?.completeLength, let other = right.contentRange?.completeLength,
      one != other
    {
      return false
    }
    let codings = [left, right].map { $0.fields.combinedValue(of: "Content-Encoding") }
    return codings[0] == codings[1]
  }

  private static func isPart(_ stored: StoredResponse) -> Bool {
    stored.status == 200 || stored.status == 206 && stored.contentRange != nil
  }

  /// Returns the pieces that make up a wanted range, in their order and without gap or overlap.
  ///
  /// - Parameters:
  ///   - wanted: The positions in the representation.
  ///   - parts: What each stored part holds; they may overlap and come in any order.
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
          // The one found before reaches at least as far.
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
