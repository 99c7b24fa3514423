#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Reads one byte; nil at the end.
func readByte(_ descriptor: Int32) -> UInt8? {
  var byte: UInt8 = 0
  // Safety: read writes at most one byte into the local.
  return unsafe read(descriptor, &byte, 1) == 1 ? byte : nil
}
