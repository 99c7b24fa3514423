// Not compiled here: Linux has no SwiftUI. See Tools/Examples/Reader/README.md.
import OfflineCacheKit
import SwiftUI

/// The size of the cache, and the button that clears it.
struct CacheSettings: View {
  @Environment(ArticlesModel.self) private var model
  @Environment(\.dismiss) private var dismiss
  @State private var isClearing = false

  var body: some View {
    NavigationStack {
      Form {
        LabeledContent("Stored", value: Int64(model.storedBytes), format: .byteCount(style: .file))
        LabeledContent(
          "Limit", value: Int64(model.cache.capacity), format: .byteCount(style: .file))
        Button("Clear", role: .destructive) {
          isClearing = true
          Task {
            await model.clear()
            isClearing = false
          }
        }
        .disabled(isClearing)
        if let text = model.errorText { Text(text).foregroundStyle(.secondary) }
      }
      .formStyle(.grouped)
      .navigationTitle("Settings")
      .toolbar {
        ToolbarItem(placement: .confirmationAction) { Button("Done") { dismiss() } }
      }
    }
    .frame(minWidth: 320, minHeight: 240)
  }
}
