internal import TestSupport

/// The bytes of a simulated file, in pages; a page that was never written is a hole of zeros.
struct FileData: Sendable, Hashable {
  /// What the kernel writes back in one piece, and where a killed write(2) is cut.
  static let pageBytes = 4096

  private(set) var length = 0
  private var pages: [Int: [UInt8]] = [:]

  /// The bytes that the pages take on the disk.
  var allocatedBytes: Int { pages.count * Self.pageBytes }

  /// The pages that a write of `count` bytes would allocate.
  func missingPages(_ count: Int, at offset: Int) -> Int {
    if count == 0 { return 0 }
    let range = (offset / Self.pageBytes)...((offset + count - 1) / Self.pageBytes)
    return range.count { pages[$0] == nil }
  }

  /// Copies bytes from `offset` on, as many as there are and the buffer holds.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    let count = max(0, min(buffer.count, length - offset))
    var done = 0
    while done < count {
      let (page, start) = (offset + done).quotientAndRemainder(dividingBy: Self.pageBytes)
      let size = min(count - done, Self.pageBytes - start)
      // Safety: `done + size` is at most the count of the buffer, `start + size` that of a page.
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<(done + size)])
      if let bytes = pages[page] {
        unsafe bytes.withUnsafeBytes { source in
          unsafe target.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: source[start..<(start + size)]))
        }
      } else {
        _ = unsafe target.initializeMemory(as: UInt8.self, repeating: 0)
      }
      done += size
    }
    return count
  }

  /// Overwrites or appends; what lies between the old end and `offset` is a hole.
  mutating func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) {
    var done = 0
    while done < buffer.count {
      let (page, start) = (offset + done).quotientAndRemainder(dividingBy: Self.pageBytes)
      let size = min(buffer.count - done, Self.pageBytes - start)
      var bytes = pages.removeValue(forKey: page) ?? [UInt8](repeating: 0, count: Self.pageBytes)
      // Safety: `done + size` is at most the count of the buffer, `start + size` that of a page.
      unsafe bytes.withUnsafeMutableBytes { target in
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[start..<(start + size)])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[done..<(done + size)]))
      }
      pages[page] = bytes
      done += size
    }
    if buffer.count > 0 { length = max(length, offset + buffer.count) }
  }

  /// Cuts the file, or extends it by a hole.
  mutating func truncate(to newLength: Int) {
    if newLength < length {
      let (page, start) = newLength.quotientAndRemainder(dividingBy: Self.pageBytes)
      for number in pages.keys where number > page || number == page && start == 0 {
        pages[number] = nil
      }
      if start > 0, let bytes = pages[page] {
        pages[page] = bytes[..<start] + [UInt8](repeating: 0, count: Self.pageBytes - start)
      }
    }
    length = newLength
  }

  /// What a power cut may leave of a file that was durable as `self` and has become `newer`: the
  /// length is the old one, the new one or one between; each page is the old one, the new one, or a
  /// new one torn at a sector.
  func torn(towards newer: FileData, _ random: inout SplitMix64) -> FileData {
    if self == newer { return self }
    var result = FileData()
    result.length = chosenLength(newer, &random)
    for page in Set(pages.keys).union(newer.pages.keys).sorted() {
      let (old, new) = (pages[page], newer.pages[page])
      switch random.next() % 4 {
      case _ where old == new: result.pages[page] = old
      case 0: result.pages[page] = old
      case 1:
        let zeros = [UInt8](repeating: 0, count: Self.pageBytes)
        let cut = Int(random.next() % 7 + 1) * 512
        result.pages[page] = Array((new ?? zeros)[..<cut] + (old ?? zeros)[cut...])
      default: result.pages[page] = new
      }
    }
    let end = result.length
    result.length = .max
    result.truncate(to: end)
    return result
  }

  private func chosenLength(_ newer: FileData, _ random: inout SplitMix64) -> Int {
    let (low, high) = (min(length, newer.length), max(length, newer.length))
    if low == high { return low }
    switch random.next() % 4 {
    case 0: return length
    case 1: return low + Int(random.next() % UInt64(high - low))
    case 2:
      let boundary = high / Self.pageBytes * Self.pageBytes
      return boundary > low ? boundary : newer.length
    default: return newer.length
    }
  }
}
