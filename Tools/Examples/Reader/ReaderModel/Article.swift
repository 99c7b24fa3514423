public import OfflineCacheKit

/// An article of the list.
///
/// The list is a JSON array. An element is an object with `title`, `url` and perhaps `image`, or a
/// URL alone, as in the list of the program `reader`.
public nonisolated struct Article: Sendable, Hashable, Identifiable {
  /// The address of the page.
  public let url: URL
  /// The title; without one in the list, the last part of the address.
  public let title: String
  /// The address of the picture, if there is one.
  public let image: URL?

  /// The address: a list has each article once.
  public var id: URL { url }
}

nonisolated extension Article: Decodable {
  private enum CodingKeys: CodingKey {
    case url, title, image
  }

  /// Reads an element of the list.
  ///
  /// - Throws: `DecodingError` if there is no address that begins with http or https.
  public init(from decoder: any Decoder) throws {
    let fields = try? decoder.container(keyedBy: CodingKeys.self)
    url =
      try fields?.decode(URL.self, forKey: .url)
      ?? decoder.singleValueContainer().decode(URL.self)
    guard url.scheme == "https" || url.scheme == "http", url.host() != nil else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath, debugDescription: "\(url) is no address of the web"))
    }
    title = try fields?.decodeIfPresent(String.self, forKey: .title) ?? url.lastPathComponent
    image = try fields?.decodeIfPresent(URL.self, forKey: .image)
  }
}
