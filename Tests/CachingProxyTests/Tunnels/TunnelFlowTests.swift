import CacheSystem
import HTTPTransports
import Synchronization
import TestSupport
import Testing

@testable import CachingProxy

/// An end that gives and takes as its scripts say.
private final class ScriptedEnd: TunnelEnd {
  private struct State {
    var reads: [TunnelTransfer]
    var writes: [TunnelTransfer]
    var finishes: [TunnelTransfer]
    var next: UInt8 = 0
    var taken: [UInt8] = []
  }

  let descriptor: Int32 = -1
  private let state: Mutex<State>

  /// - Parameters:
  ///   - reads: The results of reads; then nothing comes.
  ///   - writes: The results of writes; then all bytes are taken.
  init(
    reads: [TunnelTransfer] = [], writes: [TunnelTransfer] = [], finishes: [TunnelTransfer] = []
  ) {
    state = Mutex(State(reads: reads, writes: writes, finishes: finishes))
  }

  var taken: [UInt8] { state.withLock { $0.taken } }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
    state.withLock { state in
      guard !state.reads.isEmpty else { return .wouldBlock }
      let result = state.reads.removeFirst()
      if case .bytes(let count) = result {
        for index in 0..<count {
          unsafe buffer[index] = state.next
          state.next &+= 1
        }
      }
      return result
    }
  }

  func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer {
    let all = unsafe Array(buffer)
    return state.withLock { state in
      let result = state.writes.isEmpty ? .bytes(all.count) : state.writes.removeFirst()
      guard case .bytes(let count) = result else { return result }
      state.taken += all.prefix(count)
      return .bytes(min(count, all.count))
    }
  }

  func finishWriting() -> TunnelTransfer {
    state.withLock { $0.finishes.isEmpty ? .end : $0.finishes.removeFirst() }
  }

  func close(isBroken: Bool) {}
}

struct TunnelFlowTests {
  /// Moves bytes once.
  private func move(
    _ flow: inout TunnelFlow, _ sender: ScriptedEnd, _ receiver: ScriptedEnd
  ) -> TunnelFlow.Outcome {
    var buffer = [UInt8](repeating: 0, count: TunnelFlow.pieceBytes)
    return unsafe buffer.withUnsafeMutableBytes {
      unsafe flow.move(from: sender, to: receiver, $0)
    }
  }

  @Test func `bytes are moved until nothing comes, and then the sender is watched`() {
    let (sender, receiver) = (ScriptedEnd(reads: [.bytes(3), .bytes(2)]), ScriptedEnd())
    var flow = TunnelFlow([9])
    #expect(flow.wantsToWrite && !flow.wantsToRead)
    #expect(move(&flow, sender, receiver) == .waiting)
    #expect(receiver.taken == [9, 0, 1, 2, 3, 4] && flow.count == 6)
    #expect(flow.wantsToRead && !flow.wantsToWrite && !flow.isFinished)
  }

  @Test func `what the receiver does not take waits, and nothing more is read`() {
    let sender = ScriptedEnd(reads: [.bytes(5), .bytes(1), .end])
    let receiver = ScriptedEnd(writes: [.bytes(2), .wouldBlock, .bytes(1), .wouldBlock])
    var flow = TunnelFlow()
    #expect(move(&flow, sender, receiver) == .waiting)
    #expect(flow.wantsToWrite && !flow.wantsToRead && flow.count == 2)
    #expect(move(&flow, sender, receiver) == .waiting)
    #expect(receiver.taken == [0, 1, 2])
    #expect(move(&flow, sender, receiver) == .waiting)
    #expect(receiver.taken == [0, 1, 2, 3, 4, 5] && flow.count == 6)
    #expect(flow.hasEnded && flow.isFinished && !flow.wantsToRead && !flow.wantsToWrite)
  }

  @Test func `the end is told again when the receiver could not take it`() {
    let sender = ScriptedEnd(reads: [.end])
    let receiver = ScriptedEnd(finishes: [.wouldBlock, .end])
    var flow = TunnelFlow()
    #expect(move(&flow, sender, receiver) == .waiting)
    #expect(flow.hasEnded && !flow.isFinished && flow.wantsToWrite)
    #expect(move(&flow, sender, receiver) == .waiting)
    #expect(flow.isFinished && !flow.wantsToWrite)
  }

  @Test func `a side that is lost is told apart`() {
    var flow = TunnelFlow()
    #expect(move(&flow, ScriptedEnd(reads: [.bytes(1), .failed]), ScriptedEnd()) == .broken)
    flow = TunnelFlow()
    let lost = ScriptedEnd(writes: [.failed])
    #expect(move(&flow, ScriptedEnd(reads: [.bytes(1)]), lost) == .refused)
    flow = TunnelFlow([1])
    #expect(move(&flow, ScriptedEnd(), ScriptedEnd(writes: [.end])) == .refused)
    flow = TunnelFlow()
    let unfinished = ScriptedEnd(finishes: [.failed])
    #expect(move(&flow, ScriptedEnd(reads: [.end]), unfinished) == .refused)
  }

  @Test func `one turn moves no more than a megabyte`() {
    let sender = ScriptedEnd(reads: Array(repeating: .bytes(TunnelFlow.pieceBytes), count: 40))
    let receiver = ScriptedEnd()
    var flow = TunnelFlow()
    #expect(move(&flow, sender, receiver) == .unfinished)
    #expect(flow.count == UInt64(TunnelFlow.turnBytes))
    #expect(move(&flow, sender, receiver) == .unfinished)
    #expect(move(&flow, sender, receiver) == .waiting)
    #expect(flow.count == UInt64(40 * TunnelFlow.pieceBytes))
  }

  @Test func `dropped bytes are read, and not written`() {
    let receiver = ScriptedEnd(finishes: [.failed])
    var flow = TunnelFlow([1, 2])
    flow.discard()
    #expect(flow.isDiscarding && flow.wantsToRead && !flow.wantsToWrite)
    #expect(move(&flow, ScriptedEnd(reads: [.bytes(7), .end]), receiver) == .waiting)
    #expect(receiver.taken.isEmpty && flow.count == 0 && flow.isFinished)
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `all bytes arrive in their order, however little is taken`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var sent = 0
    let reads = (0..<300).map { _ -> TunnelTransfer in
      guard random.below(4) > 0 else { return .wouldBlock }
      let count = 1 + random.below(200)
      sent += count
      return .bytes(count)
    }
    let writes = (0..<900).map { _ -> TunnelTransfer in
      random.below(3) == 0 ? .wouldBlock : .bytes(1 + random.below(120))
    }
    let (sender, receiver) = (ScriptedEnd(reads: reads + [.end]), ScriptedEnd(writes: writes))
    var flow = TunnelFlow()
    for _ in 0..<10_000 where !flow.isFinished {
      #expect(move(&flow, sender, receiver) == .waiting)
    }
    #expect(flow.isFinished && flow.count == UInt64(sent))
    #expect(receiver.taken == (0..<sent).map { UInt8(truncatingIfNeeded: $0) })
  }
}
