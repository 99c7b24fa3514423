import CacheSystem
import ClientTesting
import Synchronization

@testable import CacheClient

// Requests that wait for one another.
extension CachingClient {
  /// Counts those who wait for the head of the usual request.
  var askers: Int {
    let key = cache.key(of: request())
    return flights.flights.withLock { flights in
      (flights[key] ?? [:]).values.reduce(0) { $0 + $1.state.withLock { $0.askers } }
    }
  }
}

extension ClientSandbox {
  /// Lets several tasks ask, and opens the gate when all of them wait for the head.
  func ask(
    _ requests: [HTTPRequest], _ gate: Gate
  ) async -> [(bytes: [UInt8], error: ClientError?)] {
    let tasks = requests.map { asked in Task { await outcome(asked) } }
    await eventually { client.askers == requests.count }
    gate.open()
    var outcomes: [(bytes: [UInt8], error: ClientError?)] = []
    for task in tasks { outcomes.append(await task.value) }
    return outcomes
  }
}

/// Holds an answer back until a gate opens.
func held(_ answer: ScriptedTransport.Answer, _ gate: Gate) -> ScriptedTransport.Answer {
  var answer = answer
  answer.headGate = gate
  return answer
}
