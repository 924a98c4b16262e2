#!/usr/bin/env python3
"""Coverage: how often the 95 % intervals of a survey's peaks hold the truth, over simulated machines with noise.

    bench/coverage.py [--binary target/release/halfpower] [--machines 200] [--seed N] [--show]

Draws machines: flash, disks and cloud volumes whose rates and latencies differ by up to a half. The truth of a peak is the
mean rate of its workload over a long time, with other seeds; an interval is at least the 0.1 % that are printed. Ends with status 1 where fewer than 93 % or more than 97 % of the
intervals hold it.
"""

import argparse
import collections
import json
import math
import os
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Volume, and keys with their values; seconds that show its rates.
KINDS = {
    "nvme-gen4:filled": ({"flash.p5500.read": (71, "us"), "flash.p5500.program": (975, "us"), "flash.p5500.read-delay": (6.2, "us"),
                          "bus.pcie.rate": (7.05, "GB/s")}, 1),
    "sata-ssd:filled": ({"flash.s4500.read": (59, "us"), "flash.s4500.program": (1020, "us"), "bus.sata.read-rate": (525, "MB/s")}, 4),
    "hdd-18tb:disk": ({"drive.exos-x18.rpm": (7200, ""), "drive.exos-x18.read-miss": (100, "us")}, 60),
    "cloud-gp3:baseline": ({"cloud.gp3.limits.requests": (3000, ""), "cloud.gp3.limits.rate": (131, "MB/s"),
                            "cloud.gp3.read-latency": (700, "us")}, 60),
}
RUNS = 4


def machines(count, draw):
    for number in range(count):
        name, (keys, seconds) = list(KINDS.items())[number % len(KINDS)]
        scaled = lambda value: value * draw.uniform(0.67, 1.5)
        values = [f"{key}={scaled(value):.{0 if unit == '' else 3}f}{unit}" for key, (value, unit) in keys.items()]
        yield ",".join([f"sim:{name}", *values]), draw.randrange(1 << 31), seconds


def output(binary, *words):
    done = subprocess.run([binary, *words, "--json", "--no-store"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def truth(binary, target, workload, seconds, seed):
    """Mean and standard error of the requests per second."""
    operation = workload["operation"]
    words = ["io", target, "--op", operation, "--pattern", workload["pattern"], "--request-size", f"{workload['request_size']}B",
             "--depth", str(workload["depth"]), "--buffering", workload["buffering"], "--durability", workload["durability"],
             "--duration", f"{seconds}s", "--warmup", "20ms"]
    rates = [output(binary, *words, "--seed", str(seed + run))["total"]["requests_per_s"] for run in range(1, RUNS + 1)]
    return statistics.mean(rates), statistics.stdev(rates) / math.sqrt(RUNS)


def peaks(binary, machine):
    """Of each peak of storage: its workload, its interval, and the truth."""
    target, seed, seconds = machine
    run = output(binary, "run", "--quick", target, "--seed", str(seed), "--no-report")
    cells = {tuple(cell["samples"]): cell for cell in run["analysis"]["cells"]}
    found = []
    for finding in run["analysis"]["findings"]:
        if finding["code"] == "peak" and finding["reach"] == "storage":
            cell = cells[tuple(finding["samples"])]
            # Where a disk reads or writes in order depends on the seed, and so does the rate of its zone.
            is_placed = "hdd" in target and cell["workload"]["pattern"] == "sequential"
            if cell["workload"]["buffering"] == "direct" and cell["requests_per_s"]["high"] and not is_placed:
                found.append((target, finding, cell["requests_per_s"], truth(binary, target, cell["workload"], seconds, seed)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--machines", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print each interval that misses")
    arguments = parser.parse_args()
    binary, draw = os.path.abspath(arguments.binary), random.Random(arguments.seed)
    held, all_peaks = collections.Counter(), collections.Counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda machine: peaks(binary, machine), list(machines(arguments.machines, draw))):
            for target, finding, interval, (rate, error) in found:
                kind = f"{target.split(',')[0]}, {finding['subject']}"
                printed = max(interval["high"] / interval["value"] - 1, 0.001)
                holds = abs(rate / interval["value"] - 1) <= printed
                held[kind] += holds
                all_peaks[kind] += 1
                if arguments.show and not holds:
                    print(f"{target}: {finding['sentence']} The truth is {rate / interval['value'] - 1:+.2%} off, ± {error / rate:.2%}", flush=True)
    for kind, count in sorted(all_peaks.items()):
        print(f"{kind}: {held[kind]} of {count}")
    share = held.total() / all_peaks.total()
    print(f"all: {held.total()} of {all_peaks.total()}, {share:.1%}")
    sys.exit(0 if 0.93 <= share <= 0.97 else 1)


if __name__ == "__main__":
    main()
