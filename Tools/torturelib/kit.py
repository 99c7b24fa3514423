"""Runs the scripts of the fault kit (Tools/faults) with our probe as the store."""

import json
import os
import re
import shlex
import subprocess
import sys
import time

from faults import faultlib

from .results import Row

VERDICT = re.compile(r"wrong (\d+), lost (\d+)")


class Unusable(Exception):
    """A script that could not do its work; the text says why."""


def count_failures(texts):
    """Returns how many verdicts tell of a loss only, and how many of something wrong."""
    lost = wrong = 0
    for text in texts:
        found = VERDICT.search(text)
        # No verdict at all: the program crashed, hung, or could not open the store.
        if found and found[1] == "0":
            lost += 1
        else:
            wrong += 1
    return lost, wrong


class Kit:
    def __init__(self, work, probe, options):
        self.work = os.path.join(work, "points")
        self.probe = probe
        self.options = options
        # Where a bug is planted, failures are what is asked for.
        self.options.is_control = False
        os.mkdir(self.work)
        try:
            faultlib.build()
        except (OSError, subprocess.CalledProcessError) as error:
            raise Unusable(f"the engine of the fault kit cannot be compiled: {error}") from error

    def store(self, level, words, bug="", restarted=False):
        """Returns the command line of the probe for a script; `restarted` after a power cut."""
        flag = "--full " if level == "full" else ""
        boot = "STOREPROBE_BOOT=next " if restarted else ""
        return f"env STOREPROBE_BUG={bug} {boot}{shlex.quote(self.probe)} {flag}{{dir}} {words}"

    def call(self, script, arguments):
        """Runs a script; returns its text, and the JSON that it wrote."""
        out = os.path.join(self.work, "out.json")
        if os.path.exists(out):
            os.unlink(out)
        command = [
            sys.executable, "-B", os.path.join(faultlib.HERE, script),
            "--workdir", self.work, "--jobs", str(self.options.jobs),
            # A hang is one also on a machine that is busy with other things.
            "--timeout", "60", *arguments]
        if script not in ("bitrot.py", "torntail.py"):
            command += ["--ackdir", self.work]
            if self.options.keep:
                command += ["--keep", os.path.join(self.options.keep, f"{time.time_ns():x}")]
        if script in ("crashpoints.py", "errinject.py", "powerloss_model.py", "bitrot.py"):
            command += ["--json", out]
        command += ["--show", "1000000"] if script != "realfull.py" else []
        run = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=7200, start_new_session=True,
            env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
        if self.options.verbose:
            print(shlex.join(command), run.stdout, sep="\n", file=sys.stderr)
        elif not self.options.is_control:
            for line in self._failed_lines(run.stdout)[:20]:
                print(f"  {line}", file=sys.stderr)
        found = None
        if os.path.exists(out):
            with open(out, encoding="utf-8") as file:
                found = json.load(file)
        return run.stdout, found

    def _read(self, script, arguments):
        """Runs a script that has to write JSON; returns its text and that."""
        text, found = self.call(script, arguments)
        if found is None:
            raise Unusable(f"{script}: {text.strip()[-600:]}")
        return text, found

    def _failed_lines(self, text):
        return [line for line in text.splitlines() if line.startswith("FAIL")]

    def _numbers(self, script, text, pattern):
        found = re.search(pattern, text)
        if not found:
            raise Unusable(f"{script} did not come to its end: {text.strip()[-600:]}")
        return [int(number) for number in found.groups()]

    def crashpoints(self, arguments):
        """Kills the workload; returns points, lost, wrong."""
        text, found = self._read("crashpoints.py", arguments)
        lost, wrong = count_failures(
            [bad["out"] for bad in found["bad"]]
            + [line for line in self._failed_lines(text) if "in recovery" in line])
        return found["hit"] + found["recovery"], lost, wrong

    def errinject(self, arguments):
        """Lets calls fail; returns points, lost, wrong, errors that the caller was told of."""
        _, found = self._read("errinject.py", arguments)
        bad = [point for point in found if point["bad"]]
        lost, wrong = count_failures([point["out"] for point in bad])
        return len(found), lost, wrong, sum(point["kind"] == "reported" for point in found)

    def powerloss(self, arguments):
        """Builds the states after a power cut; returns states, lost, wrong."""
        _, found = self._read("powerloss_model.py", arguments)
        return found["n"], *count_failures([fail[3] for fail in found["fails"]])

    def multikill(self, arguments):
        """Kills some of several processes; returns rounds, lost, wrong."""
        text, _ = self.call("multikill.py", arguments)
        rounds, failed = self._numbers(
            "multikill.py", text, r"rounds (\d+), .*failed rounds (\d+)")
        lost, wrong = count_failures(self._failed_lines(text))
        if lost + wrong != failed:
            raise Unusable(f"multikill.py: {text.strip()[-600:]}")
        return rounds, lost, wrong

    def realfull(self, arguments):
        """Fills file systems up; returns runs, lost, wrong, runs that said so."""
        text, _ = self.call("realfull.py", arguments)
        runs, _ = self._numbers("realfull.py", text, r": (\d+) runs, failures (\d+)")
        lost, wrong = count_failures(self._failed_lines(text))
        return runs, lost, wrong, len(re.findall(r"^\d+ \w+ +reported", text, re.MULTILINE))

    def torntail(self, arguments):
        """Damages one file at every byte; returns damages, lost, wrong."""
        text, _ = self.call("torntail.py", arguments)
        damages, _ = self._numbers("torntail.py", text, r"(\d+) damages, failures (\d+)")
        return damages, *count_failures(self._failed_lines(text))

    def bitrot(self, arguments):
        """Damages stores; returns a row without names."""
        _, found = self._read("bitrot.py", arguments)
        steps = ("scrub", "safe", "read", "repair", "scrub2", "safe2", "read2")
        wrong = failed = lost = 0
        for trial in found:
            broken = trial["escape"] or any(trial.get(step) in ("hang", "crash") for step in steps)
            false = broken or any(trial.get(step) not in (None, 0) for step in ("safe", "safe2"))
            wrong += false
            failed += false or trial.get("scrub2") not in (None, 0)
            lost += (trial.get("read2") if trial.get("repair") is not None
                     else trial.get("read")) not in (None, 0)
        detected = sum(trial.get("scrub") not in (None, 0) for trial in found)
        return Row("", "", len(found), len(found) - failed, lost, wrong, failed, detected)
