import CCurl
import CCurlLibrary

// libcurl's callbacks. They are C functions, which get the object as their context.
extension RunningTransfer {
  /// Makes libcurl call this object, which must exist until the handle is removed from the multi
  /// handle.
  func installCallbacks() -> Bool {
    installReceiving() && installSending() && installLookUp() && installConnected()
  }

  // Safety, for all of them: the driver keeps the object until the handle is removed from the multi
  // handle. libcurl passes `size * count` valid bytes, and size is always 1.

  private func installReceiving() -> Bool {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let didWrite = unsafe occurl_set_write_callback(
      handle.raw,
      { bytes, size, count, context in
        guard let running = unsafe RunningTransfer.from(context) else { return 0 }
        let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe running.receive(piece) ? size * count : 0
      }, context)
    let didHeader = unsafe occurl_set_header_callback(
      handle.raw,
      { bytes, size, count, context in
        guard let running = unsafe RunningTransfer.from(context) else { return 0 }
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe running.receiveLine(line) ? size * count : 0
      }, context)
    return didWrite == CURLE_OK && didHeader == CURLE_OK
  }

  private func installSending() -> Bool {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    return unsafe occurl_set_read_callback(
      handle.raw,
      { bytes, size, count, context in
        guard let running = unsafe RunningTransfer.from(context) else { return occurl_read_abort }
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        return unsafe running.provide(buffer)
      },
      { context, offset, _ in
        guard let running = unsafe RunningTransfer.from(context), offset == 0 else {
          return CURL_SEEKFUNC_FAIL
        }
        return running.rewind() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
      }, context) == CURLE_OK
  }

  private func installLookUp() -> Bool {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    return unsafe occurl_set_look_up_callback(
      handle.raw,
      { _, _, context in
        unsafe RunningTransfer.from(context)?.mayLookUp() == true ? 0 : 1
      }, context) == CURLE_OK
  }

  private func installConnected() -> Bool {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let code = unsafe occurl_set_connected_callback(
      handle.raw,
      { context, there, here, therePort, herePort in
        guard let running = unsafe RunningTransfer.from(context) else { return 0 }
        let endpoints = IdleSockets.Endpoints(
          here: unsafe RunningTransfer.text(here), herePort: Int(herePort),
          there: unsafe RunningTransfer.text(there), therePort: Int(therePort))
        return running.mayUseConnection(endpoints) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      }, context)
    if code == CURLE_OK { return true }
    // Without the callback no connection can be checked before it is used again.
    return code == CURLE_UNKNOWN_OPTION && !needsConnectedCallback
      && handle.set(CURLOPT_FORBID_REUSE, 1)
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> RunningTransfer? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<RunningTransfer>.fromOpaque(context).takeUnretainedValue()
  }

  private static func text(_ string: UnsafeMutablePointer<CChar>?) -> String {
    unsafe string.map { unsafe String(cString: $0) } ?? ""
  }
}
