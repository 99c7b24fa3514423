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
  struct State {
    var askers = 1
    /// Nobody was left before the head had come.
    var isAbandoned = false
    var task: Task<Void, Never>?
    /// Keeps the body going until all who waited for the head have their readers.
    var hold: SharedReader?
  }

  /// Says how the request is sent.
  let sending: TransportOptions
  let outcome = Promise<Outcome>()
  let state = Mutex(State())

  init(_ sending: TransportOptions) { self.sending = sending }

  /// Keeps the task, to cancel it when nobody waits any more.
  func carry(_ task: Task<Void, Never>) {
    state.withLock { $0.task = task }
  }

  /// Adds one who waits; false if it is being cancelled, and no answer comes any more.
  func join() -> Bool {
    state.withLock { state in
      if !state.isAbandoned { state.askers += 1 }
      return !state.isAbandoned
    }
  }

  /// Ends the wait of one who has begun or joined: with an answer or without.
  func leave() {
    let (task, hold) = state.withLock { state -> (Task<Void, Never>?, SharedReader?) in
      state.askers -= 1
      guard state.askers == 0 else { return (nil, nil) }
      defer { state.hold = nil }
      // In one step with the look: whoever joins from now on would lose its answer to the cancelling.
      state.isAbandoned = outcome.valueNow == nil
      return (state.isAbandoned ? state.task : nil, state.hold)
    }
    task?.cancel()
    hold?.cancel()
  }

  /// Tells all who wait.
  func settle(_ outcome: Outcome) {
    if case .shared(_, let body) = outcome {
      let hold = body.makeReader()
      state.withLock { $0.hold = hold }
    }
    self.outcome.settle(outcome)
    // Who left meanwhile has not seen the reader that is held.
    let hold = state.withLock { state -> SharedReader? in
      guard state.askers == 0 else { return nil }
      defer { state.hold = nil }
      return state.hold
    }
    hold?.cancel()
  }
}

/// Knows the requests that are under way, by key.
final class Flights: Sendable {
  let flights = Mutex<[ByteString: Flight]>([:])

  /// Joins what is under way for a key, or begins; the one who begins must carry it out.
  ///
  /// - Returns: nil where what is under way is sent with other timeouts than the caller's.
  func join(
    _ key: ByteString, _ sending: TransportOptions
  ) -> (flight: Flight, isFirst: Bool)? {
    flights.withLock { flights in
      if let flight = flights[key] {
        guard flight.sending == sending else { return nil }
        if flight.join() { return (flight, false) }
      }
      let flight = Flight(sending)
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

  /// Forgets what is under way for a key: who asks now gets a newer answer.
  func end(_ key: ByteString) {
    flights.withLock { flights in flights[key] = nil }
  }

  /// Forgets all that is under way.
  func endAll() {
    flights.withLock { $0 = [:] }
  }
}
