#!/usr/bin/env python3
"""IOPS by --submit-batch: auto beside fixed batches, where requests complete during submission and where a device serves them.

    cargo build --release && bench/batches.py DIRECTORY

io_uring reads 4 KiB at random from a new file of 256 MiB in DIRECTORY: from the page cache, and from the disk with direct
I/O. In each round every batch runs once, the first one changing from round to round. Other load on the machine changes too,
so that each is compared with auto of its own round: a ratio above 1 means that auto is faster.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "target"))
PROGRAM = os.path.join(os.path.abspath(TARGET), "release", "halfpower")
FILE_BYTES = 256 << 20
PLACES = {
    "page cache": ["--buffering", "buffered", "--cache", "warm"],
    "disk": ["--buffering", "direct"],
}


def iops(program, file, arguments, place, batch):
    command = [program, "io", file, "--op", "read", "--pattern", "random", "--request-size", "4KiB",
               "--personality", "io_uring", "--depth", str(arguments.depth), "--duration", arguments.duration,
               *PLACES[place], "--submit-batch", batch, "--json", "--no-store"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["total"]["requests_per_s"]


def measure(place, batches, file, arguments):
    """The IOPS of each batch, round by round."""
    rates = {batch: [] for batch in batches}
    for number in range(arguments.rounds):
        first = number % len(batches)
        for batch in batches[first:] + batches[:first]:
            rates[batch].append(iops(arguments.program, file, arguments, place, batch))
    return rates


def print_table(place, rates):
    print(f"| {place}: batch | IOPS, median | auto/batch, median | least | greatest |\n|---|---|---|---|---|")
    for batch, own in rates.items():
        ratios = [auto / rate for auto, rate in zip(rates["auto"], own)]
        print(f"| {batch} | {statistics.median(own):.0f} | {statistics.median(ratios):.3f} | {min(ratios):.3f} "
              f"| {max(ratios):.3f} |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", help="where the file is made, on the disk to measure")
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--depth", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--duration", default="1s", help="of each run")
    arguments = parser.parse_args()
    batches = ["auto"] + [str(batch) for batch in (1, 4, 8, 16, 32) if batch <= arguments.depth]
    with tempfile.NamedTemporaryFile(dir=arguments.directory) as file:
        for _ in range(FILE_BYTES >> 20):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        for place in PLACES:
            print_table(place, measure(place, batches, file.name, arguments))


if __name__ == "__main__":
    main()
