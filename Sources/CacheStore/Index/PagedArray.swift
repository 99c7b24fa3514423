/// An array that grows by pages. Appending never copies the elements.
///
/// A plain array of a million elements copies them all when it is full, so the longest step would
/// grow with the store.
@safe
struct PagedArray<Element: BitwiseCopyable>: ~Copyable {
  /// The number of elements in a page.
  static var pageCount: Int { 4096 }

  private var pages: [UnsafeMutablePointer<Element>] = unsafe []
  private let filler: Element
  private(set) var count = 0

  /// Makes an empty array. `filler` is the value of unused elements.
  init(filler: Element) {
    self.filler = filler
  }

  deinit {
    unsafe pages.forEach { unsafe $0.deallocate() }
  }

  /// - Complexity: O(1); a new page of 4,096 elements once in 4,096 calls.
  mutating func append(_ element: Element) {
    if unsafe pages.count * Self.pageCount == count {
      unsafe pages.append(.allocatePage(of: Self.pageCount, filledWith: filler))
    }
    count += 1
    self[count - 1] = element
  }

  /// - Complexity: O(1). Pages are kept.
  mutating func removeLast() -> Element {
    count -= 1
    return self[count]
  }

  // Safety, for both: the array of pages checks its bounds, and each page has 4,096 elements.
  subscript(_ position: Int) -> Element {
    @inline(__always) get { unsafe pages[position >> 12][position & 4095] }
    @inline(__always) _modify { yield unsafe &pages[position >> 12][position & 4095] }
  }
}

extension UnsafeMutablePointer where Pointee: BitwiseCopyable {
  /// Allocates memory for elements, all set to `filler`, at the start of a cache line. The caller
  /// deallocates it.
  static func allocatePage(of count: Int, filledWith filler: Pointee) -> Self {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: count * MemoryLayout<Pointee>.stride, alignment: 64)
    return unsafe page.initializeMemory(as: Pointee.self, repeating: filler, count: count)
  }
}
