/// Returns the word that was most likely meant, or `nil` if none is similar.
///
/// Similar means an edit distance (insert, delete, replace, swap neighbours) of at most a third of
/// the longer word. A word that begins with the typed text is similar as well. Case does not matter.
///
/// - Complexity: O(words x length²).
func nearest(to typed: String, among words: [String]) -> String? {
  guard !typed.isEmpty, typed.utf8.count <= 64 else { return nil }
  let typed = typed.lowercased()
  if typed.count >= 2, let longer = words.first(where: { $0.hasPrefix(typed) }) { return longer }
  var best: (word: String, distance: Int)?
  for word in words {
    let distance = editDistance(Array(typed.utf8), Array(word.utf8))
    let limit = max(1, max(typed.utf8.count, word.utf8.count) / 3)
    if distance <= limit, distance < best?.distance ?? Int.max { best = (word, distance) }
  }
  // A one-letter word is one edit away from every other one-letter word; that is not similar.
  if let best, typed.utf8.count > best.distance { return best.word }
  return nil
}

/// Returns the optimal string alignment distance of two words.
func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
  var beforeLast: [Int] = []
  var last = Array(0...right.count)
  for row in left.indices {
    var current = [row + 1]
    current.reserveCapacity(right.count + 1)
    for column in right.indices {
      let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
      var cost = min(replaced, last[column + 1] + 1, current[column] + 1)
      if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
        cost = min(cost, beforeLast[column - 1] + 1)
      }
      current.append(cost)
    }
    beforeLast = last
    last = current
  }
  return last[right.count]
}
