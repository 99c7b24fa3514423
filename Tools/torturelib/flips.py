"""Single flipped bits, in our store and in a SQLite database with the same contents."""

import os
import random
import shlex
import shutil
import sqlite3
import subprocess

from faults.faultlib import end_of, run_shell

from .kit import VERDICT
from .results import Flips

# After these a program hangs.
SECONDS = 60
# Lengths of bodies as in a small cache.
LENGTHS = (10, 700, 5_000, 20_000, 0, 4_096, 66_000)


def flip(path, bit):
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def sqlite_contents(seed, count):
    """Returns keys with a note and a body each."""
    source = random.Random(f"{seed}/contents")
    return {
        f"key{number}": (f"note {number}", source.randbytes(LENGTHS[number % 7] + number))
        for number in range(count)}


def read_all(path, contents):
    """Reads every entry of a database; returns what it is like: right, wrong, error, missing."""
    outcome = "right"
    try:
        database = sqlite3.connect(path)
        try:
            for key, expected in contents.items():
                try:
                    row = database.execute(
                        "SELECT note, body FROM cache WHERE key = ?", (key,)).fetchone()
                except (sqlite3.Error, OverflowError, UnicodeError):
                    outcome = "error" if outcome != "wrong" else outcome
                    continue
                if row is None:
                    outcome = "missing" if outcome == "right" else outcome
                elif tuple(row) != expected:
                    outcome = "wrong"
        finally:
            database.close()
    except sqlite3.Error:
        outcome = "error" if outcome != "wrong" else outcome
    return outcome


def is_reported(path):
    """Returns whether SQLite's own check finds something."""
    try:
        database = sqlite3.connect(path)
        try:
            return database.execute("PRAGMA integrity_check").fetchone()[0] != "ok"
        finally:
            database.close()
    except (sqlite3.Error, UnicodeError):
        return True


def sqlite_flips(work, seed, count):
    """Flips bits in a SQLite database."""
    contents = sqlite_contents(seed, 14)
    source = os.path.join(work, "cache.sqlite")
    database = sqlite3.connect(source)
    database.execute("CREATE TABLE cache (key TEXT PRIMARY KEY, note TEXT, body BLOB)")
    with database:
        database.executemany(
            "INSERT INTO cache VALUES (?, ?, ?)",
            [(key, note, body) for key, (note, body) in contents.items()])
    database.close()
    chance = random.Random(f"{seed}/sqlite")
    bits = os.path.getsize(source) * 8
    result = Flips(f"SQLite {sqlite3.sqlite_version}", 0, detected=0)
    copy = os.path.join(work, "flipped.sqlite")
    for _ in range(count):
        shutil.copy(source, copy)
        flip(copy, chance.randrange(bits))
        result.tried += 1
        outcome = read_all(copy, contents)
        setattr(result, outcome, getattr(result, outcome) + 1)
        result.detected += is_reported(copy)
    os.unlink(copy)
    os.unlink(source)
    return result


def store_flips(work, probe, seed, count):
    """Flips bits in a store of ours, any bit of any file with the same chance.

    A program that crashes or hangs on it counts as one that reads something wrong.
    """
    source, copy = os.path.join(work, "flips"), os.path.join(work, "flipped")
    acks = os.path.join(work, "flips.ack")
    with open(acks, "wb") as file:
        subprocess.run([probe, source, "workload", "20", str(seed)], stdout=file, check=True)
    files = sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(source) for name in names)
    sizes = [os.path.getsize(name) * 8 for name in files]
    chance = random.Random(f"{seed}/store")
    result = Flips("OfflineCache", 0, detected=0)
    for _ in range(count):
        subprocess.run(["cp", "-a", source, copy], check=True)
        name = chance.choices(files, sizes)[0]
        bit = chance.randrange(os.path.getsize(name) * 8)
        flip(os.path.join(copy, os.path.relpath(name, source)), bit)
        check, _ = run_shell(shlex.join([probe, copy, "scrub"]), SECONDS)
        result.detected += check == 1
        status, output = run_shell(shlex.join([probe, copy, "verify", acks]), SECONDS)
        result.tried += 1
        found = VERDICT.search(output)
        if {end_of(check), end_of(status)} & {"crash", "hang"}:
            result.wrong += 1
        elif status == 0:
            result.right += 1
        elif found and found[1] == "0":
            result.missing += 1
        elif found:
            result.wrong += 1
        else:
            result.error += 1
        shutil.rmtree(copy)
    shutil.rmtree(source)
    return result
