internal import CPlatform

/// The memory that an index lies in: the heap, or a file without a name.
///
/// In a file, the index takes a few megabytes of the process however many entries there are: what is
/// mapped is let go of after some visits. Used by one thread at a time, as the index is.
@safe
final class IndexMemory: @unchecked Sendable {
  // Unchecked: whoever has the index has this, too.

  /// How many visits of the index there are between two times that its memory is let go of. Each may
  /// bring back a few stretches of 64 KiB, as the system reads around what is asked for.
  private static let visitCount = 128
  /// The least that is mapped at once.
  private static let regionBytes = 4 << 20
  /// By how much the file grows at once.
  private static let stepBytes = 1 << 20

  private var heap: [UnsafeMutableRawPointer] = unsafe []
  private var file: Mapped?
  private var visits = 0

  /// Whether ``visit()`` has to be called.
  let isFile: Bool

  /// Makes memory on the heap, or in a new file on the volume of `folder` where that can be had.
  init(in folder: String? = nil) {
    let descriptor = unsafe folder?.withCString { unsafe cp_open_unnamed($0) } ?? -1
    isFile = descriptor >= 0
    if isFile { unsafe file = Mapped(descriptor: descriptor) }
  }

  deinit {
    unsafe heap.forEach { unsafe $0.deallocate() }
    guard let file = unsafe file else { return }
    unsafe file.regions.forEach { unsafe cp_unmap($0.baseAddress, $0.count) }
    cp_close(unsafe file.descriptor)
  }

  /// Returns memory for elements, all set to `filler`, that lasts as long as this object.
  func page<Element: BitwiseCopyable>(
    of count: Int, filledWith filler: Element
  ) -> UnsafeMutablePointer<Element> {
    let bytes = count * MemoryLayout<Element>.stride
    let page = unsafe file?.take(bytes) ?? heapPage(bytes)
    return unsafe page.initializeMemory(as: Element.self, repeating: filler, count: count)
  }

  private func heapPage(_ bytes: Int) -> UnsafeMutableRawPointer {
    let page = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
    unsafe heap.append(page)
    return unsafe page
  }

  /// Counts a look at places of the index that may lie anywhere, and lets go of the memory when there
  /// were many. For a file only.
  func visit() {
    visits += 1
    guard visits >= Self.visitCount, let file = unsafe file else { return }
    visits = 0
    unsafe file.regions.forEach { unsafe cp_let_go($0.baseAddress, $0.count) }
  }

  /// A file that is mapped in regions, the last of which is being used up.
  @unsafe
  private struct Mapped {
    let descriptor: Int32
    var regions: [UnsafeMutableRawBufferPointer] = unsafe []
    private var mapped = 0
    private var used = 0
    private var reserved = 0

    init(descriptor: Int32) { unsafe self.descriptor = descriptor }

    /// Takes the next bytes; nil where the volume has no room for them.
    mutating func take(_ bytes: Int) -> UnsafeMutableRawPointer? {
      let bytes = (bytes + 63) & ~63
      if unsafe used + bytes > mapped {
        // Each region is as long as all before, so there are few of them.
        let length = unsafe max(mapped, IndexMemory.regionBytes, (bytes + 0xFFFF) & ~0xFFFF)
        var address: UnsafeMutableRawPointer?
        let code = unsafe cp_map_shared(descriptor, Int64(mapped), length, &address)
        guard code == 0, let address = unsafe address else { return nil }
        unsafe regions.append(UnsafeMutableRawBufferPointer(start: address, count: length))
        unsafe used = mapped
        unsafe mapped += length
      }
      let end = unsafe used + bytes
      if unsafe end > reserved {
        // Without the promise of the volume, writing to a full one would end the process.
        let more = unsafe min(max(end - reserved, IndexMemory.stepBytes), mapped - reserved)
        guard unsafe cp_extend(descriptor, Int64(reserved), Int64(more)) == 0 else { return nil }
        unsafe reserved += more
      }
      guard let region = unsafe regions.last, let start = region.baseAddress else { return nil }
      defer { unsafe used = end }
      return unsafe start + (used - (mapped - region.count))
    }
  }
}
