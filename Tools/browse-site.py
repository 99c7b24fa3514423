"""A small site for Tools/browse: pages, a style sheet, a script, pictures and data.

usage: browse-site.py PORT

Each kind of resource has other cache fields, so that a browser that visits all of it meets fresh
entries, entries that are revalidated, and entries whose freshness is guessed.
"""

import hashlib
import http.server
import re
import struct
import sys
import time
import zlib
from urllib.parse import unquote

PLACES = ["harbour", "lighthouse", "caf\u00e9", "two words"]


def page(title, body):
    links = " ".join(
        f'<a href="/places/{name}.html">{name}</a>' for name in PLACES)
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="/style.css"><link rel="icon" href="/icon.svg"></head>
<body><h1>{title}</h1><nav><a href="/">Home</a> {links}</nav>{body}
<ul id="list"></ul><p id="colour"></p><script src="/app.js"></script></body></html>""".encode()


def png(red, green, blue):
    """Returns a picture of 64 by 64 points in one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    row = b"\0" + bytes([red, green, blue]) * 64
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(row * 64)) + chunk(b"IEND", b""))


SCRIPT = b"""
addEventListener("load", async () => {
  const list = document.getElementById("list");
  for (const item of await (await fetch("/data.json?part=1")).json()) {
    list.append(Object.assign(document.createElement("li"), { textContent: item }));
  }
  const pictures = [...document.images].map((image) => image.naturalWidth).join(" ");
  document.getElementById("colour").textContent =
    getComputedStyle(document.body).color + ", pictures " + pictures;
  document.body.dataset.done = "yes";
});
"""

HTML, LATER = "text/html; charset=utf-8", "max-age=300"
# Path: type, Cache-Control (None: the freshness is guessed from Last-Modified), body.
SITE = {
    "/": (HTML, "max-age=0", page("Home", '<img src="/1.png" alt=""><img src="/2.png" alt="">')),
    "/style.css": ("text/css", LATER, b"body { color: rgb(1, 2, 3); font-family: sans-serif }"),
    "/app.js": ("text/javascript", LATER, SCRIPT),
    "/data.json?part=1": ("application/json", None, '["one", "two", "drei \u00fc"]'.encode()),
    "/icon.svg": ("image/svg+xml", LATER,
                  b'<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>'),
    "/1.png": ("image/png", LATER, png(200, 80, 40)),
    "/2.png": ("image/png", None, png(40, 80, 200)),
    "/digits.txt": ("text/plain", LATER, b"0123456789" * 1000),
}
for number, name in enumerate(PLACES):
    SITE[f"/places/{name}.html"] = (
        HTML, [LATER, None, "no-cache=\"x-visits\"", "max-age=1"][number],
        page(name, f"<p>This is {name}.</p><img src='/1.png' alt=''>"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one piece: apart they would wait for each other's acknowledgement.
    wbufsize = -1

    def log_message(self, *_):
        pass

    def do_GET(self):
        entry = SITE.get(unquote(self.path))
        if not entry:
            return self.answer(404, [("Content-Type", "text/plain")], b"there is no such page\n")
        kind, control, body = entry
        tag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        fields = [("Content-Type", kind), ("ETag", tag)]
        fields += [("Last-Modified", self.date_time_string(time.time() - 864_000))]
        fields += [("Cache-Control", control)] if control else []
        if tag in re.split(r",\s*", self.headers.get("If-None-Match", "")):
            return self.answer(304, fields, b"")
        self.answer(200, fields, body)

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(201, [("Content-Type", "text/plain")], b"got " + body)

    def answer(self, status, fields, body):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()


if __name__ == "__main__":
    http.server.ThreadingHTTPServer.daemon_threads = True
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
