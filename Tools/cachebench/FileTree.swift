import CLibrary
import CommandLineTools
import Foundation

enum FileTree {
  /// Warns when files are being made much more slowly than they can be.
  ///
  /// For five minutes ext4 does not reuse the inode of a removed file and searches around it
  /// (`recently_deleted` in fs/ext4/ialloc.c): after a run that removed 300,000 files, making one
  /// takes up to 28 times as long, whoever makes it.
  static func warnOfRecentRemovals(in directory: String) {
    let count = 200
    let start = MonotonicClock.now()
    for number in 0..<count {
      // Safety: the path is passed as a NUL-terminated string for the call.
      let file = unsafe open("\(directory)/probe-\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      if file >= 0 { close(file) }
    }
    let microseconds = Double(MonotonicClock.now() - start) / 1000 / Double(count)
    for number in 0..<count { unsafe unlink("\(directory)/probe-\(number)") }
    guard microseconds > 100 else { return }
    progress(
      "warning: making an empty file takes \(fixed(microseconds, 0)) us here; if many files were "
        + "removed in the last five minutes, wait as long before measuring what stores")
  }

  /// Has the system write what it still holds back (`sync(2)`), outside any measured time.
  static func writeBack() {
    sync()
  }

  static func text(of path: String) -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }
}
