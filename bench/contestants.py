"""What bench/compare.py compares: the programs, how each is run and read, and the rows of its tables."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections import namedtuple

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# What one run gave; busy is the share of a CPU the program had, cost_us and mean_us are a request's.
Reading = namedtuple("Reading", "rate busy mean_us cost_us sample", defaults=(None, None, None))
# A program with its settings in words, and how to run it.
Contestant = namedtuple("Contestant", "name settings run")
# needed: the least ratio; ours: options of `halfpower io`.
Row = namedtuple("Row", "name needed ours peers")


class Skipped(Exception):
    """A row that cannot be measured here; the message says why."""


def run_timed(command):
    """Runs a command; its output, and the share of a CPU it had from start to end."""
    before, start = os.times(), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    after, elapsed_s = os.times(), time.monotonic() - start
    busy_s = after.children_user + after.children_system - before.children_user - before.children_system
    if done.returncode != 0 and re.search(r"invalid value|unexpected argument|is not one of", done.stderr):
        raise Skipped(f"skipped: {done.stderr.strip().splitlines()[0].removeprefix('error: ')}")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout, busy_s / elapsed_s


class Programs:
    """Where the programs are, and how each is run and read."""

    def __init__(self, arguments, scratch):
        self.arguments = arguments
        self.pinned = ["taskset", "--cpu-list", str(arguments.cpu)]
        self.scratch = scratch
        self.file = arguments.file
        self.bare = None

    def ours(self, target, options):
        def run():
            output, _ = run_timed(
                [*self.pinned, self.arguments.program, "io", target, *options, "--duration", f"{self.arguments.seconds}s",
                 "--json", "--no-store"])
            sample = json.loads(output)
            cpu, total = sample["cpu"], sample["total"]
            busy_s = cpu["lower"]["user_s"] + cpu["lower"]["system_s"]
            return Reading(total["requests_per_s"], busy_s / sample["elapsed_s"], total["latency_ns"]["mean"] / 1e3,
                           cpu["lower_us_per_request"], sample)
        return Contestant("halfpower", " ".join(options), run)

    def fio(self, target, options):
        if not shutil.which(self.arguments.fio):
            return Contestant("fio", "", skip(f"{self.arguments.fio} is not installed"))

        def run():
            output, _ = run_timed(
                [*self.pinned, self.arguments.fio, "--name=compare", *target, *options, "--time_based",
                 f"--runtime={self.arguments.seconds}", "--thread", "--norandommap", "--randrepeat=0", "--invalidate=0",
                 "--output-format=json"])
            job = json.loads(output[output.index("{"):])["jobs"][0]
            read = job["read"]
            busy = (job["usr_cpu"] + job["sys_cpu"]) / 100
            busy_us = busy * job["job_runtime"] * 1e3
            return Reading(read["iops"], busy, read["lat_ns"]["mean"] / 1e3, busy_us / max(read["total_ios"], 1))
        return Contestant("fio", " ".join(options), run)

    def t_io_uring(self, options):
        path = self.arguments.t_io_uring
        if path is None:
            return Contestant("t/io_uring", "", skip("--t-io-uring does not say where t/io_uring is"))

        def run():
            # It prints a line per second; the first is a start, and the last second may have no line.
            output, busy = run_timed([*self.pinned, path, *options, f"-r{self.arguments.seconds + 2}", self.file])
            units = {"": 1, "K": 1e3, "M": 1e6}
            lines = [float(number) * units[unit] for number, unit in re.findall(r"^IOPS=([\d.]+)([KM]?),", output, re.M)]
            return Reading(statistics.median(lines[1:]), busy)
        return Contestant("t/io_uring", " ".join(options), run)

    def bare_pread(self):
        def run():
            if self.bare is None:
                self.bare = os.path.join(self.scratch, "bare_pread")
                source = os.path.join(ROOT, "bench", "bare_pread.rs")
                run_timed(["rustc", "-O", "--edition", "2024", "-o", self.bare, source])
            output, busy = run_timed([*self.pinned, self.bare, self.file, str(self.arguments.seconds)])
            return Reading(float(output), busy)
        return Contestant("bare pread", "bench/bare_pread.rs", run)


def skip(why):
    def run():
        raise Skipped(f"skipped: {why}")
    return run


def cached_rows(programs):
    """The comparisons on the page cache, with what is needed."""
    reads = ["--pattern", "random", "--request-size", "4k", "--buffering", "buffered"]
    batched = ["--depth", "32", "--submit-batch", "32"]
    file = [f"--filename={programs.file}", "--rw=randread", "--bs=4k", "--direct=0"]
    null = ["--size=1g", "--rw=randread", "--bs=4k"]
    depth = ["--iodepth=32"]
    batches = [depth + batch for batch in (
        ["--iodepth_batch_submit=1", "--iodepth_batch_complete_min=1"],
        ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=32"],
        ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=32"])]

    def ours(personality, *options):
        return programs.ours(programs.file, ["--personality", personality, *reads, *options])

    def fios(engine, *settings):
        return [programs.fio(file, [f"--ioengine={engine}", *setting]) for setting in settings]

    uring = ours("io_uring", *batched)
    fixed = ["--fixedbufs", "--registerfiles"]
    lean = ["-d32", "-s32", "-c32", "-B1", "-F1", "-n1", "-O0", "-p0", "-b4096"]
    return [
        Row("`io_uring`, depth 32", 1.3, uring, fios("io_uring", *[fixed + batch for batch in batches])),
        Row("`io_uring`, depth 32", 0.97, uring, [programs.t_io_uring(lean)]),
        Row("`sync`", 1.15, ours("sync"), fios("psync", [])),
        Row("`sync`", 0.97, ours("sync"), [programs.bare_pread()]),
        Row("`libaio`, depth 32", 1.2, ours("libaio", *batched), fios("libaio", *batches)),
        Row("`mmap`", 1.1, ours("mmap"), fios("mmap", [])),
        Row("`null`", 5, programs.ours("null:", ["--size", "1GiB", "--pattern", "random", "--request-size", "4k", *batched]),
            [programs.fio(null, ["--ioengine=null", *setting]) for setting in ([], *batches)]),
    ]


def disk_rows(programs, disk):
    """The comparisons past the page cache, where both should see the same disk."""
    def row(name, pattern, size, depth, personality, engine):
        rw = "randread" if pattern == "random" else "read"
        options = ["--personality", personality, "--pattern", pattern, "--request-size", size, "--depth", str(depth),
                   "--buffering", "direct"]
        peer = [f"--ioengine={engine}", f"--rw={rw}", f"--bs={size}", f"--iodepth={depth}", "--direct=1"]
        return Row(name, None, programs.ours(disk, options), [programs.fio([f"--filename={disk}"], peer)])
    return [
        row("random 4 KiB, QD32, direct", "random", "4k", 32, "io_uring", "io_uring"),
        row("random 4 KiB, QD1, direct", "random", "4k", 1, "io_uring", "io_uring"),
        row("sequential 64 KiB, QD8, direct", "sequential", "64k", 8, "io_uring", "io_uring"),
        row("random 4 KiB, QD1, direct, sync", "random", "4k", 1, "sync", "psync"),
    ]
