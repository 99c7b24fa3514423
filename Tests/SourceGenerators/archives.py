"""Keyed archives as NSKeyedArchiver writes them. Only plistlib is used."""

import datetime
import plistlib

UID = plistlib.UID
# 2001-01-01T00:00:00Z, where times of Apple's frameworks begin, in Unix time.
CF_EPOCH = 978307200


class NSURL(str):
    """A URL."""


class NSMutableDict(dict):
    """A dictionary that is archived as a mutable one."""


class NSMutableStr(str):
    """A string that is archived as a mutable one."""


class NSMutableBytes(bytes):
    """Data that is archived as mutable."""


class Unexpected:
    """An object of a class that no converter knows."""

    def __init__(self, name="BattleDroid", chain=("BattleDroid", "Droid", "NSObject"), **values):
        self.name, self.chain, self.values = name, chain, values


def binary_plist(value):
    """Returns a binary property list that keeps the order of dictionaries."""
    return plistlib.dumps(value, fmt=plistlib.FMT_BINARY, sort_keys=False)


class KeyedArchiver:
    """Writes objects in the order in which they are encoded.

    The first is "$null". A class is described after the first object that needs it, equal strings
    and numbers are shared, and scalars that are encoded for a key stand in the object itself.
    """

    def __init__(self):
        self.objects, self.shared, self.classes = ["$null"], {}, {}

    def describe(self, name, *chain):
        """Returns the class of a name with its superclasses."""
        if name not in self.classes:
            classes = ["NSObject"] if name == "NSObject" else [name, *chain, "NSObject"]
            self.objects.append({"$classname": name, "$classes": classes})
            self.classes[name] = UID(len(self.objects) - 1)
        return self.classes[name]

    def slot(self, value=None):
        """Adds a place for an object; returns its number."""
        self.objects.append(value)
        return len(self.objects) - 1

    def encode(self, value):
        """Adds an object and returns the reference to it."""
        if value is None:
            return UID(0)
        if isinstance(value, NSURL):
            return self._encode_url(value)
        if isinstance(value, (NSMutableStr, NSMutableBytes)):
            return self._encode_mutable(value)
        if isinstance(value, (str, bool, int, float, bytes)):
            key = (type(value).__name__, value)
            if key not in self.shared:
                self.shared[key] = UID(self.slot(value))
            return self.shared[key]
        number = self.slot({})
        self.objects[number] = self._members(value)
        return UID(number)

    def _encode_url(self, value):
        key = ("url", str(value))
        if key not in self.shared:
            number = self.slot({})
            self.shared[key] = UID(number)
            relative = self.encode(str(value))
            self.objects[number] = {
                "NS.base": UID(0), "$class": self.describe("NSURL"), "NS.relative": relative}
        return self.shared[key]

    def _encode_mutable(self, value):
        number = self.slot({})
        if isinstance(value, NSMutableStr):
            kind = self.describe("NSMutableString", "NSString")
            self.objects[number] = {"$class": kind, "NS.string": str(value)}
        else:
            kind = self.describe("NSMutableData", "NSData")
            self.objects[number] = {"$class": kind, "NS.data": bytes(value)}
        return UID(number)

    def _members(self, value):
        if isinstance(value, datetime.datetime):
            return {"$class": self.describe("NSDate"), "NS.time": value.timestamp() - CF_EPOCH}
        if isinstance(value, dict):
            keys = [self.encode(key) for key in value]
            objects = [self.encode(member) for member in value.values()]
            kind = (self.describe("NSMutableDictionary", "NSDictionary")
                    if isinstance(value, NSMutableDict) else self.describe("NSDictionary"))
            return {"NS.keys": keys, "NS.objects": objects, "$class": kind}
        if isinstance(value, (list, tuple)):
            objects = [self.encode(member) for member in value]
            return {"NS.objects": objects, "$class": self.describe("NSArray")}
        members = {key: self.encode(member) for key, member in value.values.items()}
        chain = [name for name in value.chain[1:] if name != "NSObject"]
        return {**members, "$class": self.describe(value.name, *chain)}

    def finish(self, root, key="root"):
        """Returns the archive of a root object."""
        return binary_plist({
            "$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {key: root},
            "$objects": self.objects})


def archive(value, key="root"):
    """Archives an object as archivedDataWithRootObject: does; None gives the archive of nil."""
    archiver = KeyedArchiver()
    return archiver.finish(archiver.encode(value), key)


def raw_archive(objects, root):
    """Returns an archive with exactly these objects, which need not make sense."""
    return plistlib.dumps(
        {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": UID(root)},
         "$objects": objects}, fmt=plistlib.FMT_BINARY)


def to_xml_archive(blob):
    """Returns the same archive as XML, where a reference is a dictionary with CF$UID."""
    def convert(value):
        if isinstance(value, UID):
            return {"CF$UID": value.data}
        if isinstance(value, dict):
            return {key: convert(member) for key, member in value.items()}
        return [convert(member) for member in value] if isinstance(value, list) else value

    return plistlib.dumps(convert(plistlib.loads(blob)), fmt=plistlib.FMT_XML, sort_keys=False)
