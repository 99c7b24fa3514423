extension FileSystem {
  /// Reads up to `count` bytes into a new array; fewer at the end of the file.
  public func readBytes(
    _ descriptor: borrowing Descriptor, count: Int, at offset: Int64
  ) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      do throws(SystemError) {
        // Safety: exactly the bytes that were read count as initialised.
        done = unsafe try read(descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: offset)
      } catch {
        failure = error
        done = 0
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Reads up to `count` bytes into a new array; one call where the file gives less at once, so that
  /// a file of the expected length, asked for one byte more, costs one system call.
  public func readSome(
    _ descriptor: borrowing Descriptor, count: Int, at offset: Int64
  ) throws(SystemError) -> [UInt8] {
    let raw = descriptor.raw
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      do throws(SystemError) {
        while done < count {
          let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
          let position = offset + Int64(done)
          let got = try retryOnInterrupt { () throws(SystemError) in
            unsafe try readOnce(raw, into: rest, at: position)
          }
          done += got
          // Less than asked, but one byte short of all: the end, for a file as long as expected.
          if got == 0 || done == count - 1 { break }
        }
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Reads a whole regular file of at most `limit` bytes.
  ///
  /// - Throws: EFBIG (as `.tooLarge`) for a longer one, EIO for what is no regular file.
  public func readFile(
    _ path: PathName, in directory: borrowing Descriptor, limit: Int
  ) throws(SystemError) -> [UInt8] {
    let file = try open(path, in: directory, [.read])
    let status = try status(of: file.raw)
    guard status.kind == .file else { throw .inputOutput }
    guard status.length <= UInt64(limit) else { throw .tooLarge }
    return try readBytes(file, count: Int(status.length), at: 0)
  }

  /// Writes all bytes of an array.
  public func write(
    _ descriptor: borrowing Descriptor, _ bytes: [UInt8], at offset: Int64? = nil
  ) throws(SystemError) {
    var failure: SystemError?
    bytes.withUnsafeBytes { buffer in
      do throws(SystemError) {
        // Safety: the array outlives the call.
        unsafe try write(descriptor, from: buffer, at: offset)
      } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
