import HTTPSemantics
import Synchronization

@testable import CachingProxy

/// Answers every request alike, and keeps what it was asked.
final class Asked: Sendable {
  private let requests = Mutex<[HTTPRequest]>([])
  let answer: ProxyAnswer

  init(_ answer: ProxyAnswer = .text("ok")) { self.answer = answer }

  var all: [HTTPRequest] { requests.withLock { $0 } }

  var backend: ScriptedBackend {
    ScriptedBackend(answering: { request, _, _ in
      self.requests.withLock { $0.append(request) }
      return self.answer
    })
  }
}
