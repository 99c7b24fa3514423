internal import CLibrary
import CacheSystem

/// A process that has the files of a simulated volume: its calls are counted, may be made to fail,
/// and end with it.
///
/// When it ends, its descriptors and locks go at once, and each of its calls fails with
/// `.processEnded` from then on; other processes may go on with the volume. Closing and unlocking
/// never fail and are not counted: what they do, the end of the process does, too.
package final class SimulatedProcess: FileSystem {
  let state: Monitor<VolumeState>
  let number: Int

  /// Starts a process.
  ///
  /// - Parameters:
  ///   - fault: what is to go wrong.
  ///   - recordsTrace: whether `trace` tells all calls.
  package init(
    on volume: SimulatedVolume, fault: SimulatedFault? = nil, recordsTrace: Bool = false
  ) {
    state = volume.state
    var process = ProcessState()
    process.fault = fault
    process.trace = recordsTrace ? [] : nil
    let started = process
    number = volume.state.change { volume in
      volume.processes.append(started)
      return volume.processes.count - 1
    }
  }

  /// Ends the process, as kill -9 does.
  package func end() { state.change { $0.end(number) } }

  /// Whether the process has ended.
  package var hasEnded: Bool { own(\.hasEnded) }

  /// Sets what is to go wrong from now on, and counts anew.
  package func setFault(_ fault: SimulatedFault?) {
    state.change { volume in
      volume.processes[number].fault = fault
      volume.processes[number].matched = 0
      volume.processes[number].struck = nil
      volume.processes[number].struckKinds = []
    }
  }

  /// The first call that the fault has struck.
  package var struck: SimulatedOperation? { own(\.struck) }

  /// The kinds of all calls that it has struck.
  package var struckKinds: Set<SimulatedOperation.Kind> { own(\.struckKinds) }

  /// Whether the fault strikes again and again.
  package var isFaultLasting: Bool { own(\.fault)?.lasts ?? false }

  /// The number of calls so far.
  package var operations: Int { own(\.operations) }

  /// The calls so far, where they are recorded.
  package var trace: [SimulatedOperation] { own(\.trace) ?? [] }

  private func own<Value>(_ path: KeyPath<ProcessState, Value>) -> Value {
    state.wait { volume -> Value? in volume.processes[number][keyPath: path] }
  }

  // MARK: One call

  /// Carries a call out, or lets it fail.
  func call<Value>(
    _ kind: SimulatedOperation.Kind, _ path: FileName, isChange: Bool = false,
    _ body: (inout VolumeState, SimulatedFault.Effect?) throws(SystemError) -> Value
  ) throws(SystemError) -> Value {
    let operation = SimulatedOperation(kind: kind, isChange: isChange, path: path)
    return try result { volume throws(SystemError) in
      try carryOut(operation, &volume, body)
    }
  }

  /// The same of a descriptor.
  func call<Value>(
    _ kind: SimulatedOperation.Kind, of descriptor: Int32, isChange: Bool = false,
    _ body: (inout VolumeState, OpenFile, SimulatedFault.Effect?) throws(SystemError) -> Value
  ) throws(SystemError) -> Value {
    try result { volume throws(SystemError) in
      let file = volume.processes[number][descriptor]
      let operation = SimulatedOperation(kind: kind, isChange: isChange, path: file?.path ?? [])
      return try carryOut(operation, &volume) { volume, effect throws(SystemError) in
        guard let file else { throw SystemError(EBADF) }
        return try body(&volume, file, effect)
      }
    }
  }

  private func result<Value>(
    _ body: (inout VolumeState) throws(SystemError) -> Value
  ) throws(SystemError) -> Value {
    let result: Result<Value, SystemError> = state.change { volume in
      do throws(SystemError) { return .success(try body(&volume)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func carryOut<Value>(
    _ operation: SimulatedOperation, _ volume: inout VolumeState,
    _ body: (inout VolumeState, SimulatedFault.Effect?) throws(SystemError) -> Value
  ) throws(SystemError) -> Value {
    if volume.processes[number].hasEnded { throw .processEnded }
    let effect = volume.processes[number].judge(operation)
    switch effect {
    case nil, .transferHalf:
      return try body(&volume, effect)
    case .fail(let error):
      throw error
    case .endBefore:
      volume.end(number)
    case .endAfter, .endWithin:
      _ = try? body(&volume, effect)
      volume.end(number)
    case .losePower:
      _ = try? body(&volume, effect)
      for process in volume.processes.indices { volume.end(process) }
    }
    throw .processEnded
  }

  /// The directory that a path begins at.
  func start(_ directory: Int32, _ volume: VolumeState) throws(SystemError) -> FileNumber {
    if directory < 0 { return Disk.root }
    guard let file = volume.processes[number][directory] else { throw SystemError(EBADF) }
    return file.number
  }
}
