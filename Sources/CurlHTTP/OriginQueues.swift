import HTTPSemantics
import HTTPTransports

/// The transfers that wait for a connection to their origin, in the order in which they will get one:
/// higher priority first, equal ones in the order of their start. Used on the loop's thread only.
///
/// Over HTTP/1 each running transfer takes a connection, and there is a limit of connections. libcurl has
/// a queue for that, too, but it knows no priorities. An origin that speaks HTTP/2 runs many transfers on
/// one connection, so its transfers do not wait here.
final class OriginQueues {
  private struct Queue {
    var running = 0
    var sharesConnections = false
    /// The next transfer is the last element.
    var waiting: [Transfer] = []
  }

  /// The limit of connections to one origin; 0 for none.
  private let limit: Int
  private var queues: [NormalizedURL.Origin: Queue] = [:]
  /// The origins for which a waiting transfer may be allowed to run now.
  private var changed: Set<NormalizedURL.Origin> = []
  private(set) var waitingCount = 0

  init(limit: Int) { self.limit = max(0, limit) }

  /// Counts a transfer as running if it gets a connection now; otherwise it waits.
  ///
  /// - Returns: Whether it is to run.
  func admit(_ transfer: Transfer) -> Bool {
    let origin = transfer.origin
    guard limit > 0, let queue = queues[origin], !queue.sharesConnections,
      queue.running >= limit || !queue.waiting.isEmpty
    else {
      enter(transfer)
      return true
    }
    // The first one, as a rule: most have the same priority.
    let waiting = queue.waiting
    let place = waiting.firstIndex { $0.priority >= transfer.priority } ?? waiting.endIndex
    queues[origin]?.waiting.insert(transfer, at: place)
    waitingCount += 1
    return false
  }

  /// Counts a transfer as running, whatever the limit is.
  func enter(_ transfer: Transfer) {
    if limit > 0 { queues[transfer.origin, default: Queue()].running += 1 }
  }

  /// Counts a running transfer as ended.
  func leave(_ transfer: Transfer) {
    let origin = transfer.origin
    guard limit > 0, var queue = queues.removeValue(forKey: origin) else { return }
    queue.running -= 1
    if queue.running > 0 || !queue.waiting.isEmpty { queues[origin] = queue }
    if !queue.waiting.isEmpty { changed.insert(origin) }
  }

  /// Records that the origin of a running transfer uses HTTP/2. This is valid as long as transfers
  /// to it run.
  func noteSharedConnection(_ transfer: Transfer) {
    let origin = transfer.origin
    queues[origin]?.sharesConnections = true
    if queues[origin]?.waiting.isEmpty == false { changed.insert(origin) }
  }

  /// Takes a transfer that was cancelled out of its queue.
  func withdraw(_ transfer: Transfer) {
    let origin = transfer.origin
    guard let place = queues[origin]?.waiting.firstIndex(where: { $0 === transfer }) else { return }
    queues[origin]?.waiting.remove(at: place)
    waitingCount -= 1
  }

  /// Removes and returns a waiting transfer that gets a connection now; it counts as running.
  func takeNext() -> Transfer? {
    while let origin = changed.first {
      if let queue = queues[origin], queue.sharesConnections || queue.running < limit,
        let next = queues[origin]?.waiting.popLast()
      {
        queues[origin]?.running += 1
        waitingCount -= 1
        return next
      }
      changed.remove(origin)
      if queues[origin]?.running == 0 { queues[origin] = nil }
    }
    return nil
  }

  /// Removes and returns the waiting transfers whose whole timeout has expired.
  ///
  /// - Returns: The transfers, and the time at which the next timeout expires.
  func takeExpired(
    at now: ContinuousClock.Instant
  ) -> (expired: [Transfer], next: ContinuousClock.Instant?) {
    var expired: [Transfer] = []
    var next: ContinuousClock.Instant?
    for origin in waitingCount > 0 ? Array(queues.keys) : [] {
      queues[origin]?.waiting.removeAll { transfer in
        guard let deadline = transfer.deadline else { return false }
        if deadline <= now {
          expired.append(transfer)
        } else {
          next = min(next ?? deadline, deadline)
        }
        return deadline <= now
      }
    }
    waitingCount -= expired.count
    return (expired, next)
  }

  func removeAll() -> [Transfer] {
    defer { (queues, waitingCount) = ([:], 0) }
    return queues.values.flatMap(\.waiting)
  }
}

extension Transfer {
  var origin: NormalizedURL.Origin { NormalizedURL.Origin(request.url) }
  fileprivate var priority: Int { options.priority }
}
