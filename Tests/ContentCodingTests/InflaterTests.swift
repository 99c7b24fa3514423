import Testing

@testable import ContentCoding

struct InflaterTests {
  @Test func `a step makes no more than asked for, and goes on where it ended`() throws {
    let text = [UInt8](repeating: 5, count: 10_000)
    let coded = deflated(text, .zlib)
    let inflater = try #require(Inflater(.zlib))
    var (position, made) = (0, [UInt8]())
    var state = Inflater.State.goesOn
    while state == .goesOn {
      let step = inflater.step(coded, from: position, atMost: 64)
      #expect(step.output.count <= 64)
      position += step.consumed
      made += step.output
      state = step.state
    }
    #expect(state == .atEnd && made == text && position == coded.count)
  }

  @Test func `without input it asks for some, and after a restart it takes another member`() throws
  {
    let inflater = try #require(Inflater(.gzip))
    for _ in 0..<2 {
      #expect(inflater.step([], from: 0, atMost: 10).state == .needsInput)
      let coded = deflated([1, 2, 3], .gzip) + [9, 9]
      let step = inflater.step(coded, from: 0, atMost: 10)
      #expect(step.state == .atEnd && step.output == [1, 2, 3])
      #expect(step.consumed == coded.count - 2, "what follows is left")
      inflater.restart()
    }
    #expect(inflater.step([1, 2, 3], from: 0, atMost: 10).state == .damaged)
  }

  @Test func `a format does not take the frame of another one`() throws {
    let frames: [(Inflater.Format, Frame)] = [(.gzip, .gzip), (.zlib, .zlib)]
    for (format, _) in frames {
      for (_, frame) in frames {
        let inflater = try #require(Inflater(format))
        let state = inflater.step(deflated([1], frame), from: 0, atMost: 10).state
        #expect((state == .atEnd) == ((format == .gzip) == (frame == .gzip)))
      }
    }
  }
}
