#!/usr/bin/env python3
"""Compiles library modules for macOS and Mac Catalyst with this toolchain's own modules, and compares
the versions of the APIs that they use with the minimum. For Tools/check-apple, which says what this proves.

  Tools/check-apple-run.py FOLDER MODULE ...

FOLDER contains `package`, the package with the changes that Tools/check-apple makes. Writes there:
apis.txt (each API of Apple's frameworks that is used, its versions, and the files that use it),
calls.c (the functions and constants of the C library) and platforms.txt. Exits 0 if all is in order, 1
if something is wrong with the sources or the table, and 2 if the toolchain is not as expected.
"""
import collections
import ctypes
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import typing

# The name of this machine in the toolchain's modules, and the one of the same length that replaces it.
ARCHITECTURE = platform.machine()
HOST = f"{ARCHITECTURE}-unknown-linux-gnu"
PROCESSOR = {"aarch64": "arm64"}.get(ARCHITECTURE, ARCHITECTURE)


class Platform(typing.NamedTuple):
    """A platform for which the modules are compiled."""
    # Its name in Package.swift, and that of its folder of modules.
    name: str
    folder: str
    # The end of the triple that replaces that of this machine, and of the names of its modules.
    ending: str
    module: str
    # The triple of the target, with its version.
    target: str


PLATFORMS = [
    Platform("macos", "macosx", "macosx10.15", "macos", "macosx{}"),
    # Code in `#if os(iOS)` is compiled here. A simulator's triple is too long to replace that of Linux.
    Platform("maccatalyst", "maccatalyst", "ios-macabi0", "ios-macabi", "ios{}-macabi"),
]
STUBS = ["Darwin", "CryptoKit", "Network", "Security", "AppleFoundation"]
# What the table is about. The modules of the standard library carry their versions in themselves, and
# the compiler compares them; those of Foundation do so in part.
TABLED = {
    "Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking",
    "Dispatch", "WebKit", *STUBS}
# The libraries that are in the SDK of each platform.
IN_SDK = {"CZlib", "CSQLite"}
# Functions of libraries that are not part of the C library, and of this package.
OTHER_C = re.compile(r"(curl_|CURL|sqlite3_|SQLITE|csqlite_|occurl|cp_|cr_|cxx|cl_)")
C_HEADERS = """arpa/inet errno fcntl ifaddrs netinet/in netinet/tcp poll pthread signal stdio stdlib string
  sys/resource sys/socket sys/stat sys/sysctl time unistd zlib""".split()


def fail(status, *lines):
    print(*(f"check-apple: {line}" for line in lines), sep="\n", file=sys.stderr)
    sys.exit(status)


class Build:
    """The modules for a platform, each compiled once, and the index of what they declare and use."""

    def __init__(self, folder, platform, version):
        self.folder, self.platform = folder, platform
        self.target = f"{ARCHITECTURE}-apple-{platform.target.format(version)}"
        self.place, self.maps = folder / platform.name, {}
        shutil.rmtree(self.place, ignore_errors=True)
        (self.place / "modules").mkdir(parents=True)
        self.make_resources()

    def make_resources(self):
        """Copies the toolchain's modules as modules for the platform: `@available` then counts."""
        given = subprocess.run(["swiftc", "-print-target-info"], capture_output=True, check=True)
        resources = pathlib.Path(json.loads(given.stdout)["paths"]["runtimeResourcePath"])
        self.resources, self.macros = self.place / "resources", resources / "host/plugins"
        modules = self.resources / self.platform.folder
        modules.mkdir(parents=True)
        for entry in resources.iterdir():
            if entry.name != "linux":
                (self.resources / entry.name).symlink_to(entry)
        apple = f"{ARCHITECTURE}-apple-{self.platform.ending}"
        if len(HOST) != len(apple):
            fail(2, f"{HOST} and {apple} differ in length")
        for module in resources.glob(f"linux/*.swiftmodule/{HOST}.swiftmodule"):
            copy = modules / module.parent.name
            copy.mkdir()
            (copy / f"{PROCESSOR}-apple-{self.platform.module}.swiftmodule").write_bytes(
                module.read_bytes().replace(HOST.encode(), apple.encode()))
        # A module below the SDK's folder would not be one of this package.
        (self.place / "sdk").mkdir()
        for name in ("usr", "lib", "lib64"):
            (self.place / "sdk" / name).symlink_to(f"/{name}")
        # The C library is that of this machine.
        linux = resources / "linux" / ARCHITECTURE
        text = (linux / "glibc.modulemap").read_text()
        text = text.replace('"SwiftGlibc.h"', f'"{linux}/SwiftGlibc.h"')
        (self.place / "glibc.modulemap").write_text(
            text.replace('"assert.h"', '"/usr/include/assert.h"'))

    def compile(self, name, sources, flags=(), index="uses"):
        command = [
            "swift-frontend", "-emit-sil", "-parse-as-library", "-module-name", name,
            "-emit-module-path", f"{self.place}/modules/{name}.swiftmodule", "-target", self.target,
            "-clang-target", HOST, "-disable-objc-interop", "-sdk", f"{self.place}/sdk",
            "-resource-dir", str(self.resources), "-module-cache-path", f"{self.folder}/clang",
            "-plugin-path", str(self.macros),
            "-I", f"{self.place}/modules", "-Xcc", f"-fmodule-map-file={self.place}/glibc.modulemap",
            "-index-store-path", f"{self.place}/{index}", *flags, *sorted(map(str, sources)),
        ]
        # The index is written for outputs that belong to one file each.
        command += ["-num-threads", "1"]
        for source in sources:
            command += ["-o", "/dev/null", "-index-unit-output-path", f"{name}/{source.name}.o"]
        if subprocess.run(command).returncode != 0:
            fail(1, f"{name} does not compile for {self.target}")

    def add(self, name, package):
        """Compiles a target of the package, after those that it depends on. Returns the module maps
        of the C modules among these."""
        if name in self.maps:
            return self.maps[name]
        target, maps = package[name], set()
        for dependency in target["dependencies"]:
            (below, *_, condition), = dependency.values()
            if self.applies(condition):
                maps |= self.add(below, package)
        folder = self.folder / "package" / (target.get("path") or f"Sources/{name}")
        sources = list(folder.rglob("*.swift"))
        if sources:
            flags = [part for map in sorted(maps) for part in ("-Xcc", f"-fmodule-map-file={map}")]
            flags += settings(target) + ["-package-name", "offlinecache"]
            self.compile(name, sources, flags, "stubs" if "apple-stubs" in folder.parts else "uses")
        else:
            maps = maps | {self.module_map(name, folder)}
        self.maps[name] = maps
        return maps

    def compile_consumer(self, source):
        """Compiles a program of another package that uses the Foundation API."""
        if "OfflineCacheKit" not in self.maps:
            return
        flags = [part for map in sorted(self.maps["OfflineCacheKit"])
                 for part in ("-Xcc", f"-fmodule-map-file={map}")]
        self.compile("Consumer", [source], [*flags, "-swift-version", "6"], index="consumer")

    def system_libraries(self, name, package):
        """Returns the targets below one that stand for libraries which are not of the package."""
        target = package[name]
        found = {name} if target["type"] == "system" else set()
        for dependency in target["dependencies"]:
            (below, *_, condition), = dependency.values()
            if self.applies(condition):
                found |= self.system_libraries(below, package)
        return found

    def applies(self, condition):
        return condition is None or self.platform.name in condition["platformNames"]

    def module_map(self, name, folder):
        for given in (folder / "module.modulemap", folder / "include/module.modulemap"):
            if given.exists():
                return given
        header, = (folder / "include").glob("*.h")
        made = self.place / f"{name}.modulemap"
        made.write_text(f'module {name} {{ umbrella header "{header}" export * }}\n')
        return made


def settings(target):
    """The compiler's flags for the settings that Package.swift has for a target."""
    flags = []
    for setting in target["settings"]:
        (kind, values), = setting["kind"].items()
        value = values.get("_0")
        flags += {
            "swiftLanguageMode": ["-swift-version", value],
            "enableUpcomingFeature": ["-enable-upcoming-feature", value],
            "strictMemorySafety": ["-strict-memory-safety"],
            "treatAllWarnings": ["-warnings-as-errors"],
            "define": ["-D", value],
        }.get(kind) or fail(2, f"{target['name']}: {kind} of Package.swift is unknown here")
    return flags


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode()


# The roles in an index.
DEFINITION, REFERENCE, IMPLICIT = 1 << 1, 1 << 2, 1 << 8


def indexed(index, wanted):
    """The USR of each declaration that has a role in the index, with the names of the files."""
    library = pathlib.Path(shutil.which("swiftc")).resolve().parent.parent / "lib/libIndexStore.so"
    store = ctypes.CDLL(str(library))
    pointer, visitor = ctypes.c_void_p, ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)

    def function(name, result, *parameters):
        it = getattr(store, f"indexstore_{name}")
        it.restype, it.argtypes = result, parameters
        return it

    create = function("store_create", pointer, ctypes.c_char_p, pointer)
    read = function("record_reader_create", pointer, pointer, ctypes.c_char_p, pointer)
    occurrences = function(
        "record_reader_occurrences_apply_f", ctypes.c_bool, pointer, pointer, visitor)
    symbol_of = function("occurrence_get_symbol", pointer, pointer)
    roles_of = function("occurrence_get_roles", ctypes.c_uint64, pointer)
    usr_of = function("symbol_get_usr", Text, pointer)
    found = collections.defaultdict(set)
    opened = create(os.fsencode(index), None) or fail(2, f"{index} cannot be read")
    for record in sorted((index / "v5/records").rglob("*-*")):
        reader = read(opened, os.fsencode(record.name), None) or fail(2, f"{record} cannot be read")

        def visit(_, occurrence, file=record.name.rpartition("-")[0]):
            roles = roles_of(occurrence)
            if roles & wanted and (wanted == REFERENCE or not roles & IMPLICIT):
                found[str(usr_of(symbol_of(occurrence)))].add(file)
            return True

        occurrences(reader, None, visitor(visit))
    return dict(found)


def named(found):
    """The names of the APIs that the table is about, as the documentation writes them."""
    usrs = sorted(usr for usr in found if usr.startswith("s:"))
    forms = []
    for option in ([], ["-simplified"]):
        given = subprocess.run(
            ["swift-demangle", "-compact", *option], capture_output=True, text=True, check=True,
            input="\n".join("$" + usr.replace(":", "", 1) for usr in usrs))
        forms.append(given.stdout.splitlines())
    apis = collections.defaultdict(set)
    for usr, whole, name in zip(usrs, *forms, strict=True):
        # `(extension in Module):Type.member` or `Module.Type.member`; else it is local.
        module = re.match(r"(?:static )?(?:\(extension in (\w+)\):)?(\w+)\.", whole)
        if not module or (module[1] or module[2]) not in TABLED:
            continue
        name = re.sub(r"<[^<>]*>|^static |\.(getter|setter|modify|read)$", "", name)
        if ".Type) -> " in whole:  # The case of an enumeration.
            name = name.removesuffix("(_:)")
        # What Tools/check-apple writes with `apple` before it.
        name = re.sub(r"\bapple([A-Z])(?=[a-z])", lambda found: found[1].lower(), name)
        name = re.sub(r"\bapple(?=NS)|\bApple(?=[A-Z])", "", name)
        apis[name] |= found[usr]
    return apis


def number(version):
    """A version that can be compared; that of what does not exist on a platform is the lowest."""
    return () if version == "-" else tuple(map(int, version.split(".")))


def compare(apis, table_path, minimum, report):
    """Compares what is used with the table: a row for each, and none needs more than the minimum."""
    table, wrong = {}, []
    for line in table_path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, macos, ios, url = line.split("\t")
            table[name] = (macos, ios, url)
    guarded = "".join(path.read_text() for path in table_path.parent.glob("*.swift"))
    for name in sorted(apis):
        files = " ".join(sorted(apis[name]))
        if name not in table:
            wrong.append(f"{name} ({files}) is not in {table_path.name}")
            continue
        macos, ios, _ = table[name]
        needs_more = number(macos) > number(minimum["macos"]) or number(ios) > number(minimum["ios"])
        # A stub that says so has the compiler ask for `#available`.
        if needs_more and f"@available(macOS {macos}, iOS {ios}, *)" not in guarded:
            wrong.append(f"{name} ({files}) needs macOS {macos} and iOS {ios}")
    report.write_text("".join(
        "\t".join((name, *table.get(name, "???")[:2], *sorted(apis[name]))) + "\n"
        for name in sorted(apis)))
    return wrong


def write_calls(found, declared, path):
    """Writes a file that mentions all functions and constants of the C library that Swift uses."""
    names = {match[1] for usr in found if (match := re.fullmatch(r"c:@(?:F|macro)@(\w+)", usr))}
    darwin = {usr: files for usr, files in declared.items() if usr.startswith("s:6Darwin")}
    names |= {name.partition("(")[0] for name in named(darwin)}
    names = sorted(name for name in names if not OTHER_C.match(name))
    lines = [f"#include <{header}.h>" for header in C_HEADERS]
    lines += ["void calls(void) {", *(f"  (void)({name});" for name in names), "}"]
    path.write_text("\n".join(lines) + "\n")


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    folder = pathlib.Path(sys.argv[1]).resolve()
    described = subprocess.run(
        ["swift", "package", "--package-path", str(folder / "package"), "--scratch-path",
         str(folder / "description"), "dump-package"], stdout=subprocess.PIPE, check=True)
    package = json.loads(described.stdout)
    targets = {target["name"]: target for target in package["targets"]}
    minimum = {given["platformName"]: given["version"] for given in package["platforms"]}
    stubs = folder / "package/Tools/apple-stubs"
    found, declared = collections.defaultdict(set), collections.defaultdict(set)
    for platform in PLATFORMS:
        # Without a version of its own, Mac Catalyst has that of iOS.
        build = Build(folder, platform, minimum.get(platform.name, minimum["ios"]))
        for name in STUBS:
            build.compile(name, [stubs / f"{name}.swift"], index="stubs")
        for name in sys.argv[2:]:
            build.add(name, targets)
        build.compile_consumer(folder / "package/Tools/consumer-apple.swift")
        for product in package["products"]:
            if "library" not in product["type"] or product["name"] == "CurlHTTP":
                continue
            below = (build.system_libraries(name, targets) for name in product["targets"])
            if missing := set().union(*below) - IN_SDK:
                fail(1, f"{product['name']} needs {', '.join(sorted(missing))} on {platform.name}")
        for uses, index, role in ((found, "uses", REFERENCE), (declared, "stubs", DEFINITION)):
            for usr, files in indexed(build.place / index, role).items():
                uses[usr] |= files
    apis = named(collections.ChainMap(found, declared))
    write_calls(found, declared, folder / "calls.c")
    (folder / "platforms.txt").write_text(
        "".join(f"{name}.{version}\n" for name, version in minimum.items()))
    wrong = compare(apis, stubs / "versions.txt", minimum, folder / "apis.txt")
    if wrong:
        fail(1, *wrong)
    print(f"check-apple: {len(apis)} APIs of Apple's frameworks, none newer than the minimum")


if __name__ == "__main__":
    main()
