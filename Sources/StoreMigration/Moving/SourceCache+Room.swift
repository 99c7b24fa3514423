// The plan for a destination with a limit, in the folder with the copy of the database.
extension SourceCache {
  func makeRoomPlan() throws(SourceError) -> RoomPlan {
    do throws(DatabaseError) { return try RoomPlan(in: source.folder) } catch {
      throw SourceError(.copy, path, error.message)
    }
  }

  func add(_ candidate: RoomPlan.Candidate, to plan: RoomPlan) throws(SourceError) {
    do throws(DatabaseError) { try plan.add(candidate) } catch {
      throw SourceError(.copy, path, error.message)
    }
  }

  func decide(_ plan: RoomPlan, bytes: Int64, entries: Int64?) throws(SourceError) {
    do throws(DatabaseError) { try plan.decide(bytes: bytes, entries: entries) } catch {
      throw SourceError(.copy, path, error.message)
    }
  }
}
