internal import CLibrary

extension FileSystem {
  /// Reads up to `count` bytes into a new array; fewer at the end of the file.
  package func readBytes(
    _ descriptor: borrowing Descriptor, count: Int, at offset: Int64
  ) throws(SystemError) -> [UInt8] {
    // Without capacity, the array would write to the storage that all empty arrays share.
    guard count != 0 else { return [] }
    var failure: SystemError?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
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

  /// Reads a file whose expected length is `length` into a new array. If the file is longer, the
  /// array has one byte more than that; if it is shorter, the array has fewer bytes.
  package func readFile(
    _ path: PathName, in directory: borrowing Descriptor, expecting length: Int
  ) throws(SystemError) -> [UInt8] {
    let raw = directory.raw
    var failure: SystemError?
    // Safety: exactly the bytes that were read count as initialised.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: length + 1) { buffer, done in
      do throws(SystemError) {
        done = unsafe try readFile(path, in: raw, into: UnsafeMutableRawBufferPointer(buffer))
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Reads a whole regular file of at most `limit` bytes.
  ///
  /// - Throws: `.tooLarge` (EFBIG) if the file is longer, `.notAFile` if it is not a regular file.
  package func readFile(
    _ path: PathName, in directory: borrowing Descriptor, limit: Int
  ) throws(SystemError) -> [UInt8] {
    var status: FileStatus?
    return try readFile(path, in: directory, limit: limit, &status)
  }

  /// Reads a whole regular file of at most `limit` bytes. As soon as the file is open, `status` is
  /// set, even if the file cannot be read then.
  ///
  /// - Throws: the same errors as the method without the status.
  package func readFile(
    _ path: PathName, in directory: borrowing Descriptor, limit: Int, _ status: inout FileStatus?
  ) throws(SystemError) -> [UInt8] {
    let file = try open(path, in: directory, [.read])
    let found = try self.status(of: file.raw)
    status = found
    guard found.kind == .file else { throw .notAFile }
    guard found.length <= UInt64(limit) else { throw .tooLarge }
    return try readBytes(file, count: Int(found.length), at: 0)
  }

  /// Writes all bytes of an array.
  package func write(
    _ descriptor: borrowing Descriptor, _ bytes: [UInt8], at offset: Int64? = nil
  ) throws(SystemError) {
    var failure: SystemError?
    // Safety: the array outlives the call.
    unsafe bytes.withUnsafeBytes { buffer in
      do throws(SystemError) {
        unsafe try write(descriptor, from: buffer, at: offset)
      } catch { failure = error }
    }
    if let failure { throw failure }
  }
}

extension FileSystem {
  /// Returns whether there is no file with this name; false also if the system cannot tell.
  package func isMissing(_ name: PathName, in directory: Int32) -> Bool {
    do throws(SystemError) {
      _ = try status(at: name, in: directory)
      return false
    } catch { return error == .notFound }
  }

  package func isEmpty(_ directory: borrowing Descriptor) throws(SystemError) -> Bool {
    var isEmpty = true
    try list(directory.raw) { _, _ in
      isEmpty = false
      return false
    }
    return isEmpty
  }
}

extension FileSystem {
  private static var compareBytes: Int { 256 << 10 }

  /// Returns whether a file begins with these bytes. The caller must compare the length.
  ///
  /// - Complexity: O(length), in memory of 256 KiB.
  package func isEqual(_ file: borrowing Descriptor, _ bytes: [UInt8]) -> Bool {
    var offset = 0
    while offset < bytes.count {
      let count = min(bytes.count - offset, Self.compareBytes)
      guard let piece = try? readBytes(file, count: count, at: Int64(offset)),
        piece.count == count, hasSameBytes(bytes, at: offset, piece)
      else { return false }
      offset += count
    }
    return true
  }

  private func hasSameBytes(_ bytes: [UInt8], at offset: Int, _ piece: [UInt8]) -> Bool {
    // Safety: the caller ensures that `offset + piece.count` bytes are there.
    unsafe bytes.withUnsafeBytes { whole in
      unsafe piece.withUnsafeBytes { part in
        guard let start = whole.baseAddress, let other = part.baseAddress
        else { return piece.isEmpty }
        return unsafe memcmp(start + offset, other, part.count) == 0
      }
    }
  }

  /// Returns whether the first `count` bytes of two files are equal.
  ///
  /// - Complexity: O(count), in memory of 512 KiB.
  package func isEqual(
    _ a: borrowing Descriptor, _ b: borrowing Descriptor, count: UInt64
  ) -> Bool {
    var offset: UInt64 = 0
    while offset < count {
      let size = Int(min(count - offset, UInt64(Self.compareBytes)))
      guard let first = try? readBytes(a, count: size, at: Int64(offset)), first.count == size,
        let second = try? readBytes(b, count: size, at: Int64(offset)), first == second
      else { return false }
      offset += UInt64(size)
    }
    return true
  }
}

extension FileSystem {
  /// Creates a file with these bytes; removes it again if it cannot be written completely.
  ///
  /// - Parameter synced: whether the file survives loss of power once the call has returned.
  /// - Throws: EEXIST if the name is taken.
  package func writeNew(
    _ name: PathName, in directory: borrowing Descriptor, _ bytes: [UInt8], synced: Bool = false
  ) throws(SystemError) {
    let file = try open(name, in: directory, [.write, .create, .exclusive])
    do throws(SystemError) {
      try write(file, bytes)
      if synced { try synchronize(file, names: true) }
    } catch {
      try? removeFile(name, in: directory.raw)
      throw error
    }
  }

  /// Creates or replaces a file by a rename, so that other processes never see a part of it.
  ///
  /// - Parameters:
  ///   - temporary: the name until then, in the same directory. What a killed process has left there is
  ///     replaced. While another process has the name, or another user's file, it gets a random end.
  ///   - synced: whether the bytes survive loss of power once the call has returned.
  package func replace(
    _ name: PathName, in directory: borrowing Descriptor, with bytes: [UInt8],
    through temporary: PathName, synced: Bool = false
  ) throws(SystemError) {
    var new = temporary
    // Locked until it has its name, so that no other process takes it for a left-over.
    let file = try createLocked(&new, in: directory)
    do throws(SystemError) {
      try write(file, bytes)
      if synced { try synchronize(file, names: true) }
      try rename(new, in: directory.raw, to: name, in: directory.raw)
    } catch {
      try? removeFile(new, in: directory.raw)
      throw error
    }
  }

  private func createLocked(
    _ name: inout PathName, in directory: borrowing Descriptor
  ) throws(SystemError) -> Descriptor {
    let options: OpenOptions = [.write, .create, .exclusive]
    removeLeftover(name, in: directory)
    do throws(SystemError) {
      let file = try open(name, in: directory, options)
      // Where there are no locks, nobody removes the file either.
      if (try? tryLock(file)) ?? true, try status(of: file.raw).linkCount == 1 { return file }
    } catch {
      guard error == .exists else { throw error }
    }
    name.append(".")
    name.appendHex(UInt64.random(in: .min ... .max), digits: 16)
    return try open(name, in: directory, options)
  }

  /// Removes the file of a process that was killed before it could rename it.
  package func removeLeftover(_ name: PathName, in directory: borrowing Descriptor) {
    let file: Descriptor
    do throws(SystemError) {
      // NFS locks only what is open for writing.
      file = try open(name, in: directory, [.read, .write])
    } catch {
      guard error.isPermission, let readable = try? open(name, in: directory, [.read])
      else { return }
      file = readable
    }
    // Its process has the lock as long as it lives.
    guard (try? tryLock(file)) == true, let status = try? status(of: file.raw),
      (try? self.status(at: name, in: directory.raw))?.identity == status.identity
    else { return }
    try? removeFile(name, in: directory.raw)
  }
}
