/// Keeps the elements with the highest ranks among any number that are offered.
struct BoundedTop<Rank: Comparable & Sendable, Element: Sendable>: Sendable {
  private let capacity: Int
  private var ranked: [(rank: Rank, element: Element)] = []

  /// Makes an empty list of at most `capacity` elements.
  init(capacity: Int) {
    self.capacity = capacity
  }

  /// Gives the elements, the highest rank first; of equal ranks the one that was offered first.
  var elements: [Element] { ranked.map(\.element) }

  /// Takes an element where its rank is among the highest; it is made only then.
  ///
  /// - Complexity: O(capacity)
  mutating func offer(_ rank: Rank, _ element: @autoclosure () -> Element) {
    if ranked.count == capacity {
      guard let last = ranked.last, last.rank < rank else { return }
      ranked.removeLast()
    }
    let place = ranked.firstIndex { $0.rank < rank } ?? ranked.endIndex
    ranked.insert((rank, element()), at: place)
  }
}
