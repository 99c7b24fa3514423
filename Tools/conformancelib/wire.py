"""HTTP/1.1 on asyncio streams, lenient where the cases send junk on purpose."""

import datetime

DATES = {"date", "expires", "last-modified", "if-modified-since", "if-unmodified-since"}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
LINE_LIMIT = 1 << 20


class BrokenMessage(Exception):
    """A peer ended the connection in the middle of a message, or sent something that is none."""


def date_text(seconds, rfc850=False):
    when = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    day, month = DAYS[when.weekday()], MONTHS[when.month - 1]
    clock = when.strftime("%H:%M:%S GMT")
    if rfc850:
        return f"{day}, {when.day:02}-{month}-{when.year % 100:02} {clock}"
    return f"{day[:3]}, {when.day:02} {month} {when.year} {clock}"


def value_text(name, value, now, rfc850=()):
    """Returns the text of a field; integers in date fields are seconds from now."""
    if isinstance(value, int) and name.lower() in DATES:
        return date_text(int(now) + value, name.lower() in rfc850)
    return str(value)


def joined(fields, name):
    """Returns the lines of a name joined as `fetch` does it, or None."""
    values = [value for key, value in fields if key.lower() == name.lower()]
    return ", ".join(values) if values else None


def head_bytes(start, fields):
    lines = [start] + [f"{name}: {value}" for name, value in fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_head(reader):
    """Reads a head; returns the words of its first line and the fields, or None at a clean end."""
    start = await reader.readline()
    if not start:
        return None
    fields = []
    while True:
        line = await reader.readline()
        if line in (b"\r\n", b"\n"):
            return start.decode("latin-1").rstrip("\r\n").split(" ", 2), fields
        if not line.endswith(b"\n") or b":" not in line:
            raise BrokenMessage(f"the head ends in {line!r}")
        name, value = line.decode("latin-1").split(":", 1)
        fields.append((name.strip(), value.strip()))


async def read_body(reader, fields, is_request):
    """Reads a body by its framing; that of an answer without framing ends with the connection."""
    coding = (joined(fields, "Transfer-Encoding") or "").lower()
    if coding == "chunked":
        return await read_chunks(reader)
    length = joined(fields, "Content-Length")
    if length is not None and not coding:
        return await reader.readexactly(int(length.split(",")[0]))
    return b"" if is_request else await reader.read()


async def read_chunks(reader):
    """Reads a chunked body and drops its trailers."""
    pieces = []
    while True:
        size = int((await reader.readline()).split(b";")[0], 16)
        if size == 0:
            while (await reader.readline()) not in (b"\r\n", b"\n", b""):
                pass
            return b"".join(pieces)
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
