import CacheSystem
import Testing

@Suite struct SystemErrorTests {
  @Test func `errors are told apart by what is to be done about them`() {
    #expect(SystemError.noSpace.isNoSpace && SystemError.quota.isNoSpace)
    #expect(!SystemError.inputOutput.isNoSpace)
    #expect(SystemError.loop.isWrongKind && SystemError.notDirectory.isWrongKind)
    #expect(SystemError.isDirectory.isWrongKind && !SystemError.notFound.isWrongKind)
    #expect(SystemError.permission.isPermission && !SystemError.loop.isPermission)
    #expect(SystemError.tooManyLinks.isNoLink && SystemError.otherVolume.isNoLink)
    #expect(!SystemError.exists.isNoLink && !SystemError.noSpace.isNoLink)
    #expect(SystemError.readOnlyFileSystem.isReadOnly)
    #expect(SystemError.outOfDescriptors.isOutOfDescriptors)
  }

  @Test func `a description is what the system says`() {
    #expect(SystemError.notFound.description == "No such file or directory")
  }
}
