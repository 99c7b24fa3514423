import CacheStore
import CacheSystem
import Testing

@testable import offlinecache

@Suite struct StoreAccessTests {
  @Test func `a shell reads what to do about a store that is gone, and about a long path`() {
    let gone = StoreError(.notFound, path: "/store")
    #expect(gone.forShell.remedy.hasSuffix("start the command again"))
    let long = StoreError(.nameTooLong, path: "/store")
    #expect(long.forShell.remedy == long.remedy)
    #expect(long.remedy == "choose a shorter path")
  }
}
