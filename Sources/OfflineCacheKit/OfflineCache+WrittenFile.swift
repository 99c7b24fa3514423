import CacheSystem

// Writing responses to files, from the store or from the network.
extension OfflineCache {
  private enum Content: Sendable {
    /// The file that is there has it.
    case there(DownloadedFile)
    case unnamed(Unnamed)
  }

  /// A response whose content is in a file that does not have its name yet.
  private struct Unnamed: Sendable {
    let answer: ClientResponse
    let target: FileTarget
    let status: FileStatus
  }

  /// Answers a request and writes the content to the file, unless the file is as new as a stored
  /// response that is the answer.
  ///
  /// - Parameter failure: The error of a download, after which only a stored response may be used.
  func written(
    _ wanted: DownloadRequest, _ asked: AskedRequest, _ place: FilePlace,
    after failure: ClientError? = nil
  ) async throws(URLError) -> OfflineURLResponse {
    let began = options.clock.now()
    // A function, because for a closure a caller on an actor would change threads, there and back.
    func write(
      _ answer: ClientResponse
    ) async throws(ClientError) -> Result<Content, URLError>? {
      if asked.body == nil, let newer = await file(wanted, asNewAs: answer) {
        answer.body.cancel()
        return .success(.there(newer))
      }
      return try await writeUnnamed(answer, wanted, asked, place)?.map { .unnamed($0) }
    }
    let (result, response) = try await answering(asked, after: failure, write)
    guard let result else {
      let url = response.url?.absoluteString ?? asked.request.url.string
      throw refusal(response.statusCode, by: url, asked, place)
    }
    let unnamed: Unnamed
    switch try result.get() {
    case .there(let newer):
      return try self.response(newer, asked, place, standIn: response.metadata?.standIn)
    case .unnamed(let made): unnamed = made
    }
    let (answer, target) = (unnamed.answer, unnamed.target)
    do throws(URLError) {
      if Task.isCancelled { throw self.failure(cancelled(asked), asked) }
      try checkUser(asked)
      let file = await note(
        answer, to: asked, for: wanted,
        written: WrittenFile(
          length: unnamed.status.length, modified: unnamed.status.modified, began: began,
          confirmed: client.lastConfirmed(answer)?.nanoseconds ?? .max))
      try await checkUser(asked, of: file)
      try await target.moveIntoPlace()
      try await checkUser(asked, of: file)
      // What has begun to replace a stale response is resumed later.
      if response.metadata?.isStale == false { await downloader.removeUnfinished(wanted) }
      return file.map { response.written(to: $0, answer.head) } ?? response
    } catch {
      await target.abandon()
      throw error
    }
  }

  /// - Throws: `cancelled` if the user has logged out since the call began, whose files were removed.
  func checkUser(_ asked: AskedRequest) throws(URLError) {
    guard asked.options.logOuts == client.logOutCount else {
      throw failure(cancelled(asked), asked)
    }
  }

  /// Checks the user as ``checkUser(_:)`` does, and removes a file of this call if that throws: the
  /// log-out may have come before the file had its name.
  func checkUser(_ asked: AskedRequest, of file: DownloadedFile?) async throws(URLError) {
    do throws(URLError) { try checkUser(asked) } catch {
      if let file { await downloader.remove(file) }
      throw error
    }
  }

  /// Returns the file that is there if its server gave it no earlier than a response of the store.
  private func file(
    _ wanted: DownloadRequest, asNewAs answer: ClientResponse
  ) async -> DownloadedFile? {
    let given = answer.source == .substitute ? .distantPast : client.lastConfirmed(answer)
    guard let given, let there = try? await downloader.fileNow(wanted),
      // A time in the future proves nothing: the clock was set back.
      there.record.lastGiven >= given,
      there.record.lastGiven <= Timestamp(nanoseconds: options.clock.now())
    else { return nil }
    return there
  }

  /// Writes the content of a response to a hidden file.
  ///
  /// - Returns: `nil` for a status whose content is no file; an error of the file or of its digest.
  /// - Throws: The error of the body, after which another response may be used.
  private func writeUnnamed(
    _ answer: ClientResponse, _ wanted: DownloadRequest, _ asked: AskedRequest, _ place: FilePlace
  ) async throws(ClientError) -> Result<Unnamed, URLError>? {
    guard Self.isFile(answer) else {
      answer.body.cancel()
      return nil
    }
    let target = FileTarget(place, isDurable: options.downloads.isDurable)
    let made = wanted.digest.map { MessageDigest($0.algorithm) }
    do throws(ClientError) {
      while let piece = try await answer.body.next() {
        if Task.isCancelled { throw cancelled(asked) }
        made?.update(piece)
        do throws(URLError) { try await target.write(piece) } catch {
          answer.body.cancel()
          await target.abandon()
          return .failure(error)
        }
      }
    } catch {
      answer.body.cancel()
      await target.abandon()
      throw error
    }
    do throws(URLError) {
      try check(made?.finish(), wanted, asked)
      return .success(
        Unnamed(answer: answer, target: target, status: try await target.complete()))
    } catch {
      await target.abandon()
      return .failure(error)
    }
  }

  private func check(
    _ bytes: [UInt8]?, _ wanted: DownloadRequest, _ asked: AskedRequest
  ) throws(URLError) {
    guard let digest = wanted.digest, let bytes,
      let actual = try? StatedDigest(digest.algorithm, bytes), actual != digest
    else { return }
    throw URLError(
      DownloadError(
        .wrongDigest(expected: digest, actual: actual), url: asked.request.url.string,
        path: wanted.file), url: asked.url)
  }

  /// Records a written file, so that it can expire and be compared with the server's version.
  /// Returns `nil` for content that is not a whole response of a server.
  private func note(
    _ answer: ClientResponse, to asked: AskedRequest, for wanted: DownloadRequest,
    written: WrittenFile
  ) async -> DownloadedFile? {
    guard answer.source != .substitute, answer.head.status == 200, asked.body == nil else {
      return nil
    }
    // Errors are ignored: without a record the file exists and is downloaded again.
    return try? await downloader.note(
      wanted, answeredBy: answer.url, head: answer.head,
      source: answer.source == .network ? .network : .store,
      isUserKnown: client.loginState == wanted.loginState, written: written)
  }
}
