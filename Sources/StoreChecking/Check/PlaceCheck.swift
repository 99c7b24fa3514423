internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// A check of the directory of a store: names, kinds, modes, owner, store.json, the tag.
struct PlaceCheck {
  struct Result: Sendable {
    var suspicions: [Suspicion] = []
    /// The content of store.json, or the part of it that can be restored.
    var description: StoreDescription?
    var owner: UInt32 = 0
    var isOwn = false
    /// The description of the newer format; `nil` if no newer version wrote the store.
    var newerFormat: String?
  }

  private static let directories = [
    Layout.journal, Layout.entries, Layout.staging, Layout.quarantine,
  ]

  private let root: Int32
  private let options: CheckOptions
  private var result = Result()

  private var fileSystem: any FileSystem { options.fileSystem }

  /// Checks the directory once. A caller that repeats the check holds the lock.
  static func look(
    _ root: borrowing Descriptor, _ options: CheckOptions
  ) throws(SystemError) -> Result {
    var check = PlaceCheck(root: root.raw, options: options)
    let status = try options.fileSystem.status(of: root.raw)
    (check.result.owner, check.result.isOwn) = (status.owner, status.isOwn)
    check.addRootPermissions(status)
    for name in directories { check.look(at: name, .directory) }
    check.look(at: Layout.lock, .file)
    check.lookAtTag(root)
    check.lookAtDescription(root)
    return check.result
  }

  private mutating func look(at name: PathName, _ kind: FileKind) {
    do throws(SystemError) {
      let status = try fileSystem.status(at: name, in: root)
      if !isRight(status, kind, name) { add(.partMissing, name, "another thing stands there") }
    } catch  where error == .notFound {
      add(.partMissing, name, "it is missing")
    } catch {
      addUnreadable(name, error)
    }
  }

  private mutating func lookAtTag(_ root: borrowing Descriptor) {
    let name = Layout.backupTag
    do throws(SystemError) {
      let status = try fileSystem.status(at: name, in: root.raw)
      guard isRight(status, .file, name) else {
        return add(.tagWrong, name, "another thing stands there")
      }
      let expected = Array(Layout.backupTagText.prefix { $0 != "\n" }.utf8)
      let file = try fileSystem.open(name, in: root, [.read])
      if try fileSystem.readBytes(file, count: expected.count, at: 0) != expected {
        add(.tagWrong, name, "its first line is not the signature")
      }
    } catch  where error == .notFound {
      add(.tagWrong, name, "it is missing")
    } catch {
      addUnreadable(name, error)
    }
  }

  private mutating func lookAtDescription(_ root: borrowing Descriptor) {
    let name = Layout.description
    do throws(SystemError) {
      let status = try fileSystem.status(at: name, in: root.raw)
      guard isRight(status, .file, name) else {
        return restore(.descriptionMissing, "another thing stands there", root)
      }
      let bytes = try fileSystem.readFile(
        name, in: root, limit: StoreDescription.maximumBytes)
      do throws(FormatError) {
        let description = try StoreDescription(decoding: bytes)
        result.description = description
        if let other = StorePlace.contradiction(of: description, root, fileSystem, options.clock) {
          add(
            .descriptionDamaged, name,
            "it is that of another store; most files belong to \(other.id)")
          result.description = other
        }
      } catch  where error.code == .newerFormat {
        result.newerFormat = error.detail
      } catch {
        restore(.descriptionDamaged, error.detail, root)
      }
    } catch  where error == .notFound {
      restore(.descriptionMissing, "it is missing", root)
    } catch  where error == .tooLarge {
      restore(.descriptionDamaged, "it is too long", root)
    } catch {
      addUnreadable(name, error)
    }
  }

  private mutating func restore(
    _ kind: FindingKind, _ detail: String, _ root: borrowing Descriptor
  ) {
    add(kind, Layout.description, detail)
    result.description = StorePlace.restorable(root, fileSystem, options.clock)
    if result.description == nil, fileSystem.hasEntries(root) {
      add(.seedLost, Layout.description, "neither the journal nor a metadata file tells it")
    }
  }

  /// Adds a suspicion if a file or directory has a wrong kind, mode or owner.
  ///
  /// - Returns: whether it is a file or a directory, as it should be.
  private mutating func isRight(
    _ status: FileStatus, _ kind: FileKind, _ name: PathName
  ) -> Bool {
    guard status.kind == kind else {
      add(.wrongKind, name, "\(status.kind.words), should be \(kind.words)")
      return false
    }
    result.suspicions += Permissions(owner: result.owner)
      .suspicions(of: status, path: name.bytes, name: name)
    return true
  }

  /// Adds a suspicion if the owner of the store's directory lacks a right, or if others may write
  /// to it, because then they can replace its files. Others may read it: the user may have made it
  /// before it was a store, and everything in it has a mode of its own.
  private mutating func addRootPermissions(_ status: FileStatus) {
    if status.mode & 0o700 == 0o700, status.mode & 0o022 == 0 { return }
    let cause = status.mode & 0o022 == 0 ? "its owner may not use it" : "others may write to it"
    result.suspicions.append(
      Suspicion(kind: .wrongMode, path: [], detail: "mode \(octal(status.mode)), \(cause)"))
  }

  /// Adds a suspicion, unless the mode of the name or of the store's directory is the reason, which is
  /// reported.
  private mutating func addUnreadable(_ name: PathName, _ error: SystemError) {
    let hasWrongMode = result.suspicions.contains {
      $0.kind == .wrongMode && name.bytes.isAtOrBelow($0.path)
    }
    if !(error.isPermission && hasWrongMode) { add(.unreadable, name, error.description) }
  }

  private mutating func add(_ kind: FindingKind, _ name: PathName, _ detail: String) {
    result.suspicions.append(Suspicion(kind: kind, path: name.bytes, name: name, detail: detail))
  }
}

extension FileSystem {
  /// Returns whether there is anything in the directory `entries` of a store; false if it cannot be
  /// read.
  func hasEntries(_ root: borrowing Descriptor) -> Bool {
    guard let entries = try? open(Layout.entries, in: root, [.read, .directory])
    else { return false }
    return (try? isEmpty(entries)) == false
  }
}

extension SystemError {
  /// Whether the check of the store's directory reports the reason, if a part of it cannot be opened.
  var isOfPlace: Bool { self == .notFound || isWrongKind || isPermission }
}
