#!/usr/bin/env python3
"""Holds `halfpower io` against its peers: fio, fio's lean loop t/io_uring, and a bare pread loop.

    cargo build --release && bench/compare.py --t-io-uring PATH --output TABLES.md

One worker on one CPU reads a file of 1 GiB that is in the page cache, 4 KiB at random. Ours and the peer run by
turns, the first of a pair changing from pair to pair, at least --rounds pairs and until the 95 % interval of the median
ratio is within ±5 %, or --most-rounds. The interval is that of the sign test: the pairs need not be normal, and a single
bad one moves nothing. A pair in which either program had to share its CPU is left out, unless most are like that.
Where a peer can be set up in several ways, each has three runs and the fastest goes in.

It builds nobody else's code: a peer that is not there is a row that says so. Ends with status 1 when a row misses what is
needed.
"""

import argparse
import hashlib
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

from contestants import ROOT, Programs, Skipped, cached_rows, disk_rows

TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
FILE_BYTES = 1 << 30
# Pairs in which a program had less of its CPU than this are left out.
QUIET_SHARE = 0.97
TRIAL_RUNS = 3

Result = namedtuple("Result", "ratio low high pairs left_out disturbed")


def read_whole(path):
    """Brings a file into the page cache."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass


def make_file(path):
    """Writes a file of incompressible bytes, on the medium before anything is measured."""
    with open(path, "wb") as file:
        for _ in range(FILE_BYTES >> 22):
            file.write(os.urandom(1 << 22))
        file.flush()
        os.fsync(file.fileno())


def median_interval(values):
    """The median and the narrowest interval of order statistics that holds it with 95 %; without end below 6 values."""
    values, count = sorted(values), len(values)
    outside = None
    for rank in range(count // 2):
        if 2 * sum(math.comb(count, below) for below in range(rank + 1)) / 2**count > 0.05:
            break
        outside = rank
    median = statistics.median(values)
    return (median, values[outside], values[-1 - outside]) if outside is not None else (median, 0.0, math.inf)


def is_narrow(median, low, high):
    return low >= 0.95 * median and high <= 1.05 * median


def is_quiet(pair):
    """Whether both had their CPU to themselves."""
    return all(reading.busy >= QUIET_SHARE for reading in pair)


def duel(ours, peer, warm, arguments, fills_cpu):
    """Runs two contestants interleaved until the ratio is known; the pairs kept and the Result."""
    pairs = []
    while len(pairs) < arguments.most_rounds:
        first_is_ours = len(pairs) % 2 == 0
        pair = {}
        for contestant in (ours, peer) if first_is_ours else (peer, ours):
            warm()
            pair[contestant.name] = contestant.run()
        pairs.append((pair[ours.name], pair[peer.name]))
        quiet = [pair for pair in pairs if not fills_cpu or is_quiet(pair)]
        # An even number, so that neither went first more often.
        if len(pairs) % 2 == 0 and len(quiet) >= arguments.rounds and is_narrow(*ratio_interval(quiet)):
            break
    kept = quiet if len(quiet) >= arguments.rounds else pairs
    return kept, Result(*ratio_interval(kept), len(kept), len(pairs) - len(kept), 0 if kept is quiet else len(pairs) - len(quiet))


def ratio_interval(pairs):
    return median_interval([mine.rate / other.rate for mine, other in pairs])


def fastest(peers, warm):
    """The fastest way to run a peer, and what each way gave."""
    if len(peers) == 1:
        return peers[0], []
    rates = {}
    for _ in range(TRIAL_RUNS):
        for peer in peers:
            warm()
            rates.setdefault(peer, []).append(peer.run().rate)
    medians = {peer: statistics.median(runs) for peer, runs in rates.items()}
    return max(medians, key=medians.get), [f"{peer.settings}: {thousands(rate)}" for peer, rate in medians.items()]


def thousands(number):
    return f"{number:,.0f}".replace(",", " ")


def judge(low, middle, high, needed):
    """Whether something that should be at least `needed` is."""
    sure = "" if low >= needed or high < needed else ", undecided"
    return ("met" if middle >= needed else "missed") + sure


def interval_text(result):
    narrow = "" if is_narrow(*result[:3]) else ", wider than ±5 %"
    left_out = f", {result.left_out} left out" if result.left_out else ""
    disturbed = f", {result.disturbed} of them disturbed" if result.disturbed else ""
    return f"{result.low:.3f} to {result.high:.3f} ({result.pairs} pairs{left_out}{disturbed}{narrow})"


class Report:
    """The lines printed, kept for --output; whether anything was missed."""

    def __init__(self):
        self.lines = []
        self.notes = []
        self.missed = False

    def add(self, line):
        self.lines.append(line)
        print(line, flush=True)


def compare_cached(report, programs, arguments):
    report.add("| personality | peer | ours/s | peer/s | ratio | 95 % interval | needed | verdict |")
    report.add("|---|---|---|---|---|---|---|---|")

    def warm():
        read_whole(programs.file)

    for row in cached_rows(programs):
        if arguments.only and arguments.only not in row.name:
            continue
        needed = f"{row.needed} ×"
        try:
            # Not counted: what the program does not know it says before the peer's trials, not after.
            row.ours.run()
            peer, ways = fastest(row.peers, warm)
            pairs, result = duel(row.ours, peer, warm, arguments, True)
        except Skipped as why:
            report.add(f"| {row.name} | {row.peers[0].name} | | | | | {needed} | {why} |")
            continue
        rates = [statistics.median(pair[side].rate for pair in pairs) for side in (0, 1)]
        verdict = judge(result.low, result.ratio, result.high, row.needed)
        report.missed |= not verdict.startswith("met")
        report.add(f"| {row.name} | {peer.name} | {thousands(rates[0])} | {thousands(rates[1])} | {result.ratio:.3f} "
                   f"| {interval_text(result)} | {needed} | {verdict} |")
        report.notes.append(f"- {row.name}: ours `{row.ours.settings}`; {peer.name} `{peer.settings}`.")
        if ways:
            report.notes.append(f"  The fastest of {'; '.join(f'`{way}`' for way in ways)} (requests/s).")
        if row.needed == 5:
            null_rate(report, [pair[0].rate for pair in pairs])
    if not arguments.only or arguments.only in "open loop":
        open_loop(report, programs, arguments, warm)


def null_rate(report, rates):
    """What `null` needs beside its ratio: 20 million/s."""
    median, low, high = median_interval(rates)
    verdict = judge(low, median, high, 20e6)
    report.missed |= not verdict.startswith("met")
    report.add(f"| `null` | none | {thousands(median)} | | | {thousands(low)} to {thousands(high)} /s | 20 000 000/s "
               f"| {verdict} |")


def open_loop(report, programs, arguments, warm):
    """Ours alone: how late requests start that arrive 50 000 times per second, and whether all were carried out."""
    ours = programs.ours(programs.file, ["--personality", "sync", "--pattern", "random", "--request-size", "4k",
                                         "--buffering", "buffered", "--rate", "50000/s", "--arrivals", "poisson"])
    needed = "mean lateness under 5 µs, none lost"
    try:
        readings = []
        for _ in range(arguments.rounds):
            warm()
            readings.append(ours.run())
        loops = [reading.sample["open_loop"] for reading in readings]
        median, low, high = median_interval([loop["lateness_ns"]["mean"] / 1e3 for loop in loops])
        lost = sum(loop["backlog_at_end"] for loop in loops)
    except Skipped as why:
        report.add(f"| `sync`, open loop, 50 000/s | none | | | | | {needed} | {why} |")
        return
    verdict = judge(-high, -median, -low, -5)
    if lost:
        verdict = f"missed: {lost} lost"
    report.missed |= not verdict.startswith("met")
    rate = statistics.median(reading.rate for reading in readings)
    report.add(f"| `sync`, open loop, 50 000/s | none | {thousands(rate)} | | | lateness {median:.2f} µs "
               f"({low:.2f} to {high:.2f}), {lost} lost | {needed} | {verdict} |")
    report.notes.append(f"- open loop: ours `{ours.settings}`.")


def compare_disk(report, programs, arguments):
    """Agreement on a disk: beside the rates, what each said of latency and CPU time."""
    report.add("")
    report.add("| read, from the disk | ours/s | fio/s | ratio | 95 % interval "
               "| ours mean µs | fio mean µs | ours CPU µs | fio CPU µs |")
    report.add("|---|---|---|---|---|---|---|---|---|")
    for row in disk_rows(programs, arguments.disk):
        if arguments.only and arguments.only not in row.name:
            continue
        try:
            pairs, result = duel(row.ours, row.peers[0], lambda: None, arguments, False)
        except Skipped as why:
            report.add(f"| {row.name} | | | | {why} | | | | |")
            continue
        figures = {name: [statistics.median(getattr(pair[side], name) for pair in pairs) for side in (0, 1)]
                   for name in ("rate", "mean_us", "cost_us")}
        rates, latencies, costs = figures["rate"], figures["mean_us"], figures["cost_us"]
        report.add(f"| {row.name} | {thousands(rates[0])} | {thousands(rates[1])} | {result.ratio:.3f} "
                   f"| {interval_text(result)} | {latencies[0]:.1f} | {latencies[1]:.1f} | {costs[0]:.2f} | {costs[1]:.2f} |")


def first_line(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0].strip()


def machine(arguments, file):
    """The machine, the programs and how it was done."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "cpu unknown")
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    programs = [first_line([arguments.program, "--version"])]
    if shutil.which(arguments.fio):
        programs.append(first_line([arguments.fio, "--version"]))
    if arguments.t_io_uring:
        # It has no version to ask for.
        with open(arguments.t_io_uring, "rb") as binary:
            programs.append(f"t/io_uring (sha256 {hashlib.sha256(binary.read()).hexdigest()[:12]})")
    filesystem = first_line(["findmnt", "--noheadings", "--output", "FSTYPE", "--target", file])
    kernel = platform.release().split("-")[0]
    return (f"{', '.join(programs)}. {os.cpu_count()} × {model}, {memory_gib:.0f} GiB, Linux {kernel}; the file is on "
            f"{filesystem}. Runs of {arguments.seconds} s, interleaved, on CPU {arguments.cpu}; medians. "
            f"Load average at the start {os.getloadavg()[0]:.2f}.")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=os.path.join(TARGET, "release", "halfpower"), help="ours")
    parser.add_argument("--fio", default="fio", help="default: the one in PATH")
    parser.add_argument("--t-io-uring", metavar="PATH", help="fio's t/io_uring; without it its row is skipped")
    parser.add_argument("--file", help="only read; by default 1 GiB is made beside the build and removed")
    parser.add_argument("--disk", metavar="FILE", help="compare direct reads of this file as well; only read")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU all are pinned to")
    parser.add_argument("--rounds", type=int, default=7, help="pairs at least")
    parser.add_argument("--most-rounds", type=int, default=40, help="pairs at most")
    parser.add_argument("--seconds", type=int, default=1, help="of each run")
    parser.add_argument("--only", metavar="TEXT", help="only rows whose name holds this")
    parser.add_argument("--output", metavar="FILE", help="write the tables there as well")
    arguments = parser.parse_args()
    if arguments.most_rounds < arguments.rounds or arguments.rounds < 6:
        parser.error("--rounds is at least 6, and --most-rounds not less; fewer pairs carry no 95 % interval")
    return arguments


def main():
    arguments = parse()
    report = Report()
    with tempfile.TemporaryDirectory(dir=TARGET) as scratch:
        programs = Programs(arguments, scratch)
        if programs.file is None:
            programs.file = os.path.join(scratch, "file")
            make_file(programs.file)
        report.add(machine(arguments, programs.file))
        report.add("")
        compare_cached(report, programs, arguments)
        if arguments.disk:
            compare_disk(report, programs, arguments)
        report.add("")
        for note in report.notes:
            report.add(note)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as output:
            output.write(f"# {time.strftime('%Y-%m-%d')}: speed against the peers\n\nWritten by `bench/compare.py`.\n\n")
            output.write("\n".join(report.lines) + "\n")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
