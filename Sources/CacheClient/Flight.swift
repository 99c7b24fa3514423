import CacheSystem

/// One request to the origin, for any number of callers that wait for it.
///
/// It runs in a task of its own: a caller that leaves does not end it for the others. It is
/// cancelled when all callers have left before the head has arrived.
final class Flight: Sendable {
  /// The caller for whom an answer arrived.
  enum Asker: Sendable, Hashable {
    /// The caller whose request was sent.
    case first
    /// A caller that waited for the request of another one.
    ///
    /// - takesStale: whether it waited before the answer arrived and names the same user, so that
    ///   an answer of its own would be neither newer nor different.
    case waiter(takesStale: Bool)
  }

  struct State {
    var askers = 1
    var hasHead = false
    /// Whether all callers have left before the head arrived.
    var isAbandoned = false
    var task: Task<Void, Never>?
    /// Keeps the body alive until all who waited for the head have their readers.
    var hold: SharedReader?
  }

  let asked: HTTPRequest
  /// The known fields that select the answer.
  let selection: Selection
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

  /// Keeps the task, which is cancelled when no caller waits any more.
  func carry(_ task: Task<Void, Never>) {
    state.withLock { $0.task = task }
  }

  /// Adds a caller; `nil` if the request is being cancelled.
  func join(_ request: HTTPRequest) -> Asker? {
    let isSameUser = request.hasSameUser(as: asked)
    return state.withLock { state in
      guard !state.isAbandoned else { return nil }
      state.askers += 1
      return .waiter(takesStale: !state.hasHead && isSameUser)
    }
  }

  func takeHead() {
    state.withLock { $0.hasHead = true }
  }

  /// Ends the wait of a caller, with an answer or without.
  func leave() {
    let (task, hold) = state.withLock { state -> (Task<Void, Never>?, SharedReader?) in
      state.askers -= 1
      guard state.askers == 0 else { return (nil, nil) }
      defer { state.hold = nil }
      // Atomic with the check above, because a caller that joins later would get no answer.
      state.isAbandoned = outcome.valueNow == nil
      return (state.isAbandoned ? state.task : nil, state.hold)
    }
    if let task { callOut { task.cancel() } }
    if let hold { callOut { hold.cancel() } }
  }

  func settle(_ outcome: Outcome) {
    if let body = outcome.running {
      let hold = body.makeReader()
      state.withLock { $0.hold = hold }
    }
    self.outcome.settle(outcome)
    // If all callers have left meanwhile, none has made a reader of its own.
    let hold = state.withLock { state -> SharedReader? in
      guard state.askers == 0 else { return nil }
      defer { state.hold = nil }
      return state.hold
    }
    if let hold { callOut { hold.cancel() } }
  }
}

/// The running requests, by key and by the known fields that select the answer.
final class Flights: Sendable {
  let flights = Lock<[ByteString: [Selection: Flight]]>([:], .registry)

  /// Joins the running request for the same response, or adds one, which the caller must carry out.
  ///
  /// - Returns: `nil` if the running request is sent with other timeouts than the caller's.
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

  /// Removes a request, so that no caller can join it.
  func end(_ key: ByteString, _ flight: Flight) {
    flights.withLock { flights in
      guard flights[key]?[flight.selection] === flight else { return }
      flights[key]?[flight.selection] = nil
      if flights[key]?.isEmpty == true { flights[key] = nil }
    }
  }

  /// Removes the running requests of a key, so that later callers get a newer answer.
  func end(_ key: ByteString) {
    // The closure returns the flight, so that its last reference ends after the lock is released.
    _ = flights.withLock { flights in flights.removeValue(forKey: key) }
  }

  /// Removes all running requests, or those of some keys.
  func endAll(where isMeant: (ByteString) -> Bool = { _ in true }) {
    _ = flights.withLock { flights in
      let ended = flights.filter { isMeant($0.key) }
      for key in ended.keys { flights[key] = nil }
      return ended
    }
  }
}
