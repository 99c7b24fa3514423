"""Makes what Tools/browse-https serves: a site of 100 pages, and repositories for apt, pip and git."""

import hashlib
import json
import math
import os
import shutil
import struct
import subprocess
import zipfile
import zlib

PAGES = 100
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
# Kept apart, so that nothing of the user's own configuration is used.
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
       "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a.test", "GIT_AUTHOR_DATE": "1700000000 +0000",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a.test",
       "GIT_COMMITTER_DATE": "1700000000 +0000"}

SCRIPT = """
const digest = async (buffer) =>
  [...new Uint8Array(await crypto.subtle.digest("SHA-256", buffer))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
const ask = async (path, options) => {
  const answer = await fetch(path, options);
  const body = await digest(await answer.arrayBuffer());
  return `${path} ${answer.status} ${answer.url} ${body}`;
};
const lines = [];
const number = document.body.dataset.number;
addEventListener("load", async () => {
  try {
    for (const path of [location.pathname, "/s/style.css", "/s/app.js", "/s/font.ttf",
      `/data/${number}.json?part=1`, ...[...document.images].map((image) => image.src)]) {
      lines.push(await ask(path));
    }
    lines.push(`pictures ${[...document.images].map((image) => image.naturalWidth)}`);
    lines.push(`font ${(await document.fonts.load("16px Test")).length}`);
    lines.push(`colour ${getComputedStyle(document.body).color}`);
    if (number == 1) {
      for (const path of ["/r/301", "/r/302", "/r/303", "/r/307", "/r/308", "/r/chain"]) {
        lines.push(await ask(path));
      }
      lines.push(await ask("/v/tone.wav", { headers: { Range: "bytes=1000-1999" } }));
      const video = document.querySelector("video");
      await new Promise((done, fail) => {
        video.onerror = () => fail(new Error(`video: ${video.error.message}`));
        video.onseeked = done;
        video.onloadedmetadata = () => { video.currentTime = 40; };
        video.load();
      });
      lines.push(`video ${video.duration} ${video.currentTime}`);
    }
    if (number == 2) {
      await navigator.serviceWorker.register("/sw.js");
      await navigator.serviceWorker.ready;
      if (!navigator.serviceWorker.controller) {
        await new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done; });
      }
      lines.push(await (await fetch("/by-worker")).text());
    }
  } catch (error) {
    lines.push(`error ${error}`);
  }
  document.querySelector("pre").textContent = lines.join("\\n");
  document.body.dataset.done = "yes";
});
"""

WORKER = """
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (new URL(event.request.url).pathname === "/by-worker") {
    event.respondWith(fetch("/data/2.json?part=1").then(async (answer) =>
      new Response(`worker: ${await answer.text()}`)));
  }
});
"""


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def png(seed):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes((seed * x * y) % 256 for x in range(96)) for y in range(32))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def tone(seconds=60, rate=44100):
    """Returns a sound of some megabytes, which a video element plays."""
    period = b"".join(struct.pack("<h", int(9000 * math.sin(2 * math.pi * i / 100)))
                      for i in range(100))
    data = period * (seconds * rate // 100)
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt "
            + struct.pack("<IHHIIHH", 16, 1, 1, rate, rate * 2, 2, 16)
            + b"data" + struct.pack("<I", len(data)) + data)


def make_site(www):
    links = " ".join(f'<a href="{n}.html">{n}</a>' for n in range(1, PAGES + 1))
    for number in range(1, PAGES + 1):
        media = '<video src="/v/tone.wav" muted></video>' if number == 1 else ""
        write(f"{www}/pages/{number}.html", f"""<!DOCTYPE html><html lang="en"><head>
<meta charset="utf-8"><title>Page {number}</title><link rel="stylesheet" href="/s/style.css">
<link rel="icon" href="/i/1.png"></head><body data-number="{number}"><h1>Page {number} \u00fc</h1>
<nav>{links}</nav><img src="/i/{number % 10 + 1}.png" alt=""><img src="/i/p{number}.png" alt="">
{media}<pre></pre><script src="/s/app.js"></script></body></html>""")
        write(f"{www}/data/{number}.json", json.dumps({"number": number, "words": ["\u00fc"] * 50}))
        write(f"{www}/i/p{number}.png", png(number))
    for number in range(1, 11):
        write(f"{www}/i/{number}.png", png(number + 200))
    write(f"{www}/s/style.css", """@font-face { font-family: Test; src: url(font.ttf) }
body { color: rgb(1, 2, 3); font-family: Test, sans-serif }""")
    write(f"{www}/s/app.js", SCRIPT)
    write(f"{www}/sw.js", WORKER)
    shutil.copy(FONT, f"{www}/s/font.ttf")
    write(f"{www}/v/tone.wav", tone())


def make_apt(www):
    folder = f"{www}/apt"
    for number in range(1, 4):
        package = f"{folder}/../../package-{number}"
        write(f"{package}/usr/share/oc-{number}/data", hashlib.sha512(bytes([number])).digest() * 900)
        write(f"{package}/DEBIAN/control", f"""Package: oc-test-{number}
Version: 1.{number}
Architecture: all
Maintainer: a <a@a.test>
Description: test {number}
""")
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", package, folder], check=True,
                       stdout=subprocess.DEVNULL)
    packages = subprocess.run(["dpkg-scanpackages", "--multiversion", "."], cwd=folder, check=True,
                              capture_output=True).stdout
    write(f"{folder}/Packages", packages)
    release = subprocess.run(["apt-ftparchive", "release", "."], cwd=folder, check=True,
                             capture_output=True).stdout
    write(f"{folder}/Release", release)


def make_pip(www):
    name = "oc_test-1.0-py3-none-any.whl"
    os.makedirs(f"{www}/pip/simple/oc-test")
    with zipfile.ZipFile(f"{www}/pip/{name}", "w") as wheel:
        wheel.writestr("oc_test.py", "value = 7\n" * 1000)
        wheel.writestr("oc_test-1.0.dist-info/METADATA",
                       "Metadata-Version: 2.1\nName: oc-test\nVersion: 1.0\n")
        wheel.writestr("oc_test-1.0.dist-info/WHEEL",
                       "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("oc_test-1.0.dist-info/RECORD", "")
    with open(f"{www}/pip/{name}", "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    write(f"{www}/pip/simple/oc-test/index.html",
          f'<!DOCTYPE html><a href="/pip/{name}#sha256={digest}">{name}</a>')


def commit(www, number):
    """Adds a commit to the repository, and tells the dumb protocol of it."""
    environment = {**os.environ, **GIT}
    bare, work = f"{www}/git/repo.git", f"{www}/../work"
    def git(*words, folder=work):
        subprocess.run(["git", *words], cwd=folder, check=True, env=environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not os.path.exists(bare):
        os.makedirs(bare)
        git("init", "--bare", "-b", "main", folder=bare)
        os.makedirs(work)
        git("init", "-b", "main")
        git("remote", "add", "origin", bare)
    for name in range(20):
        write(f"{work}/f{number}-{name}", hashlib.sha512(bytes([number, name])).hexdigest() * 50)
    git("add", ".")
    git("commit", "-m", f"{number}")
    git("push", "origin", "main")
    git("repack", "-d", folder=bare)
    git("update-server-info", folder=bare)


def make(folder):
    www = f"{folder}/www"
    make_site(www)
    make_apt(www)
    make_pip(www)
    commit(www, 1)
