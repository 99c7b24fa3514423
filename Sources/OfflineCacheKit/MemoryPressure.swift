#if canImport(Darwin)
  /// Empties the memory of a client whenever the system is short of memory, while this object lives.
  ///
  /// Type-checked on Linux (Tools/check-apple), and not built on Apple platforms yet.
  final class MemoryPressure: @unchecked Sendable {
    // Unchecked: the source is Sendable in newer SDKs only. It is set up once, and cancelled once.
    private let source: any DispatchSourceMemoryPressure

    init(emptying client: CachingClient) {
      source = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical])
      source.setEventHandler { client.emptyMemory() }
      source.activate()
    }

    deinit { source.cancel() }
  }
#endif
