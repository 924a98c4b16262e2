#!/usr/bin/env python3
"""Holds `halfpower io` against fio: the same workload on the same file, in turn, compared by the median of the ratios.

    cargo build --release && bench/compare_fio.py FILE [--rounds 5] [--seconds 3]

FILE must exist and hold data; it is only read. Needs Debian's fio. Prints a table in Markdown for docs/journal and
ends with status 1 when a ratio is outside ±5 %.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

PROGRAM = os.path.join(os.path.dirname(__file__), "..", "target", "release", "halfpower")

# Name, pattern, request size, depth, direct, personality, fio's engine.
WORKLOADS = [
    ("random 4 KiB, 32 deep, direct", "random", "4k", 32, 1, "io_uring", "io_uring"),
    ("random 4 KiB, 1 deep, direct", "random", "4k", 1, 1, "io_uring", "io_uring"),
    ("sequential 64 KiB, 8 deep, direct", "sequential", "64k", 8, 1, "io_uring", "io_uring"),
    ("random 4 KiB, 1 deep, direct, sync", "random", "4k", 1, 1, "sync", "psync"),
]


def ours(file, workload, seconds):
    _, pattern, size, depth, direct, personality, _ = workload
    output = subprocess.run(
        [PROGRAM, "io", file, "--op", "read", "--pattern", pattern, "--request-size", size, "--depth", str(depth),
         "--buffering", "direct" if direct else "buffered", "--personality", personality,
         "--duration", f"{seconds}s", "--json", "--no-store"],
        check=True, capture_output=True, text=True).stdout
    sample = json.loads(output)
    return sample["total"]["requests_per_s"], sample["total"]["latency_ns"]["mean"], sample["cpu"]["lower_us_per_request"]


def fios(file, workload, seconds):
    _, pattern, size, depth, direct, _, engine = workload
    rw = "randread" if pattern == "random" else "read"
    output = subprocess.run(
        ["fio", "--name=compare", f"--filename={file}", f"--rw={rw}", f"--bs={size}", f"--iodepth={depth}",
         f"--direct={direct}", f"--ioengine={engine}", f"--runtime={seconds}", "--time_based", "--thread",
         "--norandommap", "--randrepeat=0", "--invalidate=0", "--output-format=json"],
        check=True, capture_output=True, text=True).stdout
    job = json.loads(output[output.index("{"):])["jobs"][0]
    read = job["read"]
    busy_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    return read["iops"], read["lat_ns"]["mean"], busy_s * 1e6 / max(read["total_ios"], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    arguments = parser.parse_args()
    fio_version = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{version} against {fio_version}, Linux {platform.release()}, {os.cpu_count()} processors, "
          f"{arguments.rounds} rounds of {arguments.seconds} s in turn; medians")
    print()
    print("| read | ours/s | fio/s | ratio | all ratios | ours mean µs | fio mean µs | ours CPU µs | fio CPU µs |")
    print("|---|---|---|---|---|---|---|---|---|")
    outside = False
    for workload in WORKLOADS:
        pairs = []
        for round_number in range(arguments.rounds):
            # Who goes first changes from round to round, so that drift favours neither.
            order = [ours, fios] if round_number % 2 == 0 else [fios, ours]
            results = {run: run(arguments.file, workload, arguments.seconds) for run in order}
            pairs.append((results[ours], results[fios]))
        # Ratio of the medians; the single ratios beside it show how noisy the machine was.
        rates = [statistics.median(pair[side][0] for pair in pairs) for side in (0, 1)]
        latencies = [statistics.median(pair[side][1] / 1e3 for pair in pairs) for side in (0, 1)]
        costs = [statistics.median(pair[side][2] for pair in pairs) for side in (0, 1)]
        ratio = rates[0] / rates[1]
        single = " ".join(f"{pair[0][0] / pair[1][0]:.2f}" for pair in pairs)
        outside |= abs(ratio - 1) > 0.05
        print(f"| {workload[0]} | {rates[0]:.0f} | {rates[1]:.0f} | {ratio:.3f} | {single} "
              f"| {latencies[0]:.1f} | {latencies[1]:.1f} | {costs[0]:.2f} | {costs[1]:.2f} |", flush=True)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
