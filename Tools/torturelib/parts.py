"""What is tried: each part with its runs, quick and full."""

import os
import shutil
import time

from .results import Row

LEVELS = ("process", "full")
ERRORS = "ENOSPC,EIO,EMFILE,EINTR,EDQUOT,short,short=1"
# The kit's calls that change nothing, but flock(2) and close(2).
READING = (
    "open,openat,openat2,read,pread64,readv,preadv,getdents64,newfstatat,fstat,stat,lstat,statx,"
    "access,faccessat2,readlink,lseek,ioctl,fcntl")


class Parts:
    """Runs parts with one kit, and adds what they find to the results."""

    def __init__(self, kit, results, options):
        self.kit, self.results, self.options = kit, results, options
        self.is_quick, self.seed = options.quick, options.seed

    def all(self):
        return {
            "kill": self.kill, "errors": self.errors, "processes": self.processes,
            "power": self.power, "sync": self.sync, "full": self.full_disk, "torn": self.torn,
            "rot": self.rot,
        }

    def _run(self, group, part, level, tool, arguments, command):
        """Runs one script and adds its row, in which every loss is a failure."""
        start = time.monotonic()
        tried, lost, wrong, *detected = getattr(self.kit, tool)(arguments)
        failed = lost + wrong
        self.options.add(Row(
            part, level, tried, tried - failed, lost, wrong, failed,
            detected[0] if detected else None, time.monotonic() - start, group, command))

    def _commands(self, level, words, check="verify", restarted=False):
        """Returns the arguments that say what runs and what verifies."""
        return [
            "--run", self.kit.store(level, words),
            "--verify", self.kit.store("process", check + " {ack}", restarted=restarted)]

    def _workloads(self, quick, full):
        """Returns the workloads of a part, with their seeds."""
        seeds = [self.seed * 100 + place for place in range(1, 6)]
        return [words.format(*seeds) for words in (quick if self.is_quick else full)]

    def _each(self, quick, full):
        """Returns the workloads of a part for both levels."""
        for level in LEVELS:
            for words in self._workloads(quick, full):
                yield level, words

    def kill(self):
        """Kills before, after and within each call that changes something; also in recovery."""
        for level, words in self._each(
                ["workload 14 {0}"],
                ["workload 20 {0}", "workload 30 {1} 3", "churn 60 {2}", "churn 80 {3} 2"]):
            self._run(
                "kills", f"SIGKILL, {words}", level, "crashpoints",
                [*self._commands(level, words), "--when", "all",
                 *(["--stride", "3"] if self.is_quick else [])], words)
        # Opening is recovery; its end is a store that keeps every promise.
        for level, words in self._each(["workload 9 {0}"], ["workload 12 {0}", "churn 30 {1}"]):
            for recovery in ["verify {ack}"] if self.is_quick else ["verify {ack}", "repair"]:
                self._run(
                    "kills", f"SIGKILL twice, {recovery.split()[0]}, {words}", level,
                    "crashpoints",
                    [*self._commands(level, words), "--when", "before", "--seed", str(self.seed),
                     "--recover", self.kit.store(level, recovery),
                     "--recover-points", "2" if self.is_quick else "4",
                     *(["--stride", "4"] if self.is_quick else [])], words)

    def errors(self):
        """Lets each call fail, once and from there on, and cuts transfers short."""
        for level, words in self._each(
                ["workload 6 {0}"], ["workload 9 {0}", "workload 14 {1} 2", "churn 20 {2}"]):
            for name, faults in self._faults(words):
                self._run(
                    "errors", f"{name}, {words}", level, "errinject",
                    [*self._commands(level, words), *faults,
                     *(["--stride", "7"] if self.is_quick else [])], words)

    def _faults(self, words):
        """Returns what fails in a workload, and what that is called.

        The kit reports an error in place of a call. Where a thread waits for a lock, and its release and
        each close(2) after it fail so from there on, it waits for ever, as with no kernel: those two do
        their work, and then report the error, where there are two threads.
        """
        if len(words.split()) < 4:
            return [("errors", ["--mode", "both", "--set", "all", "--errors", ERRORS])]
        lasting = ",".join(
            error for error in ERRORS.split(",") if error != "EINTR" and "short" not in error)
        return [
            ("errors once", ["--mode", "once", "--set", "all", "--errors", ERRORS]),
            ("errors from there on",
             ["--mode", "persist", "--set", "mut," + READING, "--errors", lasting]),
            ("failing locks and closing",
             ["--mode", "persist", "--set", "flock,close", "--errors",
              "error-after=EIO,error-after=EDQUOT"]),
        ]

    def processes(self):
        """Kills some of four processes on one store while the others go on."""
        rounds = 12 if self.is_quick else 300
        for level in LEVELS:
            for kind, words in (("--fresh", "workload 12 {w}"), ("", "churn 30 {w}")):
                run = self.kit.store(level, words).replace(
                    "env ", "env STOREPROBE_PREFIX=w{w}- ", 1)
                # The promises of all rounds are checked after each: not too many on one store.
                for turn in range(1 if self.is_quick or kind else 6):
                    count = rounds if kind or self.is_quick else rounds // 6
                    self._run(
                        "rounds", f"4 processes, {words.split()[0]}{' new' if kind else ''}",
                        level, "multikill",
                        ["--workers", "4", "--rounds", str(count), *([kind] if kind else []),
                         "--seed", str(self.seed * 10 + turn), "--run", run,
                         "--verify", self.kit.store("process", "verify {ack}")], words)

    def power(self):
        """Cuts the power: verify at full durability, nothing wrong at the default."""
        profiles = ["posix", "ext4"] if self.is_quick else ["posix", "ext4", "names", "xfs"]
        for profile in profiles:
            for words in self._workloads(
                    ["workload 12 {0}"],
                    ["workload 20 {0}", "workload 30 {1} 3", "churn 60 {2}", "churn 60 {3} 2"]):
                states = 150 if self.is_quick else 1500 if profile in ("posix", "ext4") else 300
                self._run(
                    "model states", f"power cut, {profile}, {words}", "full", "powerloss",
                    ["--profile", profile, "--states", str(states), "--seed", str(self.seed),
                     *self._commands("full", words, restarted=True)], words)
        for profile in ("posix", "ext4"):
            for words in self._workloads(["workload 12 {0}"], ["workload 30 {0}", "churn 60 {1}"]):
                self._run(
                    "model states", f"power cut, {profile}, {words}, nothing wrong", "process",
                    "powerloss",
                    ["--profile", profile, "--states", "100" if self.is_quick else "1000",
                     "--seed", str(self.seed),
                     *self._commands("process", words, "old", restarted=True)], words)

    def sync(self):
        """Lets each sync fail, and cuts the power after it."""
        for profile in ("posix", "ext4"):
            for words in self._workloads(["workload 3 {0}"], ["workload 8 {0}"]):
                self._run(
                    "model states", f"power cut after a failed sync, {profile}, {words}", "full",
                    "powerloss",
                    ["--profile", profile, "--fault", "error=EIO", "--states",
                     "12" if self.is_quick else "150", "--seed", str(self.seed),
                     *self._commands("full", words, restarted=True)], words)

    def full_disk(self):
        """Fills real file systems up."""
        if os.geteuid() != 0:
            self.results.skipped.append("full: mounting needs root")
            return
        kinds = ["tmpfs"]
        for kind in ("ext4", "xfs", "btrfs"):
            if not shutil.which(f"mkfs.{kind}"):
                self.results.skipped.append(f"full: {kind}: there is no mkfs.{kind}")
            elif kind == "ext4" or not self.is_quick:
                kinds.append(kind)
        words = f"workload 20 {self.seed}"
        for level in LEVELS:
            for kind in kinds:
                step = "80" if self.is_quick else "8"
                self._run(
                    "full disks", f"{kind} with 0 to 400 KiB left", level, "realfull",
                    ["--fs", kind, "--from", "0", "--to", "400", "--step", step,
                     *self._commands(level, words)], words)
                if kind in ("tmpfs", "ext4"):
                    step = "20" if self.is_quick else "3"
                    self._run(
                        "full disks", f"{kind} with 0 to 90 inodes left", level, "realfull",
                        ["--fs", kind, "--inodes", "--from", "0", "--to", "90", "--step", step,
                         *self._commands(level, words)], words)

    def torn(self):
        """Damages the journal at every byte."""
        for level, words in self._each(["workload 6 {0}"], ["workload 9 {0}", "churn 8 {1}"]):
            step = "31" if self.is_quick else "2" if words.startswith("workload") else "11"
            self._run(
                "damages", f"journal cut, changed, {words}", level, "torntail",
                ["--setup", self.kit.store(level, words) + " > {ack}",
                 "--file", "journal/00000001.log", "--step", step, "--seed", str(self.seed),
                 "--verify", self.kit.store("process", "safe {ack}")], words)

    def rot(self):
        """Damages stores in forty ways, checks them, repairs them, checks again."""
        trials = 2 if self.is_quick else 60
        for level, words in self._each(["workload 14 {0}"], ["workload 20 {0}"]):
            start = time.monotonic()
            row = self.kit.bitrot([
                "--setup", self.kit.store(level, words) + " > {ack}",
                "--scrub", self.kit.store("process", "scrub"),
                "--read", self.kit.store("process", "verify {ack}"),
                "--read-safe", self.kit.store("process", "safe {ack}"),
                "--repair", self.kit.store(level, "repair"),
                "--trials", str(trials), "--seed", str(self.seed)])
            row.part, row.level, row.group = f"40 kinds of damage, {words}", level, "damages"
            row.seconds, row.command = time.monotonic() - start, words
            self.options.add(row)
