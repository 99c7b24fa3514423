internal import CacheSystem

/// A reader for a body, from its beginning to its end, in pieces.
package final class SourceBodyReader {
  /// The length of the longest piece, in bytes.
  package static let pieceBytes = 256 << 10

  private enum Input {
    case value(DatabaseBlob, row: Int64)
    case file(OpenFile)
    case bytes([UInt8])
  }

  package let length: UInt64

  private var done: UInt64 = 0
  private let input: Input
  private let offset: UInt64
  private let source: SourceDatabase

  init(_ body: SourceBody, _ places: BodyPlaces, _ source: SourceDatabase) throws(SourceError) {
    length = body.length
    offset = body.offset
    self.source = source
    switch body.place {
    case .bytes(let bytes): input = .bytes(bytes)
    case .value(let row):
      do throws(DatabaseError) {
        input = .value(try places.contents.open(row), row: row)
      } catch { throw source.error(error) }
    case .file(let name):
      do throws(SystemError) {
        input = .file(try places.folder.open(name))
      } catch {
        throw SourceError(reading: String(decoding: name, as: UTF8.self), error)
      }
    }
  }

  /// Returns the next piece, or `nil` at the end. All pieces but the last have ``pieceBytes``.
  ///
  /// - Throws: ``SourceError``, `.unreadable` if the body has become shorter.
  package func next() throws(SourceError) -> [UInt8]? {
    guard done < length else { return nil }
    let count = Int(min(length - done, UInt64(Self.pieceBytes)))
    let piece = try read(count)
    guard piece.count == count else {
      throw SourceError(.unreadable, source.path, "a body is shorter than it was")
    }
    done += UInt64(count)
    return piece
  }

  private func read(_ count: Int) throws(SourceError) -> [UInt8] {
    let start = Int(offset + done)
    switch input {
    case .bytes(let bytes): return Array(bytes[start..<start + count])
    case .value(let blob, let row):
      precondition(blob.row == row, "another body of the database has been opened since")
      do throws(DatabaseError) {
        return try blob.read(at: start, count: count)
      } catch { throw source.error(error) }
    case .file(let file):
      do throws(SystemError) {
        return try RealFileSystem().readBytes(file.descriptor, count: count, at: Int64(start))
      } catch { throw SourceError(reading: source.path, error) }
    }
  }
}
