import HTTPCaching
import RemoteTier

extension SharedForm {
  /// Creates the form of a response of another machine.
  init(_ response: SharedResponse) {
    self.init(
      selecting: response.selecting, status: response.status, fields: response.fields,
      tags: response.tags,
      times: ResponseTimes(request: response.requested, response: response.received))
  }
}

extension SharedResponse {
  /// Creates the response that other machines get.
  init(_ form: SharedForm, bodyDigest: [UInt8], length: UInt64, inlineBody: [UInt8]?) {
    self.init(
      selecting: form.selecting, status: form.status, fields: form.fields, tags: form.tags,
      bodyDigest: bodyDigest, length: length, requested: form.times.request,
      received: form.times.response, inlineBody: inlineBody)
  }
}
