#if canImport(Darwin)
  import Foundation
  import HTTPTransports

  /// Writes the body of a request into the stream from which URLSession reads. Everything runs on one
  /// queue.
  ///
  /// - Safety: `@unchecked Sendable` because all properties are used on the queue only.
  final class UploadPump: NSObject, StreamDelegate, @unchecked Sendable {
    /// The bytes between the source and URLSession.
    private static let bufferBytes = 64 << 10

    private let task: SessionTask
    private let upload: Upload
    private let output: OutputStream
    private let queue = DispatchQueue(label: "URLSessionTransport.upload")
    private var buffer = [UInt8](repeating: 0, count: bufferBytes)
    private var waiting = 0..<0
    private var hasRoom = false
    /// Keeps this object alive until the upload has ended, as a stream does not keep its delegate.
    private var keeper: UploadPump?

    /// Starts to read a body, and returns the stream in which it arrives; `nil` if the body was read
    /// before and cannot be read again.
    static func start(_ task: SessionTask) -> InputStream? {
      guard let upload = task.transfer.upload, upload.rewind() else { return nil }
      // Safety: both are set during the call.
      var (input, output): (InputStream?, OutputStream?)
      unsafe Stream.getBoundStreams(
        withBufferSize: bufferBytes, inputStream: &input, outputStream: &output)
      guard let input, let output else { return nil }
      let pump = UploadPump(task, upload, output)
      pump.queue.async { pump.open() }
      task.setUpload { pump.queue.async { pump.close() } }
      return input
    }

    private init(_ task: SessionTask, _ upload: Upload, _ output: OutputStream) {
      self.task = task
      self.upload = upload
      self.output = output
    }

    private func open() {
      keeper = self
      output.delegate = self
      CFWriteStreamSetDispatchQueue(output as CFWriteStream, queue)
      output.open()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
      if event.contains(.hasSpaceAvailable) {
        hasRoom = true
        write()
      } else if event.contains(.errorOccurred) || event.contains(.endEncountered) {
        close()
      }
    }

    private func write() {
      guard hasRoom, keeper != nil else { return }
      if waiting.isEmpty {
        let read = unsafe buffer.withUnsafeMutableBytes { buffer in
          // Safety: `read` writes only during the call.
          unsafe upload.read(into: buffer) { [weak self] in
            guard let self else { return }
            queue.async { self.write() }
          }
        }
        switch read {
        case .bytes(let count): waiting = 0..<count
        case .wait: return
        case .end: return close()
        case .failed(let detail):
          // The stream stays open until the task has ended: without a stated length, its end would
          // be that of the body.
          return task.fail(task.transfer.error(.requestBodyFailed, detail))
        }
      }
      hasRoom = false
      let count = unsafe buffer.withUnsafeBufferPointer { buffer in
        // Safety: the range is in the buffer, and there is room, so the call does not block.
        unsafe output.write(buffer.baseAddress! + waiting.lowerBound, maxLength: waiting.count)
      }
      guard count > 0 else { return close() }
      waiting = (waiting.lowerBound + count)..<waiting.upperBound
    }

    private func close() {
      output.delegate = nil
      output.close()
      keeper = nil
    }
  }
#endif
