#!/usr/bin/env python3
"""Identical runs, and runs with a known change: how often `compare` and `ab` name a change.

    bench/between_runs.py [--binary target/release/halfpower] [--directory .] identical [--runs 101] [--busy]
    bench/between_runs.py [--binary …] [--directory .] changed [--times 10] [--change 5] [--change 10] [--change 20]

`identical` makes so many runs of three workloads (cached reads, direct reads, fsynced writes) in the directory and compares
each with the next one, once with all earlier runs in the store and once in a store of the two alone. It prints the
variation between the runs: standard deviation of the logarithms of the run means, in percent, without the part that the
repetitions within a run explain. The floors in crates/analysis/src/comparison/between.rs are from its tables
(docs/decisions/comparison.md). `--busy` burns both a CPU and the disk in bursts meanwhile.

`changed` throttles the program by a control group (blkio, version 1; root), and lowers the limit by so many percent. `ab`
sets the limits with its hooks; `compare` gets five runs a side, alternating. It prints how often each names the change, and
how often it names one where the limit stays.

Ends with status 1 where more than 5 % of identical pairs differ, or fewer than 80 % of the changes of 10 % are found.
"""

import argparse
import contextlib
import json
import math
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from ground_truth import data_file, loop_device, throttle, write

STUDY = """
name = "between-runs"
[target]
size = "{size}"
[trial]
warmup = "20ms"
duration = "100ms"
repetitions = 5
write_budget = "8GiB"
[[sweep]]
name = "cached"
pattern = "random"
request_size = "16KiB"
buffering = "buffered"
cache = "warm"
[[sweep]]
name = "direct"
pattern = "random"
request_size = "4KiB"
depth = 8
buffering = "direct"
[[sweep]]
name = "flushed"
operation = "write"
pattern = "random"
request_size = "4KiB"
buffering = "buffered"
durability = "fsync=1"
"""

READS = """
name = "changed"
[trial]
warmup = "100ms"
duration = "300ms"
limited_duration = "1s"  # as `ab` has it
repetitions = {repetitions}
[[sweep]]
name = "reads"
request_size = "64KiB"
depth = 4
buffering = "direct"
"""

FIGURES = {
    "throughput": lambda sample: sample["total"]["bytes_per_s"],
    "p99 latency": lambda sample: sample["total"]["latency_ns"]["p99"],
    "CPU time": lambda sample: sum(sample["cpu"]["lower"][part] for part in ("user_s", "system_s"))
    / sample["total"]["requests"],
}


class Lab:
    def __init__(self, arguments, scratch):
        self.binary, self.directory = os.path.abspath(arguments.binary), scratch

    def run(self, store, *options, statuses=(0,), enter=None):
        """The document that a command prints, and its status."""
        command = [self.binary, *options, "--store", os.path.join(self.directory, store)]
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=enter)
        if done.returncode not in statuses:
            sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
        return done.stdout, done.returncode

    def study(self, text):
        path = os.path.join(self.directory, "study.toml")
        write(path, text)
        return path

    def forget(self, store):
        for name in os.listdir(self.directory):
            if name.startswith(store):
                os.remove(os.path.join(self.directory, name))


def compared(lab, store, before, after):
    """The changes that a comparison names, and its first line."""
    document = json.loads(lab.run(store, "compare", before, after, "--json", statuses=(0, 3, 4))[0])
    names = [
        f"{cell['workload']['buffering']} {cell['workload']['operation']} {change['figure']} {change['ratio']['value']:.3f}"
        for cell in document["cells"]
        for change in cell["changes"]
        if change["standing"] in ("better", "worse")
    ]
    return names, document


def work(directory):
    """What a build does: computes for a while, writes some files, rests."""
    draw = random.Random()
    while True:
        end = time.monotonic() + draw.uniform(0.2, 4)
        while time.monotonic() < end:
            sum(range(10_000))
        with tempfile.NamedTemporaryFile(dir=directory) as file:
            for _ in range(draw.randrange(1, 32)):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
        time.sleep(draw.uniform(0, 2))


@contextlib.contextmanager
def others(directory, are_there):
    workers = [multiprocessing.Process(target=work, args=(directory,), daemon=True) for _ in range(2 * are_there)]
    try:
        for worker in workers:
            worker.start()
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def variation(runs):
    """Between runs, without what the scatter within explains; in percent."""
    logs = [math.log(statistics.fmean(run)) for run in runs]
    within = statistics.fmean(statistics.variance(run) / statistics.fmean(run) ** 2 / len(run) for run in runs)
    pairs = [abs(one - other) for one, other in zip(logs, logs[1:])]
    of_neighbours = statistics.fmean(pair**2 / 2 for pair in pairs)
    between = [max(0, total - within) for total in (statistics.variance(logs), of_neighbours)]
    return [100 * math.sqrt(part) for part in (*between, within)] + [100 * (math.exp(sorted(pairs)[-1 - len(pairs) // 20]) - 1)]


def identical(lab, arguments):
    study = lab.study(STUDY.format(size=arguments.size))
    with others(lab.directory, arguments.busy):
        for _ in range(arguments.runs):
            lab.run("all", "study", "run", study, "--target", lab.directory, "--no-report")
    named = {"with the earlier runs": [], "alone": []}
    samples = []
    for run in range(1, arguments.runs + 1):
        text, _ = lab.run("all", "export", str(run), "--format", "jsonl")
        samples.append([json.loads(line) for line in text.splitlines()])
        write(os.path.join(lab.directory, f"{run}.jsonl"), text)
    for run in range(1, arguments.runs):
        named["with the earlier runs"].append(compared(lab, "all", str(run), str(run + 1))[0])
        for one in (run, run + 1):
            lab.run("pair", "import", os.path.join(lab.directory, f"{one}.jsonl"))
        named["alone"].append(compared(lab, "pair", "1", "2")[0])
        lab.forget("pair")
    print("between runs, %: workload, figure, all runs, neighbours, within a run, 95 % of neighbours differ by less than")
    for cell, name in enumerate(("cached reads", "direct reads", "fsynced writes")):
        for figure, of in FIGURES.items():
            runs = [[of(sample) for sample in run if is_of(sample, cell)] for run in samples]
            if not all(map(all, runs)):
                continue
            print(f"  {name:<15} {figure:<12}" + "".join(f" {part:7.2f}" for part in variation(runs)))
    bad = False
    for how, changes in named.items():
        count = sum(map(bool, changes))
        bad |= count > 0.05 * len(changes)
        print(f"{how}: {count} of {len(changes)} pairs of identical runs with a change named")
        for change in filter(None, changes):
            print(f"    {'; '.join(change)}")
    return bad


LIMIT = 40_000_000


def changed(lab, arguments):
    """Counts how often each names a change: of a lower limit, and of the same limit."""
    changes = [0, *(arguments.change or [5, 10, 20])]
    found = {change: {"ab": 0, "compare of five runs a side": 0} for change in changes}
    with loop_device(data_file(lab, "image", 64 << 20)) as device, throttle(device, "read_bps", LIMIT) as group:
        number = os.stat(device).st_rdev
        file = os.path.join(group, "blkio.throttle.read_bps_device")
        line = lambda change: f"{os.major(number)}:{os.minor(number)} {LIMIT * (100 - change) // 100}"
        enter = lambda: write(os.path.join(group, "cgroup.procs"), "0")
        for change in changes * arguments.times:
            hooks = [f"--before-{arm}=echo {line(of)} > {file} # {arm}" for arm, of in (("a", 0), ("b", change))]
            study = lab.study(READS.format(repetitions=10))
            _, status = lab.run("changed", "ab", device, *hooks, "--study", study, statuses=(0, 3, 4), enter=enter)
            found[change]["ab"] += status == 3
            study = lab.study(READS.format(repetitions=2))
            for of in [0, change] * 5:
                write(file, line(of))
                lab.run("runs", "study", "run", study, "--target", device, "--no-report", enter=enter)
            sides = ["1,3,5,7,9", "2,4,6,8,10"]
            names, _ = compared(lab, "runs", *sides)
            found[change]["compare of five runs a side"] += any("throughput 0" in name for name in names)
            for store in ("changed", "runs"):
                lab.forget(store)
    for change, by in found.items():
        for how, count in by.items():
            what = f"{change} % slower" if change else "no change"
            print(f"{what}: {how} names it {count} of {arguments.times} times")
    return any(count < 0.8 * arguments.times for count in found.get(10, {}).values())


def is_of(sample, cell):
    workload = sample["workload"]
    return cell == (2 if workload["operation"] == "write" else 1 if workload["buffering"] == "direct" else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--directory", default=".")
    commands = parser.add_subparsers(required=True)
    same = commands.add_parser("identical")
    same.add_argument("--runs", type=int, default=101)
    same.add_argument("--size", default="128MiB")
    same.add_argument("--busy", action="store_true")
    same.add_argument("--keep", action="store_true", help="keep the store")
    same.set_defaults(command=identical)
    limit = commands.add_parser("changed")
    limit.add_argument("--times", type=int, default=10)
    limit.add_argument("--change", type=int, action="append", metavar="PERCENT")
    limit.set_defaults(command=changed, keep=False)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory, prefix="between-runs-") as scratch:
        bad = arguments.command(Lab(arguments, scratch), arguments)
        if arguments.keep:
            os.rename(os.path.join(scratch, "all"), os.path.join(arguments.directory, f"between-{int(time.time())}.db"))
    sys.exit(bad)


if __name__ == "__main__":
    main()
