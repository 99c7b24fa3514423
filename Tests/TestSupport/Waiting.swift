/// Lets other tasks run until something is so, or the time limit of the test cancels it.
package func eventually(_ condition: () throws -> Bool) async rethrows {
  while try !condition(), !Task.isCancelled { await Task.yield() }
}
