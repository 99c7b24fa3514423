import CacheStore

/// What all workloads of a run share: the configuration, the folder and the report.
final class Bench {
  let configuration: Configuration
  let workspace: Workspace
  let report: Report

  init(_ configuration: Configuration, workspace: Workspace) {
    self.configuration = configuration
    self.workspace = workspace
    report = Report(isJSON: configuration.isJSON)
  }

  var corpus: Corpus {
    Corpus(seed: configuration.seed, bodyBytes: configuration.bodyBytes)
  }

  /// Opens the chosen systems among those named, each in a new folder.
  func makeLanes(
    _ names: [SystemName], _ corpus: Corpus, _ options: Options = Options()
  ) throws -> [Lane] {
    var options = options
    options.settling = configuration.settling
    options.lag = configuration.lag
    var lanes: [Lane] = []
    for name in names where configuration.systems.contains(name) {
      let directory = try workspace.makeDirectory(name.rawValue)
      let system = try openSystem(name, directory, corpus, options)
      lanes.append(Lane(system, directory: directory))
    }
    return lanes
  }

  /// Closes systems; their folders are removed with the workspace, at the end of the run.
  func close(_ lanes: [Lane]) {
    for lane in lanes { lane.system.close() }
  }

  func rows(_ work: String, _ lanes: [Lane], entries: Int, body: Int) -> [Row] {
    lanes.compactMap { lane in
      lane.series.summary().map { summary in
        Row(
          work: work, system: lane.name, entries: min(entries, lane.name.entryLimit ?? entries),
          body: body, summary: summary)
      }
    }
  }

  /// Says which systems did less than was asked, so that nobody takes them for measured in full.
  func notes(_ lanes: [Lane], asked: Int) -> [String] {
    lanes.compactMap { lane in
      if let limit = lane.name.entryLimit, limit < asked {
        return
          "\(lane.name.rawValue) holds \(grouped(limit)) entries only: with more it stands still"
      }
      guard lane.progress < asked else { return nil }
      let seconds = Int(lane.name.secondsAllowed ?? 0)
      return "\(lane.name.rawValue) ran \(grouped(lane.progress)) of \(grouped(asked)): "
        + "its \(seconds) s were over"
    }
  }
}

func openSystem(
  _ name: SystemName, _ directory: String, _ corpus: Corpus, _ options: Options
) throws -> any CacheUnderTest {
  switch name {
  case .store: try StoreSystem(path: directory, corpus: corpus, options: options)
  case .floor: try FloorSystem(path: directory, corpus: corpus)
  case .log: try LogSystem(path: directory, corpus: corpus)
  case .dictionary: DictionarySystem(corpus: corpus)
  case .sqlite: try SQLiteSystem(path: directory, isTuned: false, corpus: corpus)
  case .sqliteTuned: try SQLiteSystem(path: directory, isTuned: true, corpus: corpus)
  case .urlcache: URLCacheSystem(path: directory, corpus: corpus)
  }
}
