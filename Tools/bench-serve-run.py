"""The measuring part of Tools/bench-serve; see there."""

import argparse
import array
import asyncio
import os
import platform
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import serving

SIZES = [(4 << 10, "4 KB"), (256 << 10, "256 KB")]
LARGE = 1 << 30
CLIENTS = 1000
# Which of the clients ask for a range, each for another one: every second one, none, all.
CASES = {"cached": 2, "uncached": 0, "uncached, ranges": 1}
# What a slow client takes at a time and how often: 4 KB a second.
PIECE, PAUSE = 1024, 0.25
# How long anybody waits for the next bytes.
PATIENCE = 30


def say(text):
    print(f"bench-serve: {text}", file=sys.stderr, flush=True)


def pattern(start, count):
    """Returns the bytes of the large body from an offset on: 64-bit numbers, counted up."""
    first = start // 8
    numbers = array.array("Q", range(first, (start + count + 7) // 8))
    return numbers.tobytes()[start - first * 8:][:count]


def write_site(site):
    os.makedirs(site)
    for size, _ in SIZES:
        with open(f"{site}/{size}", "wb") as file:
            file.write(os.urandom(size))
    names = [f"{site}/large-{number}" for number in range(len(CASES))]
    with open(names[0], "wb") as file:
        for start in range(0, LARGE, 1 << 20):
            file.write(pattern(start, 1 << 20))
    for name in names[1:]:
        os.link(names[0], name)


def run_wrk(server, path, seconds):
    """Returns requests and megabytes a second, the milliseconds that 99 of 100 stay below, and the
    microseconds of processor time that the server took for each, which other load hardly changes.
    """
    command = ["wrk", "-t2", "-c32", f"-d{seconds}s", "--latency", f"{server.url}/{path}"]
    before = server.cpu_seconds()
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cpu = server.cpu_seconds() - before
    if "Socket errors" in text or "Non-2xx" in text:
        raise SystemExit(f"{server.what} did not answer all of it:\n{text}")
    requests = float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))
    count = int(re.search(r"(\d+) requests in", text).group(1))
    amount, unit = re.search(r"Transfer/sec:\s+([\d.]+)([KMGT]?B)", text).groups()
    scale = {"B": 1e-6, "KB": 1.024e-3, "MB": 1.048576, "GB": 1073.741824, "TB": 1099511.627776}
    late, late_unit = re.search(r"99%\s+([\d.]+)(us|ms|s|m)", text).groups()
    milliseconds = {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}[late_unit]
    return requests, float(amount) * scale[unit], float(late) * milliseconds, cpu / count * 1e6


def futex_calls(server, path):
    """Returns the calls of futex(2) for each request, as text: threads that wait for each other."""
    command = ["perf", "stat", "-x,", "-e", "syscalls:sys_enter_futex", "-p",
               str(server.process.pid), "--", "wrk", "-t2", "-c32", "-d2s", f"{server.url}/{path}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "?"
    calls = re.search(r"^(\d+),", done.stderr, re.MULTILINE)
    count = int(re.search(r"(\d+) requests in", done.stdout).group(1))
    return f"{int(calls.group(1)) / count:.4f}" if calls else "?"


def check_hit(server, size, site):
    """Asks until the answer comes from the cache, and compares it."""
    with open(f"{site}/{size}", "rb") as file:
        wanted = file.read()
    for _ in range(20):
        status, fields, body = serving.get(f"{server.url}/{size}")
        if status != 200 or body != wanted:
            raise SystemExit(f"{server.what}: /{size} came with status {status} and wrong bytes")
        said = fields.get("X-Cache") or fields.get("Cache-Status", "")
        if said == "HIT" or re.search(r";\s*hit\b", said):
            return
        time.sleep(0.05)
    raise SystemExit(f"{server.what}: /{size} does not come from its cache")


def measure_speed(nginx, other, site, rounds, seconds):
    print("| hit | server | requests/s | MB/s | 99 % within | CPU each "
          "| ratio (lowest to highest) | futex(2) each | RSS |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for size, name in SIZES:
        for server in (nginx, other):
            check_hit(server, size, site)
            run_wrk(server, size, 1)
        found = {nginx: [], other: []}
        for number in range(rounds):
            # Each begins every other time, so that whoever comes second has no advantage.
            for server in (nginx, other) if number % 2 == 0 else (other, nginx):
                found[server].append(run_wrk(server, size, seconds))
            say(f"{name}, round {number + 1} of {rounds}: nginx {found[nginx][-1][0]:,.0f}, "
                f"{other.what} {found[other][-1][0]:,.0f} requests/s")
        ratios = [b[0] / a[0] for a, b in zip(found[nginx], found[other])]
        for server in (nginx, other):
            requests, megabytes, late, cpu = (statistics.median(one) for one in zip(*found[server]))
            ratio = "1"
            if server is other:
                ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"| {name} | {server.what} | {requests:,.0f} | {megabytes:,.0f} | {late:.2f} ms "
                  f"| {cpu:.1f} \u00b5s | {ratio} | {futex_calls(server, size)} | {server.memory() / 1e6:.0f} MB |", flush=True)


class MemoryWatch:
    """Notes the most memory of a server, ten times a second."""

    def __init__(self, server):
        self.server, self.most, self.mostAnonymous = server, 0, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.ended.wait(0.1):
            self.most = max(self.most, self.server.memory())
            self.mostAnonymous = max(self.mostAnonymous, self.server.memory("RssAnon"))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


async def read_head(loop, client):
    """Returns the status of an answer and what has come of its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = await asyncio.wait_for(loop.sock_recv(client, PIECE), PATIENCE)
        if not piece:
            raise OSError("no answer")
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    if b"\ntransfer-encoding:" in head.lower():
        raise OSError("a body of known length came in chunks")
    return int(head.split(b" ", 2)[1]), body


async def slow_client(port, path, start, until):
    """Reads slowly until a moment, from an offset on, and checks every byte.

    Returns what was wrong, or nothing, and how many bytes came.
    """
    loop = asyncio.get_running_loop()
    client = socket.socket()
    # With the default buffers the kernel would take in megabytes for a client that is slow.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    count = 0
    try:
        await loop.sock_connect(client, ("127.0.0.1", port))
        wanted = f"Range: bytes={start}-\r\n" if start else ""
        request = f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{wanted}\r\n"
        await loop.sock_sendall(client, request.encode())
        status, piece = await read_head(loop, client)
        if status not in (200, 206):
            return f"status {status}", 0
        # A whole answer to a Range request is allowed (RFC 9110, section 14.2).
        first = start if status == 206 else 0
        while time.monotonic() < until:
            if piece != pattern(first + count, len(piece)):
                return "wrong bytes", count
            count += len(piece)
            await asyncio.sleep(PAUSE)
            piece = await asyncio.wait_for(loop.sock_recv(client, PIECE), PATIENCE)
            if not piece:
                return "cut short", count
        return "", count
    except (OSError, asyncio.TimeoutError) as error:
        return repr(error), count
    finally:
        client.close()


async def slow_clients(port, path, step, seconds):
    until = time.monotonic() + seconds
    starts = [
        number * 1_000_003 % (LARGE // 2) if step and number % step == 0 else 0
        for number in range(1, CLIENTS + 1)]
    return await asyncio.gather(*(slow_client(port, path, start, until) for start in starts))


def read_whole(url):
    """Reads the large body at full speed, compares it, and returns the seconds it took."""
    begin = time.monotonic()
    command = ["curl", "--silent", "--show-error", "--fail", "--max-time", "300", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    offset = 0
    while piece := process.stdout.read(1 << 20):
        if piece != pattern(offset, len(piece)):
            process.kill()
            raise SystemExit(f"{url}: wrong bytes at {offset}")
        offset += len(piece)
    if process.wait() != 0 or offset != LARGE:
        raise SystemExit(f"{url}: {offset} of {LARGE} bytes, curl ended with {process.returncode}")
    return time.monotonic() - begin


def measure_memory(server, seconds):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print("\n| 1 GB body | clients | read by each | wrong | most RSS | its own | whole body |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    wrong = 0
    for number, (name, step) in enumerate(CASES.items()):
        path = f"large-{number}"
        if name == "cached":
            read_whole(f"{server.url}/{path}")
        with MemoryWatch(server) as watch:
            whole = []
            reader = threading.Timer(
                seconds / 3, lambda: whole.append(read_whole(f"{server.url}/{path}")))
            reader.start()
            results = asyncio.run(slow_clients(server.port, path, step, seconds))
            reader.join()
        bad = [text for text, _ in results if text]
        wrong += len(bad)
        for text in sorted(set(bad))[:5]:
            say(f"{name}: {bad.count(text)} clients: {text}")
        middle = statistics.median(count for _, count in results)
        took = f"{whole[0]:.1f} s" if whole else "not read"
        print(f"| {name} | {len(results)} | {middle / 1e3:.0f} KB | {len(bad)} "
              f"| {watch.most / 1e6:.0f} MB | {watch.mostAnonymous / 1e6:.0f} MB | {took} |",
              flush=True)
        wrong += not whole
    return wrong


def main():
    parser = argparse.ArgumentParser(prog="bench-serve")
    parser.add_argument("--tool", required=True, help="offlinecache, or the word nginx")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4, help="of one round")
    parser.add_argument("--slow-seconds", type=int, default=30, help="that slow clients read")
    parser.add_argument("--skip", choices=["speed", "memory"])
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="offlinecache-bench-serve.")
    try:
        site = f"{folder}/site"
        say("writes the site: 1 GB")
        write_site(site)
        print(f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, "
              f"{options.rounds} rounds of {options.seconds} s, wrk -t2 -c32\n")
        with serving.nginx_origin(folder, site) as origin, \
                serving.nginx_cache(folder, origin.url) as nginx, \
                start_other(options.tool, folder, origin) as other:
            if options.skip != "speed":
                measure_speed(nginx, other, site, options.rounds, options.seconds)
            if options.skip != "memory" and measure_memory(other, options.slow_seconds):
                raise SystemExit("bench-serve: not all bytes were right")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start_other(tool, folder, origin):
    if tool == "nginx":
        return serving.nginx_cache(folder, origin.url, name="nginx-again")
    return serving.serve(tool, f"{folder}/store", folder, "--origin", origin.url, "--shared",
                         "--log", "none")


main()
