#!/usr/bin/env python3
"""How many requests per second of CPU time the simulator serves, and whether its memory grows with them.

    bench/simulator.py [target/release/halfpower] [--requests 2000000]

One Atlas 10K: random reads of 8 KiB 1, 8 and QD32, the last also with SPTF, random writes, streams of reads and writes of
64 KiB; and one flash drive: random reads and writes of 4 KiB QD32. Of each the CPU time of the whole program less that
of a run of one request, so that other work on the machine does not count; and the most memory of a run of this many requests and of a fifth of them. Ends with
status 1 where a rate is below what was promised, or where memory grew by more than 1 MiB.
"""

import argparse
import pathlib
import resource
import subprocess
import sys

BINARY = pathlib.Path(__file__).resolve().parent.parent / "target" / "release" / "halfpower"
TARGET = "sim:win2k-pentium3:atlas-1"
FLASH = "sim:nvme-gen4:steady"
SPTF = "--set=drive.atlas-10k.scheduler=sptf"
RANDOM = ["--pattern=random", "--request-size=8KiB"]
STREAM = ["--pattern=sequential", "--request-size=64KiB", "--depth=2"]
# What, options, promised requests per second.
CASES = [
    ("random reads, QD1", [*RANDOM, "--depth=1"], None),
    ("random reads, QD8", [*RANDOM, "--depth=8"], 1_000_000),
    ("random reads, QD32", [*RANDOM, "--depth=32"], None),
    ("random reads, QD32, SPTF", [*RANDOM, "--depth=32", SPTF], 300_000),
    ("random writes, QD8", [*RANDOM, "--depth=8", "--op=write"], None),
    ("sequential reads, QD2", STREAM, 2_000_000),
    ("sequential writes, QD2", [*STREAM, "--op=write"], None),
]
SMALL = ["--pattern=random", "--request-size=4KiB", "--depth=32", "--buffering=direct"]
FLASH_CASES = [
    ("flash, random reads, QD32", SMALL, 1_000_000),
    ("flash, random writes, QD32", [*SMALL, "--op=write"], None),
]


def run(binary, target, options, requests):
    """CPU seconds and KiB of memory at the most."""
    command = [binary, "io", target, *options, f"--requests={requests}", "--no-store", "--json", "--interval=1000s"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured = subprocess.run(["/usr/bin/time", "-f", "%M", *command], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if measured.returncode != 0:
        sys.exit(measured.stderr)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, int(measured.stderr.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", default=BINARY)
    parser.add_argument("--requests", type=int, default=2_000_000)
    arguments = parser.parse_args()
    failed = False
    cases = [(TARGET, *case) for case in CASES] + [(FLASH, *case) for case in FLASH_CASES]
    for target, what, options, promised in cases:
        idle, _ = run(arguments.binary, target, options, 1)
        _, few = run(arguments.binary, target, options, arguments.requests // 5)
        used, most = run(arguments.binary, target, options, arguments.requests)
        rate = arguments.requests / (used - idle)
        is_short = promised is not None and rate < promised
        failed |= is_short or most > few + 1024
        said = f"{promised:>9,}" if promised else "        -"
        print(f"{what:30} {rate:>10,.0f}/s  promised {said}  memory {few} to {most} KiB{'  SHORT' if is_short else ''}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
