import CommandLineTools

/// A command of `offlinecache`, with its subcommands.
protocol ToolCommand: SendableMetatype {
  static var declaration: Command { get }
  static func run(_ invocation: Invocation) async throws -> ExitStatus
}

@main
enum OfflinecacheTool {
  static func main() async {
    await Tool.main(Declarations.tool) { invocation in
      guard
        let command = Declarations.commands.first(where: {
          $0.declaration.name == invocation.path[1]
        })
      else { preconditionFailure("only what is declared is parsed") }
      do { return try await command.run(invocation) } catch { throw OptionAdvice.advised(error) }
    }
  }
}
