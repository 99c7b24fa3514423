/// The elements with the highest ranks among any number that are offered.
struct BoundedTop<Rank: Comparable & Sendable, Element: Sendable>: Sendable {
  private let capacity: Int
  private var ranked: [(rank: Rank, element: Element)] = []

  /// Creates an empty list of at most `capacity` elements.
  init(capacity: Int) {
    self.capacity = capacity
  }

  /// The elements, the highest rank first; elements of equal rank in the order in which they were
  /// offered.
  var elements: [Element] { ranked.map(\.element) }

  /// Adds an element if its rank is among the highest. The element is created only in that case.
  mutating func offer(_ rank: Rank, _ element: @autoclosure () -> Element) {
    if ranked.count == capacity {
      guard let last = ranked.last, last.rank < rank else { return }
      ranked.removeLast()
    }
    let place = ranked.firstIndex { $0.rank < rank } ?? ranked.endIndex
    ranked.insert((rank, element()), at: place)
  }
}
