import CacheFormat
import CacheSystem
import HTTPCaching
import HTTPSemantics
import HTTPTransports

/// Holds one request to the origin that any number of askers wait for.
///
/// It runs in a task of its own: an asker that leaves does not take it from the others. When nobody
/// is left before the head has come, it is cancelled.
final class Flight: Sendable {
  /// Says for whom an answer came.
  enum Asker: Sendable, Hashable {
    /// It was asked for this one.
    case first
    /// For another one, for whom this one has waited.
    ///
    /// - takesStale: whether it came before the answer and names the same user, so that its own
    ///   answer would be no newer and no other one.
    case waiter(takesStale: Bool)
  }

  struct State {
    var askers = 1
    /// The origin has answered.
    var hasHead = false
    /// Nobody was left before the head had come.
    var isAbandoned = false
    var task: Task<Void, Never>?
    /// Keeps the body going until all who waited for the head have their readers.
    var hold: SharedReader?
  }

  /// The request of the first one.
  let asked: HTTPRequest
  /// What is known to select the answer.
  let selection: Selection
  /// Says how the request is sent.
  let sending: TransportOptions
  let outcome = Promise<Outcome>()
  let state = Lock(State(), .member)

  init(_ forwarding: Forwarding, _ sending: TransportOptions) {
    asked = forwarding.original
    selection = forwarding.selection
    self.sending = sending
  }

  /// Returns whether the request is sent with these options, whatever their priority is.
  func isSent(as options: TransportOptions) -> Bool {
    var options = options
    options.priority = sending.priority
    return options == sending
  }

  /// Keeps the task, to cancel it when nobody waits any more.
  func carry(_ task: Task<Void, Never>) {
    state.withLock { $0.task = task }
  }

  /// Adds one who waits; nil if it is being cancelled, and no answer comes any more.
  func join(_ request: HTTPRequest) -> Asker? {
    let isSameUser = request.hasSameUser(as: asked)
    return state.withLock { state in
      guard !state.isAbandoned else { return nil }
      state.askers += 1
      return .waiter(takesStale: !state.hasHead && isSameUser)
    }
  }

  /// Notes that the origin has answered.
  func takeHead() {
    state.withLock { $0.hasHead = true }
  }

  /// Ends the wait of one who has begun or joined: with an answer or without.
  func leave() {
    let (task, hold) = state.withLock { state -> (Task<Void, Never>?, SharedReader?) in
      state.askers -= 1
      guard state.askers == 0 else { return (nil, nil) }
      defer { state.hold = nil }
      // In one step with the look: whoever joins from now on would lose its answer to the
      // cancelling.
      state.isAbandoned = outcome.valueNow == nil
      return (state.isAbandoned ? state.task : nil, state.hold)
    }
    if let task { callOut { task.cancel() } }
    if let hold { callOut { hold.cancel() } }
  }

  /// Tells all who wait.
  func settle(_ outcome: Outcome) {
    if let body = outcome.running {
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
    if let hold { callOut { hold.cancel() } }
  }
}

/// Knows the requests that are under way, by key and by what is known to select the answer.
final class Flights: Sendable {
  let flights = Lock<[ByteString: [Selection: Flight]]>([:], .registry)

  /// Joins what is under way for the same, or begins; the one who begins must carry it out.
  ///
  /// - Returns: nil where what is under way is sent with other timeouts than the caller's.
  func join(
    _ forwarding: Forwarding, _ sending: TransportOptions
  ) -> (flight: Flight, asker: Flight.Asker)? {
    flights.withLock { flights in
      if let flight = flights[forwarding.key]?[forwarding.selection] {
        guard flight.isSent(as: sending) else { return nil }
        if let asker = flight.join(forwarding.original) { return (flight, asker) }
      }
      let flight = Flight(forwarding, sending)
      flights[forwarding.key, default: [:]][forwarding.selection] = flight
      return (flight, .first)
    }
  }

  /// Forgets a request: nobody can join it any more.
  func end(_ key: ByteString, _ flight: Flight) {
    flights.withLock { flights in
      guard flights[key]?[flight.selection] === flight else { return }
      flights[key]?[flight.selection] = nil
      if flights[key]?.isEmpty == true { flights[key] = nil }
    }
  }

  /// Forgets what is under way for a key: who asks now gets a newer answer.
  func end(_ key: ByteString) {
    // The closure returns the flight, so that its last reference ends after the lock is released.
    _ = flights.withLock { flights in flights.removeValue(forKey: key) }
  }

  /// Forgets all that is under way.
  func endAll() {
    _ = flights.withLock { flights in
      defer { flights = [:] }
      return flights
    }
  }
}
