internal import CacheFormat
internal import CacheStore
internal import HTTPSemantics
internal import RemoteTier

// The names are stable: Docs/Serve.md lists them, and they change only with `version`.
extension StatusReport {
  var json: String {
    JSONText.object([
      ("version", 1), ("time", .string(now.description)),
      ("start_time", .string(started.description)), ("uptime_seconds", .count(uptimeSeconds)),
      ("proxy", proxyJSON), ("store", storeJSON), ("answers", answersJSON),
      ("tunnels", tunnelsJSON), ("seconds", Self.json(traffic.seconds)),
      ("minutes", Self.json(traffic.minutes)), ("remote", remote?.json ?? .null),
      ("contents", survey?.json ?? .null), ("recent", .array(traffic.recent.map(\.json))),
    ]).line
  }

  private var proxyJSON: JSONText {
    .object([
      ("role", facts.isShared ? "shared" : "private"),
      ("mode", facts.origin == nil ? "forward" : "reverse"), ("origin", .text(facts.origin)),
      ("address", .string(facts.address)), ("offline", .bool(facts.isOffline)),
    ])
  }

  private var storeJSON: JSONText {
    .object([
      ("path", .string(storePath)), ("entries", .count(statistics.entries)),
      ("logical_bytes", .count(statistics.logicalBytes)),
      ("allocated_bytes", .count(statistics.allocatedBytes)),
      ("shared_bytes", .count(statistics.sharedBytes)),
      ("unsettled_entries", .count(statistics.unsettledEntries)),
      ("pinned_entries", .count(statistics.pinnedEntries)),
      ("evictions", .count(statistics.evictions)),
      ("damaged_misses", .count(statistics.damagedMisses)),
      ("limit_bytes", .count(limits.bytes)), ("limit_entries", .count(limits.entries)),
      ("limit_entry_bytes", .count(limits.entryBytes)),
      ("limit_free_bytes", .count(limits.freeBytes)),
    ])
  }

  private var tunnelsJSON: JSONText {
    .object([
      ("open", .count(traffic.tunnels.open)), ("all", .count(traffic.tunnels.began)),
      ("sent_bytes", .count(traffic.tunnels.sentBytes)),
      ("received_bytes", .count(traffic.tunnels.receivedBytes)),
      ("left_alone", .array(leftAlone.map { .object([("host", .string($0))]) })),
    ])
  }

  private var answersJSON: JSONText {
    .object(
      traffic.total.members + [
        ("saved_bytes", .count(traffic.total.savedBytes)),
        ("cut_short", .count(traffic.total.cutShort)),
        ("not_stored", .count(traffic.total.notStored)),
        ("hit_rate", .number(traffic.total.hitRate ?? .nan)),
        (
          "hit_rate_of_5_minutes",
          .number(traffic.last(seconds: Traffic.keptSeconds).hitRate ?? .nan)
        ),
        ("per_second", .number(answersPerSecond)),
      ])
  }

  private static func json(_ spans: [TrafficSpan]) -> JSONText {
    .array(
      spans.filter { $0.counts.all > 0 }
        .map { .object([("time", .count($0.start))] + $0.counts.members) })
  }
}

extension TrafficCounts {
  fileprivate var members: [(String, JSONText)] {
    [
      ("all", .count(all)), ("hit", .count(self[.hit])), ("stale", .count(self[.stale])),
      ("revalidated", .count(self[.revalidated])), ("miss", .count(self[.miss])),
      ("bypass", .count(self[.bypass])), ("error", .count(self[.error])),
      ("sent_bytes", .count(sentBytes)), ("fetched_bytes", .count(fetchedBytes)),
    ]
  }
}

extension RemoteStatistics {
  fileprivate var json: JSONText {
    .object([
      ("hits", .count(hits)), ("read_bytes", .count(bytesRead)),
      ("offers_stored", .count(offersStored)), ("offers_dropped", .count(offersDropped)),
      ("offers_waiting", .count(offersWaiting)), ("written_bytes", .count(bytesWritten)),
      ("newest_purge", .count(newestPurge)), ("misses", Self.json(misses)),
      ("offers_failed", Self.json(offersFailed)),
      (
        "servers",
        .array(
          servers.map { server in
            .object([
              ("url", .string(server.url)), ("reading", .string(server.reading)),
              ("writing", .string(server.writing)),
            ])
          })
      ),
    ])
  }

  private static func json(_ counts: [RemoteReason: UInt64]) -> JSONText {
    .array(
      counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { reason, count in
        .object([("reason", .string(reason.rawValue)), ("count", .count(count))])
      })
  }
}

extension StoreSurvey {
  fileprivate var json: JSONText {
    .object([
      ("time", .string(time.description)), ("seconds", .number(Double(nanoseconds) / 1e9)),
      ("entries", .count(entries)), ("hosts", Self.json(hosts)), ("folders", Self.json(folders)),
      ("types", Self.json(types)), ("largest", Self.json(largest)), ("oldest", Self.json(oldest)),
    ])
  }

  private static func json(_ weights: [WeightedNames.Weight]) -> JSONText {
    .array(
      weights.map { weight in
        .object([
          ("name", .string(weight.name)), ("entries", .count(weight.entries)),
          ("bytes", .count(weight.bytes)),
        ])
      })
  }

  private static func json(_ entries: [SurveyedEntry]) -> JSONText {
    .array(
      entries.map { entry in
        .object([
          ("url", .string(entry.url)), ("bytes", .count(entry.bytes)),
          ("stored", .string(entry.stored.description)),
          ("accessed", .string(entry.accessed.description)),
        ])
      })
  }
}

extension RecentAnswer {
  fileprivate var json: JSONText {
    let status = record.cacheStatus?.description ?? ""
    return .object([
      ("time", .string(record.time.description)), ("client", .string(record.clientAddress)),
      ("method", .string(record.method)), ("url", .string(record.url)),
      ("status", .count(record.status)), ("outcome", .string("\(outcome)")),
      ("source", .string(record.source.rawValue)), ("reason", .string(record.reason)),
      ("cache_status", .string(status.shortened(toBytes: Traffic.keptTextBytes))),
      ("bytes", .count(record.bytesSent)),
      ("microseconds", .count(record.microseconds)), ("complete", .bool(record.isComplete)),
    ])
  }
}
