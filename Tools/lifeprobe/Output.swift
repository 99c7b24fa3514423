import Foundation

enum Stream { case output, error }

func say(_ text: String, to stream: Stream) {
  let handle = stream == .output ? FileHandle.standardOutput : FileHandle.standardError
  handle.write(Data((text + "\n").utf8))
}

func end(_ status: Int32) -> Never { exit(status) }
