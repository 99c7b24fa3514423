/// A request as it came over the wire.
package struct OriginRequest: Sendable {
  /// The head as it came, the empty line included.
  package let head: [UInt8]
  /// The lines of the head, without the empty one.
  package let lines: [String]
  /// The content; empty for a script that reads it itself.
  package internal(set) var body: [UInt8] = []

  init(head: [UInt8]) {
    self.head = head
    lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n").map(String.init)
  }

  package var method: String { String(lines.first?.prefix { $0 != " " } ?? "") }

  package var target: String {
    lines.first?.split(separator: " ").dropFirst().first.map(String.init) ?? ""
  }

  package func value(of name: String) -> String? {
    lines.first { $0.lowercased().hasPrefix("\(name.lowercased()):") }
      .map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
  }
}

/// An answer, which is sent with its length.
package struct OriginAnswer: Sendable {
  package var status: Int
  package var fields: [String]
  package var body: [UInt8]
  /// The length that the head claims, where it is not that of the body. The connection ends after a
  /// body that is shorter.
  package var claimedLength: Int?
  /// Whether a connection that would end stays open until the client closes it.
  package var hangs: Bool
  /// Whether nothing is sent at all.
  package var isSilent = false
  /// How long nothing is sent, in microseconds: the latency of a server that is measured
  /// (`sessionprobe`). A test of a slow server uses ``silence``, or waits in its script.
  package var delay: UInt32 = 0

  package init(
    _ body: [UInt8] = [], status: Int = 200, fields: [String] = [], claimedLength: Int? = nil,
    hangs: Bool = false
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.claimedLength = claimedLength
    self.hangs = hangs
  }

  package init(
    _ body: String, status: Int = 200, fields: [String] = [], claimedLength: Int? = nil
  ) {
    self.init(Array(body.utf8), status: status, fields: fields, claimedLength: claimedLength)
  }

  /// Returns the answer cut after so many bytes of the body; the head claims all of it.
  package func cut(after count: Int?) -> OriginAnswer {
    guard let count else { return self }
    var answer = self
    answer.claimedLength = body.count
    answer.body = Array(body.prefix(count))
    return answer
  }

  /// Nothing, until the client closes the connection.
  package static var silence: OriginAnswer {
    var answer = OriginAnswer(hangs: true)
    answer.isSilent = true
    return answer
  }

  package static func redirect(_ location: String, status: Int = 302) -> OriginAnswer {
    OriginAnswer("moved", status: status, fields: ["Location: \(location)"])
  }
}
