#!/usr/bin/env python3
"""User-space instructions a request, ours and fio's, counted by callgrind: no clock and no noise.

    cargo build --release && bench/instructions.py            a table, in Markdown
    bench/instructions.py --check                             ours alone, against bench/instructions.toml, ±3 %
    bench/instructions.py --record                            writes that file anew

A request costs (I(2N) − I(N)) / N: what a program does before and after its requests is the same in both runs and falls
out. Only the worker's thread is counted, the one with the most instructions. Another thread watches the clock, and how often
it looks depends on the machine. Callgrind does not see the kernel.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

BENCH = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(BENCH, "instructions.toml")
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(BENCH, "..", "target"))
PROGRAM = os.path.join(os.path.abspath(TARGET), "release", "halfpower")
TOLERANCE = 0.03
REQUESTS = 500_000
FILE_BYTES = 4 << 20

# Personality, our options, fio's; the settings of the comparison in compare.py.
WORKLOADS = [
    ("null", ["--depth", "32", "--submit-batch", "32"],
     ["--ioengine=null", "--iodepth=32", "--iodepth_batch_submit=32", "--iodepth_batch_complete_min=32"]),
    ("sync", ["--buffering", "buffered"], ["--ioengine=psync"]),
]


def ours(personality, options, file, requests):
    target = ["null:", "--size", str(FILE_BYTES)] if personality == "null" else [file]
    return [PROGRAM, "io", *target, "--personality", personality, "--pattern", "random", "--request-size", "4k", *options,
            "--requests", str(requests), "--json", "--no-store"]


def fios(personality, options, file, requests):
    target = [f"--size={FILE_BYTES}"] if personality == "null" else [f"--filename={file}"]
    return ["fio", "--name=instructions", *target, "--rw=randread", "--bs=4k", *options, "--thread", "--norandommap",
            "--randrepeat=1", "--invalidate=0", f"--number_ios={requests}", f"--io_size={requests * 4096}"]


def instructions(command, scratch):
    """Instructions of the only worker: the maximum of all threads."""
    for old in glob.glob(os.path.join(scratch, "count*")):
        os.remove(old)
    output = os.path.join(scratch, "count")
    callgrind = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={output}"]
    done = subprocess.run([*callgrind, *command], capture_output=True, text=True, cwd=scratch)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode} under valgrind: {done.stderr.strip()}")
    threads = []
    for path in glob.glob(f"{output}-*"):
        with open(path, encoding="utf-8") as lines:
            text = lines.read()
        threads.append(int(re.search(r"^(?:totals|summary): (\d+)", text, re.M).group(1)))
    return max(threads)


def per_request(make, workload, file, scratch):
    personality, options = workload
    once, twice = (instructions(make(personality, options, file, count), scratch) for count in (REQUESTS, 2 * REQUESTS))
    return (twice - once) / REQUESTS


def clock():
    """What the program times requests with here; each clock takes its own number of instructions."""
    null = ["io", "null:", "--requests", "1", "--json", "--no-store"]
    output = subprocess.run([PROGRAM, *null], capture_output=True, text=True, check=True).stdout
    return json.loads(output)["environment"]["clock"]["source"]


def record(counts):
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    with open(RECORD, "w", encoding="utf-8") as file:
        file.write("# User-space instructions a request; `just instructions` holds the program to them, ±3 %.\n"
                   "# A change that is meant: bench/instructions.py --record, and say why in the commit.\n\n")
        file.write(f'rustc = "{compiler}"\nclock = "{clock()}"\n')
        file.writelines(f"{personality} = {count:.1f}\n" for personality, count in counts.items())


def read_record():
    with open(RECORD, "rb") as file:
        return tomllib.load(file)


def check(counts):
    """Prints each count beside what was recorded; 1 when one is further off than the tolerance."""
    recorded = read_record()
    outside = False
    for personality, count in counts.items():
        change = count / recorded[personality] - 1
        outside |= abs(change) > TOLERANCE
        print(f"{personality}: {count:.1f} instructions a request, {recorded[personality]} recorded, {change:+.1%}")
    if outside:
        print(f"further off than ±{TOLERANCE:.0%}. If it is meant, or rustc is no longer {recorded['rustc']}: "
              "bench/instructions.py --record", file=sys.stderr)
    return int(outside)


def compare(counts, file, scratch):
    """Prints ours beside fio's."""
    print("| personality | ours, instructions/request | fio | ours/fio |")
    print("|---|---|---|---|")
    for personality, _, options in WORKLOADS:
        count = counts[personality]
        if shutil.which("fio"):
            peer = per_request(fios, (personality, options), file, scratch)
            print(f"| `{personality}` | {count:.1f} | {peer:.1f} | {count / peer:.2f} |")
        else:
            print(f"| `{personality}` | {count:.1f} | skipped: fio is not installed | |")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="hold ours against bench/instructions.toml")
    what.add_argument("--record", action="store_true", help="write bench/instructions.toml")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is needed: apt-get install valgrind")
    if arguments.check and clock() != read_record()["clock"]:
        print(f"skipped: instructions, because bench/instructions.toml is for another clock than {clock()}")
        return 0
    with tempfile.TemporaryDirectory(dir=TARGET) as scratch:
        file = os.path.join(scratch, "file")
        with open(file, "wb") as made:
            made.write(os.urandom(FILE_BYTES))
        counts = {personality: per_request(ours, (personality, options), file, scratch)
                  for personality, options, _ in WORKLOADS}
        if arguments.record:
            record(counts)
            return 0
        return check(counts) if arguments.check else compare(counts, file, scratch)


if __name__ == "__main__":
    sys.exit(main())
