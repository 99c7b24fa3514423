internal import CLibrary
package import CacheSystem

// What is done with names.
extension SimulatedProcess {
  package func makeDirectory(userPath: String, mode: UInt16) throws(SystemError) {
    try make(Array(userPath.utf8), in: -1, mode)
  }

  package func makeDirectory(
    _ name: PathName, in directory: Int32, mode: UInt16
  ) throws(SystemError) {
    try make(name.bytes, in: directory, mode)
  }

  private func make(
    _ path: FileName, in directory: Int32, _ mode: UInt16
  ) throws(SystemError) {
    try call(.makeDirectory, path, isChange: true) { volume, _ throws(SystemError) in
      let (parent, name) = try volume.disk.find(path, from: start(directory, volume))
      if try volume.disk.lookUp(parent, name) != nil { throw .exists }
      _ = try volume.disk.create(.directory, mode, parent, name)
    }
  }

  package func status(at name: PathName, in directory: Int32) throws(SystemError) -> FileStatus {
    let path = name.bytes
    return try call(.statusAt, path) { volume, _ throws(SystemError) in
      let (parent, name) = try volume.disk.find(path, from: start(directory, volume))
      guard let number = try volume.disk.lookUp(parent, name) else { throw .notFound }
      return try volume.disk.status(number)
    }
  }

  package func changeMode(
    at name: PathName, in directory: Int32, to mode: UInt16
  ) throws(SystemError) {
    let path = name.bytes
    try call(.changeMode, path, isChange: true) { volume, _ throws(SystemError) in
      let (parent, name) = try volume.disk.find(path, from: start(directory, volume))
      guard let number = try volume.disk.lookUp(parent, name) else { throw .notFound }
      volume.disk.nodes[number]?.mode = mode
    }
  }

  package func removeFile(_ name: PathName, in directory: Int32) throws(SystemError) {
    let path = name.bytes
    try call(.removeFile, path, isChange: true) { volume, _ throws(SystemError) in
      let (parent, name) = try volume.disk.find(path, from: start(directory, volume))
      try volume.disk.removeFile(parent, name)
    }
  }

  package func removeDirectory(_ name: PathName, in directory: Int32) throws(SystemError) {
    let path = name.bytes
    try call(.removeDirectory, path, isChange: true) { volume, _ throws(SystemError) in
      let (parent, name) = try volume.disk.find(path, from: start(directory, volume))
      try volume.disk.removeDirectory(parent, name)
    }
  }

  package func rename(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    let (from, to) = (from.bytes, to.bytes)
    try call(.rename, to, isChange: true) { volume, _ throws(SystemError) in
      let source = try volume.disk.find(from, from: start(fromDirectory, volume))
      let target = try volume.disk.find(to, from: start(toDirectory, volume))
      try volume.disk.rename(source, to: target)
    }
  }

  package func link(
    _ from: PathName, in fromDirectory: Int32, to: PathName, in toDirectory: Int32
  ) throws(SystemError) {
    let (from, to) = (from.bytes, to.bytes)
    try call(.link, to, isChange: true) { volume, _ throws(SystemError) in
      let source = try volume.disk.find(from, from: start(fromDirectory, volume))
      guard let number = try volume.disk.lookUp(source.directory, source.name)
      else { throw .notFound }
      let target = try volume.disk.find(to, from: start(toDirectory, volume))
      if try volume.disk.lookUp(target.directory, target.name) != nil { throw .exists }
      try volume.disk.link(number, target.directory, target.name)
    }
  }

  package func list(
    _ descriptor: Int32, _ body: (PathName, FileKind) -> Bool
  ) throws(SystemError) {
    let found = try call(.list, of: descriptor) { volume, file, _ throws(SystemError) in
      guard let node = volume.disk.nodes[file.number], node.kind == .directory
      else { throw SystemError(ENOTDIR) }
      // In the order of their making, so that each run sees the same.
      return node.entries.sorted { $0.value < $1.value }.map { name, number in
        (name, volume.disk.nodes[number]?.kind ?? .other)
      }
    }
    for (name, kind) in found {
      guard let path = PathName(bytes: name) else { continue }
      if !body(path, kind) { return }
    }
  }
}
