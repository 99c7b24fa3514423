"""The measuring part of Tools/bench-download; see there."""

import argparse
import contextlib
import hashlib
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import serving

LARGE = 1 << 30
MANY, SMALL = 1000, 100 << 10


def say(text):
    print(f"bench-download: {text}", file=sys.stderr, flush=True)


def digest(path):
    """Returns the SHA-256 of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_site(site):
    """Writes the large file and the small ones, all of random bytes; returns the large one's digest."""
    os.makedirs(f"{site}/small")
    whole = hashlib.sha256()
    with open(f"{site}/large", "wb") as file:
        for _ in range(LARGE >> 20):
            piece = random.randbytes(1 << 20)
            whole.update(piece)
            file.write(piece)
    for number in range(MANY):
        with open(f"{site}/small/{number}", "wb") as file:
            file.write(random.randbytes(SMALL))
    # As old as files on servers are: a time of change within the last minute is no strong validator.
    for name in [f"{site}/large"] + [f"{site}/small/{number}" for number in range(MANY)]:
        os.utime(name, (1_700_000_000, 1_700_000_000))
    return whole.hexdigest()


def origin(folder, site, rate=""):
    """Starts nginx, which logs the bytes of each body."""
    port = serving.free_port()
    return serving.nginx("origin", folder, port, f"""
        log_format sent '$body_bytes_sent $status $http_range';
        server {{
          listen 127.0.0.1:{port}; root {site}; {rate}
          access_log {folder}/sent.log sent;
        }}""")


def sent(folder):
    """Returns how many bytes of bodies were sent so far, and in how many answers."""
    with open(f"{folder}/sent.log") as file:
        numbers = [int(line.split()[0]) for line in file]
    return sum(numbers), len(numbers)


def timed(command):
    """Runs a command; returns its seconds, and the most memory that it had, in bytes."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    # Looked at now and then: what wait4(2) tells begins with the memory of this script.
    while process.poll() is None:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{process.pid}/status") as file:
                found = re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.M)
            most = max(most, int(found.group(1)) * 1024 if found else 0)
        time.sleep(0.005)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.monotonic() - start, most


def speed(tool, server, out, rounds):
    """Compares with curl, in turns."""
    url, ours, theirs = f"{server.url}/large", f"{out}/large", f"{out}/curl"
    times = {"curl": [], "download": []}
    most = {"curl": 0, "download": 0}
    for number in range(rounds + 1):
        commands = [("curl", ["curl", "-sS", "-o", theirs, url]),
                    ("download", [tool, "download", "-q", "-o", out, url])]
        for name, command in commands if number % 2 else reversed(commands):
            for entry in os.scandir(out):
                os.remove(entry.path)
            seconds, memory = timed(command)
            # The first round warms up.
            if number > 0:
                times[name].append(seconds)
                most[name] = max(most[name], memory)
    ratio = statistics.median(a / b for a, b in zip(times["curl"], times["download"]))
    print(f"\n1 GB to a file, {rounds} rounds in turns\n")
    print("| | MB/s (median) | most memory |\n|---|---|---|")
    for name in times:
        rate = LARGE / 1e6 / statistics.median(times[name])
        print(f"| {name} | {rate:.0f} | {most[name] / 1e6:.1f} MB |")
    print(f"| download / curl | {ratio:.2f} | |")


def kills(tool, server, folder, out, count, right):
    """Kills a download at random moments, as often as asked, and lets it finish."""
    for entry in os.scandir(out):
        os.remove(entry.path)
    before, _ = sent(folder)
    done = 0
    while done < count:
        process = subprocess.Popen(
            [tool, "download", "-q", "-o", out, f"{server.url}/large"],
            stdout=subprocess.DEVNULL)
        try:
            process.wait(random.uniform(0.05, 0.4))
            raise SystemExit(f"it had ended after {done} kills; the server is too fast")
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            done += 1
    timed([tool, "download", "-q", "-o", out, f"{server.url}/large"])
    time.sleep(0.5)
    total = sent(folder)[0] - before
    state = "right" if digest(f"{out}/large") == right else "WRONG"
    left = sorted(entry.name for entry in os.scandir(out))
    print(f"\n1 GB, killed {count} times at random moments: the bytes are {state}, "
          f"{total / LARGE:.3f} GB went into the server's sockets, {len(left)} files are there")


def many(tool, server, out, site):
    """Downloads a thousand files at once."""
    for entry in os.scandir(out):
        os.remove(entry.path)
    names = [f"{server.url}/small/{number}" for number in range(MANY)]
    with open(f"{out}/list", "w") as file:
        file.write("\n".join(names))
    seconds, memory = timed(
        [tool, "download", "-q", "-o", f"{out}/many", "--urls-from", f"{out}/list", "-n", "256",
         "--per-host", "256"])
    wrong = 0
    for number in range(MANY):
        with open(f"{site}/small/{number}", "rb") as one, open(f"{out}/many/{number}", "rb") as two:
            wrong += one.read() != two.read()
    print(f"\n{MANY} files of 100 KB, 256 at once: {seconds:.2f} s, {wrong} wrong, "
          f"{memory / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(prog="Tools/bench-download")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--folder")
    parser.add_argument("--skip", action="append", default=[], choices=["speed", "kills", "many"])
    options = parser.parse_args()
    seed = random.randrange(1 << 32)
    random.seed(seed)
    say(f"seed {seed}")
    if options.folder:
        os.makedirs(options.folder, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="bench-download-", dir=options.folder)
    try:
        site, out = f"{folder}/site", f"{folder}/out"
        os.makedirs(out)
        right = write_site(site)
        if "speed" not in options.skip or "many" not in options.skip:
            with origin(folder, site) as server:
                if "speed" not in options.skip:
                    speed(options.tool, server, out, options.rounds)
                if "many" not in options.skip:
                    many(options.tool, server, out, site)
                    shutil.rmtree(f"{out}/many")
        if "kills" not in options.skip:
            # So slow that it lasts longer than all the kills together.
            with origin(folder, site, "limit_rate 40m;") as server:
                kills(options.tool, server, folder, out, options.kills, right)
    finally:
        shutil.rmtree(folder)


main()
