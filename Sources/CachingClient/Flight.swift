import CacheFormat
import HTTPCaching
import HTTPSemantics
import HTTPTransport
import Synchronization

/// Holds one request to the origin that any number of askers wait for.
///
/// It runs in a task of its own: an asker that leaves does not take it from the others. When nobody
/// is left before the head has come, it is cancelled.
final class Flight: Sendable {
  private struct State {
    var askers = 0
    var task: Task<Void, Never>?
  }

  let outcome = Promise<Outcome>()
  private let state = Mutex(State())

  /// Keeps the task, to cancel it when nobody waits any more.
  func carry(_ task: Task<Void, Never>) {
    state.withLock { $0.task = task }
  }

  func join() {
    state.withLock { $0.askers += 1 }
  }

  /// Waits for the outcome; nil when the asker's task is cancelled.
  func wait() async -> Outcome? {
    let outcome = await outcome.value()
    let task = state.withLock { state -> Task<Void, Never>? in
      state.askers -= 1
      return state.askers == 0 && outcome == nil ? state.task : nil
    }
    task?.cancel()
    return outcome
  }
}

/// Knows the requests that are under way, by key.
final class Flights: Sendable {
  private let flights = Mutex<[ByteString: Flight]>([:])

  /// Joins what is under way for a key, or begins; the one who begins must carry it out.
  func join(_ key: ByteString) -> (flight: Flight, isFirst: Bool) {
    flights.withLock { flights in
      if let flight = flights[key] {
        flight.join()
        return (flight, false)
      }
      let flight = Flight()
      flight.join()
      flights[key] = flight
      return (flight, true)
    }
  }

  /// Forgets a request: nobody can join it any more.
  func end(_ key: ByteString, _ flight: Flight) {
    flights.withLock { flights in
      if flights[key] === flight { flights[key] = nil }
    }
  }

  /// Keeps what is under way for a key from being stored.
  func invalidate(_ key: ByteString) {
    let flight = flights.withLock { $0.removeValue(forKey: key) }
    if case .shared(_, let body) = flight?.outcome.valueNow { body.invalidate() }
  }
}
