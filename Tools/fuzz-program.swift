import Glibc

// The program of Tools/fuzz: all targets, of which OFFLINECACHE_FUZZ_TARGET chooses one, so that the
// libraries are compiled once.

private let chosen: FuzzTarget = {
  // Safety: the environment is not changed by anybody while the program runs.
  let name = unsafe getenv("OFFLINECACHE_FUZZ_TARGET").map { unsafe String(cString: $0) }
  guard let target = FuzzTarget(rawValue: name ?? "") else {
    fatalError("OFFLINECACHE_FUZZ_TARGET names no target; run Tools/fuzz")
  }
  return target
}()

/// Is called by libFuzzer with one input after the other.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  // Safety: libFuzzer gives `size` bytes, which stay for as long as the call lasts.
  let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
  chosen.run(bytes)
  return 0
}
