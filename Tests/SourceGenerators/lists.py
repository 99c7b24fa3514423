"""Requests and responses as CFNetwork archives them: a version and a list of objects.

The list stands in a keyed archive, or as {Version, Array} in a Cache.db. The layouts follow what
programs of the years named here have written.
"""

import base64

from archives import CF_EPOCH, UID, KeyedArchiver, NSMutableDict, NSMutableStr, NSURL, binary_plist

RESPONSE_NULL = "__CFURLResponseNullTokenString__"
REQUEST_NULL = "__CFURLRequestNullTokenString__"
# The kinds of keyed archives: names are "$0" and so on in the first, longer ones later.
ERAS = ("ios6", "ios10", "ios17")
FOREVER = 1.7976931348623157e+308


def all_values(pairs):
    """Returns the pseudo field __hhaa__: two line ends and {name: [values]} in Base64."""
    values = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return "\r\n\r\n" + base64.b64encode(binary_plist(values)).decode()


def flat_fields(pairs, with_all_values):
    """Returns fields as CFNetwork keeps them: values of one name are joined."""
    found = NSMutableDict()
    for name, value in pairs:
        found[name] = found[name] + ", " + value if name in found else value
    if with_all_values:
        found["__hhaa__"] = all_values(pairs)
    return found


def _request_list(url, method, fields, timeout, policy, body, era):
    """Returns version and objects: 3 with 15 objects (2013), or 9 with 22 (iOS 10 and later)."""
    fields = NSMutableDict(fields)
    if era == "ios6":
        return 3, [False, url, timeout, policy, None, True, True, None, None, True, None, 2, method,
                   fields, body]
    return 9, [False, url, timeout, policy, None, True, 4, None, None, True, False, 0, 0.0, 0.0, 0,
               -1, None, 2, method, fields, body, None]


def _put_list(root, archiver, objects, era):
    for number, value in enumerate(objects):
        name = f"${3 + number}" if era == "ios6" else f"__nsurlrequest_proto_prop_obj_{number}"
        root[name] = archiver.encode(value)


def archive_request(url, method="GET", fields=(), era="ios17"):
    """Returns an archived NSURLRequest."""
    archiver = KeyedArchiver()
    number = archiver.slot({})
    version, objects = _request_list(
        NSURL(url), method, flat_fields(list(fields), era == "ios17"), 60.0, 1, None, era)
    root = {"$0": 2, "$1": version, "$2": len(objects)}
    _put_list(root, archiver, objects, era)
    if era == "ios6":
        root[f"${3 + len(objects)}"] = UID(0)
    else:
        root.update({
            "__nsurlrequest_proto_props": UID(0), "startTimeoutTime": 0.0,
            "requiresShortConnectionTimeout": False, "payloadTransmissionTimeout": 0.0,
            "allowedProtocolTypes": 0})
    root["$class"] = archiver.describe("NSURLRequest")
    archiver.objects[number] = root
    return archiver.finish(UID(number))


def archive_response(url, status, pairs, time, length, mime, era="ios17", mutable_mime=False):
    """Returns an archived NSHTTPURLResponse that was received at a Unix time."""
    archiver = KeyedArchiver()
    number = archiver.slot({})
    fields = flat_fields(pairs, era == "ios17")
    objects = [
        NSURL(url), float(time - CF_EPOCH), 0, status, fields if era != "ios6" else dict(fields),
        length, NSMutableStr(mime) if mutable_mime and mime else mime]
    root = {"$0": 8, "$1": 1, "$2": 7}
    _put_list(root, archiver, objects, era)
    root.update({"$10": 8, "$11": 0} if era == "ios6" else {"$3": 9, "$4": False})
    root["$class"] = archiver.describe("NSHTTPURLResponse", "NSURLResponse")
    archiver.objects[number] = root
    return archiver.finish(UID(number))


def archive_plain_response(url, time, mime, encoding, length):
    """Returns an archived NSURLResponse, which has neither status nor fields."""
    archiver = KeyedArchiver()
    number = archiver.slot({})
    root = {"$0": 8, "$1": 0, "$2": 7}
    _put_list(root, archiver, [
        NSURL(url), float(time - CF_EPOCH), 0, mime, encoding, length, FOREVER], "ios17")
    root["$class"] = archiver.describe("NSURLResponse")
    archiver.objects[number] = root
    return archiver.finish(UID(number))


def cf_url(url):
    """Returns a URL of a Cache.db."""
    return {"_CFURLStringType": 15, "_CFURLString": str(url)}


def cf_list(version, array):
    """Returns a list of a Cache.db."""
    return binary_plist({"Version": version, "Array": array})


def cf_response(url, status, pairs, time, length, mime, with_all_values=True):
    """Returns a response of a Cache.db."""
    def or_null(value):
        return RESPONSE_NULL if value is None else value

    fields = dict(flat_fields(pairs, with_all_values))
    return cf_list(1, [cf_url(url), float(time - CF_EPOCH), 0, status, fields, or_null(length),
                       or_null(mime)])


def cf_request(url, method="GET", fields=(), body=None, version=9, http_part=True):
    """Returns a request of a Cache.db: version 2 (2008), 3 (2013) or 9 (now)."""
    fields = dict(flat_fields(list(fields), version >= 9))
    array = [False, cf_url(url), 60.0, 0, None, True]
    if version == 9:
        array += [4, None, None, True, False, 0, 0.0, 0.0, 0, -1]
        if http_part:
            array += [None, 2, method, fields, None, None if body is None else [body]]
    else:
        array += [
            True, None, None, *([True] if version == 3 else []), None, 2, method, fields, body]
    return cf_list(version, [REQUEST_NULL if value is None else value for value in array])
