"""URLs, bodies and fields as real caches have them, decided by a seed."""

import datetime
import random
import urllib.parse

# The time that all generated stores take for now: 2026-06-09T10:13:20Z.
NOW = 1781000000
DAY = 86400

HOSTS = [
    "www.example.org", "cdn.example.net", "api.example.com", "img.beispiel.example",
    "static.example.org:8443", "xn--bcher-kva.example",
    "a.very.long.sub.domain.of.a.content.delivery.network.example.net"]
WORDS = [
    "artikel", "news", "v1", "v2", "users", "images", "thumb", "großes-bild", "straße",
    "новости", "画像", "feed", "item", "search", "static", "js", "css", "fonts", "ä ö ü", "a+b", "x%2Fy",
    "emoji-😀", "index", "latest", "archive"]
# Media type, charset, extension.
MIMES = [
    ("text/html", "utf-8", "html"), ("text/html", "iso-8859-1", "html"),
    ("application/json", "utf-8", "json"), ("application/json", None, "json"),
    ("image/png", None, "png"), ("image/jpeg", None, "jpg"), ("text/css", "utf-8", "css"),
    ("text/javascript", None, "js"), ("image/svg+xml", None, "svg"),
    ("font/woff2", None, "woff2"), ("application/octet-stream", None, "bin"),
    ("video/mp4", None, "mp4"), ("text/plain", "utf-8", "txt")]
TEXTS = ("application/json", "image/svg+xml")
HEADS = {
    "text/html": b"<!doctype html><title>Beispiel \xc3\xa4</title>", "application/json": b'{"k":"'}
SIZES = [
    0, 1, 2, 17, 181, 293, 512, 1000, 2048, 3433, 4095, 4096, 4097, 6266, 9999, 16384, 16410, 20479,
    20480, 20481, 32768, 65536, 100000, 131072, 189266, 262144, 524288, 1048576, 2 * 1024 * 1024]
WEIGHTS = [6 if size < 30000 else 2 if size < 300000 else 1 for size in SIZES]
REQUEST_FIELDS = [
    ("User-Agent", "Beispiel/1.0 CFNetwork/808.0.2 Darwin/16.0.0"), ("Accept", "*/*"),
    ("Accept-Language", "de-de"), ("Accept-Encoding", "gzip, deflate")]


def http_date(time):
    """Returns a Unix time as HTTP writes it."""
    moment = datetime.datetime.fromtimestamp(int(time), datetime.timezone.utc)
    return moment.strftime("%a, %d %b %Y %H:%M:%S GMT")


def uuid(source):
    """Returns a random UUID."""
    digits = f"{source.getrandbits(128):032X}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def without(pairs, *names):
    """Returns fields without those of some names."""
    return [pair for pair in pairs if pair[0] not in names]


class Contents:
    """Makes what a cache has stored."""

    def __init__(self, seed):
        self.source = random.Random(seed)
        self.bodies, self.used = [], set()

    def url(self, extension):
        """Returns a URL that has not been used yet."""
        while True:
            url = self._url(extension)
            if url not in self.used:
                self.used.add(url)
                return url

    def _url(self, extension):
        source = self.source
        parts = [urllib.parse.quote(source.choice(WORDS), safe="%+")
                 for _ in range(source.randint(1, 4))]
        url = ("https" if source.random() < 0.8 else "http") + "://" + source.choice(HOSTS) + "/"
        url += "/".join(parts) + f"/{source.getrandbits(28):x}.{extension}"
        if source.random() < 0.4:
            url += "?" + urllib.parse.urlencode([
                (source.choice(["q", "page", "id", "lang", "sig", "size"]),
                 source.choice(["1", "de", "a b", "ä", "x/y=z&", "", "T2d_Q09u1bs65A=="]))
                for _ in range(source.randint(1, 3))])
        if source.random() < 0.05:
            url += "#abschnitt-2"
        if source.random() < 0.02:
            url += ("&" if "?" in url else "?") + "long=" + "x" * 1900
        return url

    def body(self, mime, size=None):
        """Returns a body, now and then one that was there before."""
        source = self.source
        if self.bodies and source.random() < 0.12:
            return source.choice(self.bodies)
        if size is None:
            size = source.choices(SIZES, weights=WEIGHTS)[0]
        if mime.startswith("text/") or mime in TEXTS:
            line = " ".join(source.choice(WORDS) for _ in range(200)).encode()
            body = HEADS.get(mime, b"/* x */") + (line + b"\n") * (size // len(line) + 1)
        elif mime == "image/png":
            body = b"\x89PNG\r\n\x1a\n" + source.randbytes(min(size, 65536)) * (size // 65536 + 1)
        else:
            body = source.randbytes(min(max(size, 1), 65536)) * (size // 65536 + 1)
        self.bodies.append(body[:size])
        del self.bodies[:-40]
        return body[:size]

    def fields(self, mime, charset, body, time, lifetime, encoding=None, wire_length=None,
               is_repeated=False):
        """Returns the fields of a response in their order; without a lifetime if that is None."""
        source = self.source
        pairs = [
            ("Content-Type", mime + ("; charset=" + charset if charset else "")),
            ("Date", http_date(time)),
            ("Server", source.choice(["nginx/1.25.3", "Apache", "gunicorn/19.9.0", "ATS/9.0.3"])),
            ("Etag", f'"{source.getrandbits(64):x}"'),
            ("Last-Modified", http_date(time - source.randint(1000, 10 ** 7)))]
        if lifetime is not None:
            if source.random() < 0.7:
                start = source.choice(["", "public, "])
                pairs.append(("Cache-Control", f"{start}max-age={lifetime}"))
            else:
                pairs.append(("Expires", http_date(time + lifetime)))
        if encoding:
            pairs += [("Content-Encoding", encoding), ("Vary", "Accept-Encoding")]
        length = len(body) if wire_length is None else wire_length
        pairs += [("Content-Length", str(length)), ("Connection", "keep-alive")]
        if is_repeated:
            pairs += [("X-Cache", "hit-fresh"), ("X-Cache", "miss"), ("Via", "1.1 varnish"),
                      ("X-Unicode", "Gr\u00fc\u00dfe")]
        return pairs
