internal import CacheFormat
internal import CacheStore
internal import CacheSystem

private struct Work {
  var next = 0
  var running = 0
  var failure: CheckError?
}

extension CheckRun {
  func checkShards(_ store: CheckedStore) throws(CheckError) {
    let (numbers, starts) = store.catalog?.slotsByShard() ?? ([], Array(repeating: 0, count: 257))
    let statistics = store.engine?.statistics
    let bodyBytes = (statistics?.logicalBytes ?? 0) - (statistics?.sharedBytes ?? 0)
    reporter.begin(
      entries: numbers.count, bytes: options.depth == .deep ? bodyBytes : 0
    ) { report in
      report.storeID = store.catalog?.id.description
      report.bodyBytes = bodyBytes
    }
    let jobs = max(1, min(options.jobs, Layout.shardCount))
    let work = Monitor(Work(running: jobs))
    let perform: @Sendable () -> Void = { [self] in
      let check = ShardCheck(self, store)
      while let number = take(work) {
        do throws(CheckError) {
          let slots = numbers[starts[number]..<starts[number + 1]]
          try check.check(number, store.catalog?.keyHashes(of: slots, shard: number) ?? [])
        } catch {
          work.change { $0.failure = $0.failure ?? error }
        }
      }
      work.change { $0.running -= 1 }
    }
    for _ in 1..<jobs {
      // If the system has no more threads, the others do the work.
      if (try? startThread(perform)) == nil { work.change { $0.running -= 1 } }
    }
    perform()
    let failure = work.wait { $0.running == 0 ? .some($0.failure) : nil }
    if let failure {
      // A caller that continues later needs the shards that were done.
      reporter.tellProgress()
      throw failure
    }
  }

  private func take(_ work: Monitor<Work>) -> Int? {
    work.change { work in
      while work.failure == nil, work.next < Layout.shardCount {
        work.next += 1
        if !options.skippedShards.contains(UInt8(work.next - 1)) { return work.next - 1 }
      }
      return nil
    }
  }
}
