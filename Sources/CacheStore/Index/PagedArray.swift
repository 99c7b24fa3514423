/// An array that grows a page at a time: appending never copies what is there.
///
/// A plain array of a million entries copies them all when it is full; that step would grow with the
/// store.
struct PagedArray<Element> {
  /// The number of elements in a page.
  static var pageCount: Int { 4096 }

  private var pages: [ContiguousArray<Element>] = []
  private let filler: Element
  private(set) var count = 0

  /// Makes an empty array; `filler` stands in the places that are not in use.
  init(filler: Element) { self.filler = filler }

  /// - Complexity: O(1); a new page of 4,096 elements once in 4,096 calls.
  mutating func append(_ element: Element) {
    if count == pages.count * Self.pageCount {
      pages.append(ContiguousArray(repeating: filler, count: Self.pageCount))
    }
    count += 1
    self[count - 1] = element
  }

  /// - Complexity: O(1). Pages are kept.
  mutating func removeLast() -> Element {
    count -= 1
    return pages[count >> 12][count & 4095]
  }

  subscript(_ position: Int) -> Element {
    @inline(__always) get { pages[position >> 12][position & 4095] }
    @inline(__always) _modify { yield &pages[position >> 12][position & 4095] }
  }
}
