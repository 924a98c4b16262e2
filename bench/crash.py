#!/usr/bin/env python3
"""Kills Halfpower with SIGKILL again and again, and holds what the store has afterwards against what it had before.

A sample counts as reported once another process sees it in the store. After every kill: no such sample is missing or changed,
the store is sound, the run is listed as interrupted, every test file on the disk is in the store's list. Then the run is resumed
(and killed again), or its test file is removed by `runs clean`. In the end every run is resumed to its end, and has each of its
repetitions once. Prints the figures; ends with status 1 where anything was lost.

  random    at a random moment of a run
  calls     at a system call chosen at random among those that write, link, remove, sync or lock (needs strace)
  two       two runs on one store; one of them is killed, or both
  full      the store's file system is full (needs root, a loop device and mkfs.ext4)

  bench/crash.py target/release/halfpower --kills 1000
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUDY = """
name = "crash"
[trial]
warmup = "0s"
repetitions = { min = REPETITIONS, max = REPETITIONS }
[[sweep]]
name = "requests"
operation = ["read", "write"]
request_size = ["4KiB", "16KiB", "64KiB"]
requests = 40
"""
CELLS = 6
# How often each call comes in a run of the one kind and of the other.
COUNTS = {}
CALLS = ["pwrite64", "write", "fdatasync", "fsync", "linkat", "unlinkat", "unlink", "ftruncate", "flock", "fcntl", "fallocate", "openat", "mmap"]
# Calls are counted thread by thread; most of these are of the one that is at the store and the test files.
STRACE = ["strace", "-f", "-qq", "-o"]
SHARES = {"random": 0.5, "calls": 0.25, "two": 0.15, "full": 0.1}


class Loss(Exception):
    """What must not be."""


class Lab:
    """A directory with a store, a study and places to measure."""

    def __init__(self, halfpower, directory, store=None, repetitions=12, null=False):
        self.halfpower, self.directory, self.repetitions, self.null = halfpower, directory, repetitions, null
        self.store = (store or directory) / "store.db"
        (directory / "study.toml").write_text(STUDY.replace("REPETITIONS", str(repetitions)))
        self.kills = 0
        self.seen = 0
        self.resumed = 0

    def place(self, name="place"):
        place = self.directory / name
        place.mkdir(exist_ok=True)
        return place

    def command(self, *arguments):
        return [str(self.halfpower), *map(str, arguments), "--store", str(self.store)]

    def start(self, arguments, prefix=()):
        return subprocess.Popen([*prefix, *self.command(*arguments)], cwd=self.directory, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments, statuses=(0,)):
        process = subprocess.run(self.command(*arguments), cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True,
                                 text=True, timeout=120)
        if process.returncode not in statuses:
            raise Loss(f"{' '.join(map(str, arguments))} ended with {process.returncode}: {process.stderr}")
        return process

    def query(self, sql):
        """Rows of the store, read behind the program's back; none while there is no store."""
        if not self.store.exists():
            return []
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=20)) as connection:
                return connection.execute(sql).fetchall()
        except sqlite3.OperationalError:
            # No room for SQLite's index of the log, which a process that ended cleanly removes: read a copy.
            with tempfile.TemporaryDirectory(dir=self.directory) as copy:
                for file in self.store.parent.glob(f"{self.store.name}*"):
                    if file.name.endswith((".db", "-wal")):
                        shutil.copy(file, copy)
                with contextlib.closing(sqlite3.connect(Path(copy) / self.store.name)) as connection:
                    return connection.execute(sql).fetchall()

    def samples(self):
        return {row[0]: row[1:] for row in self.query("SELECT id, run_id, cell, block, record FROM samples")}

    def target(self, place):
        return "null:" if self.null else self.place(place)

    def study(self, place):
        size = [] if self.null else ["--size=1MiB"]
        return ["study", "run", "study.toml", "--target", self.target(place), *size, "--no-report"]

    def next_start(self, place):
        """The command that goes on: with the last run in that place, or with a new one."""
        runs = self.query(f"SELECT id, status FROM runs WHERE target = '{self.target(place)}' ORDER BY id DESC LIMIT 1")
        if runs and runs[0][1] != "complete":
            self.resumed += 1
            return ["study", "resume", runs[0][0], "--no-report"]
        return self.study(place)

    def kill(self, processes):
        """Kills, and notes what was reported until then; how many were there to be killed."""
        before = self.samples()
        for process in processes:
            process.kill()
        statuses = [process.wait() for process in processes]
        for process in processes:
            process.stderr.close()
        killed = sum(status == -signal.SIGKILL for status in statuses)
        self.kills += killed
        self.check(before)
        return killed

    def check(self, before, running=()):
        after = self.samples()
        self.seen += len(before)
        for number, row in before.items():
            if after.get(number) != row:
                raise Loss(f"sample {number} of run {row[0]} was reported and is {'changed' if number in after else 'lost'}")
        sound = self.query("PRAGMA integrity_check")
        if sound and sound != [("ok",)]:
            raise Loss(f"the store is damaged: {sound}")
        listed = {os.fsdecode(row[0]) for row in self.query("SELECT path FROM test_files WHERE removed_at IS NULL")}
        for file in self.directory.glob("place*/*"):
            if str(file) not in listed:
                raise Loss(f"{file} is in no list")

    def statuses(self):
        return {run["run"]: run["status"] for run in json.loads(self.run("runs", "--json").stdout)} if self.store.exists() else {}

    def clean(self, *places):
        """Every test file of a killed run is found and removed."""
        if self.store.exists():
            self.run("runs", "clean")
        for place in places or [self.place()]:
            left = [file.name for file in self.place(place).iterdir()]
            if left:
                raise Loss(f"left after `runs clean`: {left}")

    def finish(self):
        """Every run goes on to its end."""
        for run, status in self.statuses().items():
            if status == "running":
                raise Loss(f"run {run} says that it is running")
            if status != "complete":
                self.resumed += 1
                self.run("study", "resume", run, "--no-report")
        for run, count in self.query("SELECT run_id, count(DISTINCT cell * 1000 + block) FROM samples GROUP BY run_id"):
            if count != CELLS * self.repetitions:
                raise Loss(f"run {run} has {count} repetitions of {CELLS * self.repetitions}")
        if any(status != "complete" for status in self.statuses().values()):
            raise Loss(f"not all are complete: {self.statuses()}")
        self.clean()


def killed_at_random(lab, kills, draw):
    while lab.kills < kills:
        process = lab.start(lab.next_start("place"))
        time.sleep(draw.expovariate(1 / 0.15) if draw.random() < 0.5 else draw.uniform(0, 0.8))
        lab.kill([process])
        if draw.random() < 0.2:
            lab.clean()


def killed_at_calls(lab, kills, draw):
    """Each call as often as it comes in a start of the run, counted once."""
    counts = COUNTS.setdefault(lab.null, {})
    for call in [] if counts else CALLS:
        fresh = Lab(lab.halfpower, Path(tempfile.mkdtemp(dir=lab.directory)), repetitions=lab.repetitions, null=lab.null)
        trace = fresh.directory / "trace"
        process = fresh.start(fresh.study("place"), [*STRACE, str(trace), "-e", f"trace={call}"])
        process.communicate()
        lines = [line.split(maxsplit=1) for line in trace.read_text(errors="replace").splitlines()]
        threads = collections.Counter(thread for thread, what in lines if what.startswith(f"{call}("))
        counts[call] = max(threads.values(), default=0)
        shutil.rmtree(fresh.directory)
    calls = [call for call, count in counts.items() if count]
    while lab.kills < kills:
        call = draw.choice(calls)
        # Early mostly: a run that goes on has fewer of them left.
        when = draw.randint(1, draw.choice([min(counts[call], 12), max(1, counts[call] // 8), max(1, counts[call] // 2)]))
        process = lab.start(lab.next_start("place"), [*STRACE, "/dev/null", "-e", f"trace={call}", "-e",
                                                      f"inject={call}:signal=KILL:when={when}"])
        before = {}
        while process.poll() is None:
            before = lab.samples() or before
            time.sleep(0.03)
        process.stderr.close()
        lab.kills += process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        lab.check(before)
        if draw.random() < 0.2:
            lab.clean()


def killed_of_two(lab, kills, draw):
    while lab.kills < kills:
        processes = [lab.start(lab.next_start(place)) for place in ("place", "place-2") if lab.place(place)]
        time.sleep(draw.uniform(0, 0.8))
        if draw.random() < 0.5:
            lab.kill(processes)
        else:
            survivor = processes.pop(draw.randrange(2))
            lab.kill(processes)
            before = lab.samples()
            _, said = survivor.communicate()
            # It may have waited for what the other held, or found its run complete.
            if survivor.returncode != 0:
                raise Loss(f"the other one ended with {survivor.returncode}: {said}")
            lab.check(before)
        if draw.random() < 0.2:
            lab.clean("place", "place-2")
    lab.clean("place", "place-2")


def killed_when_full(lab, kills, draw):
    """A run fails as soon as the room for its samples ends; `runs rm` of an older one makes room for it."""
    ballast = lab.store.parent / "ballast"
    while lab.kills < kills:
        # An older run to remove, then no room but for a few samples.
        old = lab.start(lab.study("place-old"))
        _, said = old.communicate()
        if old.returncode != 0:
            raise Loss(f"the first run ended with {old.returncode}: {said}")
        number = max(lab.statuses())
        free = os.statvfs(lab.store.parent).f_bavail * os.statvfs(lab.store.parent).f_frsize
        ballast.write_bytes(b"x" * max(0, free - draw.randrange(8, 600) * 1024))
        full = False
        for _ in range(3):
            process = lab.start(lab.next_start("place"))
            deadline = time.monotonic() + draw.uniform(0.05, 1.2)
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            if process.poll() is None:
                lab.kill([process])
                continue
            before, said = lab.samples(), process.communicate()[1]
            if process.returncode != 0 and "full" not in said:
                raise Loss(f"without room it ended with {process.returncode}: {said}")
            full |= process.returncode != 0
            lab.check(before)
        with ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 512):
                pass
        # Now there is no room at all.
        lab.run("runs")
        lab.run("runs", "rm", number)
        ballast.unlink()
        for run, status in lab.statuses().items():
            if status != "complete":
                lab.resumed += 1
                lab.run("study", "resume", run, "--no-report")
            lab.run("runs", "rm", run)
        lab.clean()


@contextlib.contextmanager
def small_file_system(directory):
    """An ext4 of 24 MiB; none where it cannot be had. With smaller blocks SQLite, and so this script, may end with SIGBUS."""
    image, mount = directory / "image", directory / "mount"
    with image.open("wb") as file:
        file.truncate(24 << 20)
    mount.mkdir()
    made = subprocess.run(["mkfs.ext4", "-q", "-b", "4096", "-m", "0", image], capture_output=True).returncode == 0
    mounted = made and subprocess.run(["mount", "-o", "loop", image, mount], capture_output=True).returncode == 0
    try:
        yield mount if mounted else None
    finally:
        while mounted and subprocess.run(["umount", mount], capture_output=True).returncode != 0:
            time.sleep(0.1)


SCENARIOS = {"random": killed_at_random, "calls": killed_at_calls, "two": killed_of_two, "full": killed_when_full}


def carry_out(name, kills, arguments):
    draw = random.Random(f"{name} {arguments.seed}")
    began, resumed, done, seen = time.monotonic(), 0, 0, 0
    with tempfile.TemporaryDirectory(dir=arguments.directory) as temporary, contextlib.ExitStack() as stack:
        while done < kills:
            directory = Path(tempfile.mkdtemp(dir=temporary))
            mount = stack.enter_context(small_file_system(directory)) if name == "full" else None
            if name == "full" and mount is None:
                print("skipped: full: no file system can be made and mounted here")
                return 0, 0
            # Traced, a run that looks at the host is slow: most are of no target, the others short.
            null = name == "calls" and draw.random() < 0.75
            lab = Lab(arguments.halfpower.resolve(), directory, mount, 2 if name == "calls" and not null else 12, null)
            lab.place()
            try:
                SCENARIOS[name](lab, min(kills - done, 25), draw)
                lab.finish()
                resumed += lab.resumed
            except Loss as loss:
                print(f"{name}: LOST after {done + lab.kills} kills: {loss}")
                kept = Path(tempfile.mkdtemp(prefix=f"crash-{name}-", dir=arguments.directory))
                for file in lab.store.parent.glob(lab.store.name + "*"):
                    shutil.copy(file, kept)
                print(f"the store is kept in {kept}")
                return done + lab.kills, 1
            done += lab.kills
            seen += lab.seen
            stack.close()
            shutil.rmtree(directory)
    elapsed = time.monotonic() - began
    if not seen or not resumed:
        print(f"{name}: no kill came after a sample was reported: nothing is shown")
        return done, 1
    print(f"{name}: {done} kills, {seen} samples looked at again, runs resumed {resumed} times, all to their end, 0 lost ({elapsed:.0f} s)", flush=True)
    return done, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("halfpower", type=Path, help="the program, built for release")
    parser.add_argument("--kills", type=int, default=1000, help="how many [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="draws moments and calls [default: %(default)s]")
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="only this; may be repeated")
    parser.add_argument("--directory", type=Path, help="where stores and test files are made [default: beside the program]")
    arguments = parser.parse_args()
    arguments.directory = (arguments.directory or arguments.halfpower.resolve().parent).resolve()
    names = arguments.only or list(SHARES)
    whole = sum(SHARES[name] for name in names)
    kills, losses = 0, 0
    for name in names:
        if name == "calls" and not shutil.which("strace"):
            print("skipped: calls: there is no strace")
            continue
        done, lost = carry_out(name, round(arguments.kills * SHARES[name] / whole), arguments)
        kills, losses = kills + done, losses + lost
    print(f"{kills} kills, seed {arguments.seed}: {'FAILED in ' + str(losses) + ' scenarios' if losses else '0 samples lost'}")
    sys.exit(1 if losses or not kills else 0)


if __name__ == "__main__":
    main()
