internal import CLibrary
package import CacheSystem

// What is done with files that are open.
extension SimulatedProcess {
  package func openOnce(
    _ path: PathName, in directory: Int32, _ options: OpenOptions, mode: UInt16
  ) throws(SystemError) -> Int32 {
    let path = path.bytes
    return try call(.open, path, isChange: options.contains(.create)) {
      volume, _ throws(SystemError) in
      try open(path, start(directory, volume), options, mode, &volume)
    }
  }

  package func openOnce(userPath: String, _ options: OpenOptions) throws(SystemError) -> Int32 {
    let path = Array(userPath.utf8)
    return try call(.openUserPath, path) { volume, _ throws(SystemError) in
      try open(path, Disk.root, options, 0, &volume)
    }
  }

  private func open(
    _ path: FileName, _ start: FileNumber, _ options: OpenOptions, _ mode: UInt16,
    _ volume: inout VolumeState
  ) throws(SystemError) -> Int32 {
    let (directory, name) = try volume.disk.find(path, from: start)
    let number: FileNumber
    if let found = try volume.disk.lookUp(directory, name) {
      if options.contains([.create, .exclusive]) { throw .exists }
      number = found
    } else if options.contains(.create) {
      number = try volume.disk.create(.file, mode, directory, name)
    } else {
      throw .notFound
    }
    let isDirectory = volume.disk.nodes[number]?.kind == .directory
    if isDirectory && (options.contains(.write) || options.contains(.create)) {
      throw SystemError(EISDIR)
    }
    if options.contains(.directory) && !isDirectory { throw SystemError(ENOTDIR) }
    volume.openings += 1
    return volume.processes[self.number].add(
      OpenFile(number: number, options: options, opening: volume.openings, path: path))
  }

  package func close(_ descriptor: Int32) {
    state.change { volume in
      guard let file = volume.processes[number][descriptor] else { return }
      volume.unlock(file.number, file.opening)
      volume.processes[number][descriptor] = nil
    }
  }

  package func readOnce(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try call(.read, of: descriptor) { volume, file, effect throws(SystemError) in
      guard let node = volume.disk.nodes[file.number] else { throw SystemError(EBADF) }
      if node.kind == .directory { throw SystemError(EISDIR) }
      // Opened without any of both, a file is open for reading.
      if file.options.contains(.write) && !file.options.contains(.read) { throw SystemError(EBADF) }
      if let offset, offset < 0 { throw SystemError(EINVAL) }
      let isHalf = effect == .transferHalf && buffer.count > 1
      // Safety: a beginning of the buffer.
      let part =
        unsafe isHalf
        ? UnsafeMutableRawBufferPointer(rebasing: buffer[..<(buffer.count / 2)]) : buffer
      let count = unsafe node.data.read(into: part, at: offset.map { Int($0) } ?? file.position)
      if offset == nil { volume.processes[number][descriptor]?.position += count }
      return count
    }
  }

  package func writeOnce(
    _ descriptor: Int32, from buffer: UnsafeRawBufferPointer, at offset: Int64?
  ) throws(SystemError) -> Int {
    try call(.write, of: descriptor, isChange: buffer.count > 0) {
      volume, file, effect throws(SystemError) in
      guard file.options.contains(.write) else { throw SystemError(EBADF) }
      if let offset, offset < 0 { throw SystemError(EINVAL) }
      let place = offset.map { Int($0) } ?? file.position
      let wanted =
        switch effect {
        case .transferHalf: max(buffer.count / 2, min(1, buffer.count))
        case .endWithin: cut(buffer.count, at: place)
        default: buffer.count
        }
      // Safety: a beginning of the buffer.
      let count = unsafe try volume.disk.write(
        file.number, UnsafeRawBufferPointer(rebasing: buffer[..<wanted]), at: place)
      if offset == nil { volume.processes[number][descriptor]?.position += count }
      return count
    }
  }

  /// Where a write is cut when its process ends.
  private func cut(_ count: Int, at offset: Int) -> Int {
    let boundary = (offset + count / 2 + FileData.pageBytes - 1) / FileData.pageBytes
    let cut = boundary * FileData.pageBytes - offset
    return cut < count ? cut : count / 2
  }

  package func length(of descriptor: Int32) throws(SystemError) -> Int64 {
    try call(.length, of: descriptor) { volume, file, _ throws(SystemError) in
      let length = volume.disk.nodes[file.number]?.data.length ?? 0
      volume.processes[number][descriptor]?.position = length
      return Int64(length)
    }
  }

  package func truncateOnce(_ descriptor: Int32, to length: Int64) throws(SystemError) {
    try call(.truncate, of: descriptor, isChange: true) { volume, file, _ throws(SystemError) in
      guard length >= 0, file.options.contains(.write) else { throw SystemError(EINVAL) }
      volume.disk.truncate(file.number, to: Int(length))
    }
  }

  package func synchronizeOnce(_ descriptor: Int32, names: Bool) throws(SystemError) {
    do throws(SystemError) {
      try call(.synchronize, of: descriptor, isChange: true) {
        volume, file, _ throws(SystemError) in
        if volume.disk.nodes[file.number]?.unreported.remove(file.opening) != nil {
          throw .inputOutput
        }
        volume.disk.synchronize(file.number, names: names)
      }
    } catch {
      state.change { volume in
        guard error != .interrupted, let file = volume.processes[number][descriptor],
          volume.disk.nodes[file.number]?.hasFailedSync == false
        else { return }
        volume.disk.nodes[file.number]?.hasFailedSync = true
        // As Linux does, tell each other descriptor of the file once.
        let others = volume.processes.flatMap(\.openFiles)
          .filter { $0.number == file.number && $0.opening != file.opening }
        volume.disk.nodes[file.number]?.unreported.formUnion(others.map(\.opening))
      }
      throw error
    }
  }

  package func synchronizeVolume(of descriptor: Int32) throws(SystemError) {
    do throws(SystemError) {
      try call(.synchronize, of: descriptor, isChange: true) { volume, _, _ throws(SystemError) in
        for number in volume.disk.nodes.keys.sorted() {
          volume.disk.synchronize(number, names: true)
        }
      }
    } catch {
      state.change { volume in
        guard error != .interrupted, !volume.processes[number].hasEnded else { return }
        volume.disk.failSync(open: volume.processes.flatMap(\.openFiles))
      }
      throw error
    }
  }

  package func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
    try call(.statusOf, of: descriptor) { volume, file, _ throws(SystemError) in
      try volume.disk.status(file.number)
    }
  }

  package func volume(of descriptor: Int32) throws(SystemError) -> VolumeStatus {
    try call(.volume, of: descriptor) { volume, _, _ throws(SystemError) in
      VolumeStatus(
        blockBytes: UInt64(FileData.pageBytes), totalBytes: UInt64(volume.disk.capacityBytes),
        availableBytes: UInt64(volume.disk.availableBytes), availableFiles: .max)
    }
  }

  // MARK: Locks

  package func lockOnce(_ descriptor: Int32, exclusive: Bool, wait: Bool) throws(SystemError) {
    let isTaken = try call(.lock, of: descriptor) { volume, file, _ throws(SystemError) in
      let isTaken = volume.lock(file.number, file.opening, exclusive: exclusive)
      if !isTaken && !wait { throw .wouldBlock }
      return isTaken
    }
    if isTaken { return }
    // What waits counts once; it wakes with every change, and with the end of its process.
    let result: Result<Void, SystemError> = state.wait { volume in
      guard let file = volume.processes[number][descriptor] else {
        return .failure(.processEnded)
      }
      return volume.lock(file.number, file.opening, exclusive: exclusive) ? .success(()) : nil
    }
    try result.get()
  }

  package func unlock(_ descriptor: Int32) {
    state.change { volume in
      guard let file = volume.processes[number][descriptor] else { return }
      volume.unlock(file.number, file.opening)
    }
  }
}
