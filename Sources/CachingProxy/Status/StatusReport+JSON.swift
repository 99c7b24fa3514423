internal import CacheFormat
internal import CacheStore
internal import RemoteTier

// The names are stable: Docs/Serve.md lists them, and they change only with `version`.
extension StatusReport {
  /// The report as one JSON object.
  var json: String {
    StatusJSON.object { json in
      json.member("version", 1)
      json.member("time", now.description)
      json.member("start_time", started.description)
      json.member("uptime_seconds", uptimeSeconds)
      json.member("proxy") { appendProxy(to: &$0) }
      json.member("store") { appendStore(to: &$0) }
      json.member("answers") { appendTotals(to: &$0) }
      json.member("tunnels") { appendTunnels(to: &$0) }
      json.member("seconds", each: traffic.seconds.filter { $0.counts.all > 0 }) { span, json in
        json.append(span)
      }
      json.member("minutes", each: traffic.minutes.filter { $0.counts.all > 0 }) { span, json in
        json.append(span)
      }
      json.member("remote", remote.map { remote in { remote.append(to: &$0) } })
      json.member("contents", survey.map { survey in { survey.append(to: &$0) } })
      json.member("recent", each: traffic.recent) { answer, json in answer.append(to: &json) }
    }
  }

  private func appendProxy(to json: inout StatusJSON) {
    json.member("role", facts.isShared ? "shared" : "private")
    json.member("mode", facts.origin == nil ? "forward" : "reverse")
    json.member("origin", facts.origin)
    json.member("address", facts.address)
    json.member("offline", facts.isOffline)
  }

  private func appendStore(to json: inout StatusJSON) {
    json.member("path", storePath)
    json.member("entries", statistics.entries)
    json.member("logical_bytes", statistics.logicalBytes)
    json.member("allocated_bytes", statistics.allocatedBytes)
    json.member("shared_bytes", statistics.sharedBytes)
    json.member("unsettled_entries", statistics.unsettledEntries)
    json.member("pinned_entries", statistics.pinnedEntries)
    json.member("evictions", statistics.evictions)
    json.member("damaged_misses", statistics.damagedMisses)
    json.member("limit_bytes", limits.bytes)
    json.member("limit_entries", limits.entries)
    json.member("limit_entry_bytes", limits.entryBytes)
    json.member("limit_free_bytes", limits.freeBytes)
  }

  private func appendTunnels(to json: inout StatusJSON) {
    json.member("open", traffic.tunnels.open)
    json.member("all", traffic.tunnels.began)
    json.member("sent_bytes", traffic.tunnels.sentBytes)
    json.member("received_bytes", traffic.tunnels.receivedBytes)
    json.member("left_alone", each: leftAlone) { host, item in item.member("host", host) }
  }

  private func appendTotals(to json: inout StatusJSON) {
    json.append(traffic.total)
    json.member("saved_bytes", traffic.total.savedBytes)
    json.member("cut_short", traffic.total.cutShort)
    json.member("hit_rate", traffic.total.hitRate)
    json.member("hit_rate_of_5_minutes", traffic.last(seconds: Traffic.keptSeconds).hitRate)
    json.member("per_second", answersPerSecond)
  }
}

extension StatusJSON {
  fileprivate mutating func append(_ span: TrafficSpan) {
    member("time", span.start)
    append(span.counts)
  }

  fileprivate mutating func append(_ counts: TrafficCounts) {
    member("all", counts.all)
    member("hit", counts[.hit])
    member("stale", counts[.stale])
    member("revalidated", counts[.revalidated])
    member("miss", counts[.miss])
    member("bypass", counts[.bypass])
    member("error", counts[.error])
    member("sent_bytes", counts.sentBytes)
    member("fetched_bytes", counts.fetchedBytes)
  }
}

extension RemoteStatistics {
  fileprivate func append(to json: inout StatusJSON) {
    json.member("hits", hits)
    json.member("read_bytes", bytesRead)
    json.member("offers_stored", offersStored)
    json.member("offers_dropped", offersDropped)
    json.member("offers_waiting", offersWaiting)
    json.member("written_bytes", bytesWritten)
    json.member("newest_purge", newestPurge)
    for (name, counts) in [("misses", misses), ("offers_failed", offersFailed)]
      as [(StaticString, [RemoteReason: UInt64])]
    {
      let sorted = counts.sorted { $0.key.rawValue < $1.key.rawValue }
      json.member(name, each: sorted) { count, json in
        json.member("reason", count.key.rawValue)
        json.member("count", count.value)
      }
    }
    json.member("servers", each: servers) { server, json in
      json.member("url", server.url)
      json.member("reading", server.reading)
      json.member("writing", server.writing)
    }
  }
}

extension StoreSurvey {
  fileprivate func append(to json: inout StatusJSON) {
    json.member("time", time.description)
    json.member("seconds", Double(nanoseconds) / 1e9)
    json.member("entries", entries)
    for (name, list) in [("hosts", hosts), ("folders", folders), ("types", types)]
      as [(StaticString, [WeightedNames.Weight])]
    {
      json.member(name, each: list) { weight, json in
        json.member("name", weight.name)
        json.member("entries", weight.entries)
        json.member("bytes", weight.bytes)
      }
    }
    for (name, list) in [("largest", largest), ("oldest", oldest)]
      as [(StaticString, [SurveyedEntry])]
    {
      json.member(name, each: list) { entry, json in
        json.member("url", entry.url)
        json.member("bytes", entry.bytes)
        json.member("stored", entry.stored.description)
        json.member("accessed", entry.accessed.description)
      }
    }
  }
}

extension RecentAnswer {
  fileprivate func append(to json: inout StatusJSON) {
    json.member("time", record.time.description)
    json.member("client", record.clientAddress)
    json.member("method", record.method)
    json.member("url", record.url)
    json.member("status", record.status)
    json.member("outcome", "\(outcome)")
    json.member("source", record.source.rawValue)
    json.member("reason", record.reason)
    json.member("cache_status", record.cacheStatus)
    json.member("bytes", record.bytesSent)
    json.member("microseconds", record.microseconds)
    json.member("complete", record.isComplete)
  }
}
