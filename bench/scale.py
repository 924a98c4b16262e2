#!/usr/bin/env python3
"""Measures how Halfpower keeps up with many samples: a report of one run of 100 000, a comparison of two of 1 000 workloads,
a list of 100 000 runs, a sample of 1 000 processes; and the pages of `serve` over 100 000 samples, if the program has it.

A sample is measured here, of a file in the build directory; the runs are made of it, with rates drawn from a seed, and
written into a store of their own. Prints the wall time, the CPU time and the largest resident memory of each command, best of
--rounds, and fails where a bound of the project is missed. Quiet the machine first; nothing else is measured.

  bench/scale.py target/release/halfpower
"""

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SIZES = [4096 << exponent for exponent in range(10)]
DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128, 192, 256]
KINDS = [(operation, pattern) for operation in ("read", "write") for pattern in ("sequential", "random")]
SURVEY = 200  # samples
KINDS_TOO = [*((*kind, "direct") for kind in KINDS), *((*kind, "buffered") for kind in KINDS)]


def workloads(count):
    """Distinct workloads, as a study of every size, depth and way has them; beyond those, with more workers."""
    grid = [(kind, size, depth, workers) for workers in range(1, 9) for kind in KINDS_TOO for size in SIZES for depth in DEPTHS]
    return grid[:: max(1, len(grid) // count)][:count]


def measured(halfpower, directory):
    """A record that this program made, with a histogram as real ones have."""
    target = directory / "target"
    target.write_bytes(os.urandom(16 << 20))
    store = directory / "first.db"
    command = [halfpower, "io", target, "--op=read", "--pattern=random", "--request-size=4KiB", "--depth=4",
               "--buffering=direct", "--duration=250ms", "--store", store]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return store


def base_of(store):
    with sqlite3.connect(store) as connection:
        return connection.execute("SELECT record FROM samples").fetchone()[0]


def fill(store, base, cells, repetitions, seed, factor=1.0):
    """Makes a run of `store` out of the first one's sample."""
    draw = random.Random(seed)
    with sqlite3.connect(store) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)") if row[1] != "id"]
        names = ", ".join(columns)
        run = connection.execute(f"INSERT INTO runs ({names}) SELECT {names} FROM runs WHERE id = 1").lastrowid
        rows = []
        for repetition in range(repetitions):
            for cell, (kind, size, depth, workers) in enumerate(workloads(cells)):
                record = json.loads(base)
                (operation, pattern, buffering) = kind
                record["workload"].update(operation=operation, pattern=pattern, buffering=buffering, request_size=size,
                                          depth=depth, workers=workers, seed=draw.randrange(1 << 32))
                rate = factor * depth / (80e-6 + size / 2e9 * depth) * draw.gauss(1, 0.02)
                totals = record["total"]
                totals.update(requests_per_s=rate, bytes_per_s=rate * size, requests=int(rate / 4), bytes=int(rate / 4) * size)
                record["read"], record["write"] = (totals, None) if operation == "read" else (None, totals)
                histograms = record["latency_histogram"]
                if operation == "write":
                    histograms["read"], histograms["write"] = None, histograms["read"]
                record["cpu"]["lower"] = {"user_s": 1e-6 * rate / 4, "system_s": 3e-6 * rate / 4 * draw.gauss(1, 0.02)}
                rows.append((run, cell, repetition, record["started_at"], json.dumps(record, separators=(",", ":"))))
            connection.executemany("INSERT INTO samples (run_id, cell, block, started_at, record) VALUES (?, ?, ?, ?, ?)", rows)
            rows.clear()
    return run


def many_runs(store, count):
    """Copies the first run, with a sample each that nobody reads."""
    with sqlite3.connect(store) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)") if row[1] != "id"]
        names = ", ".join(columns)
        numbers = f"WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {count})"
        connection.execute(f"{numbers} INSERT INTO runs ({names}) SELECT {names} FROM runs, number WHERE id = 1")
        connection.execute("INSERT INTO samples (run_id, cell, block, started_at, record) SELECT id, 0, 0, started_at, '{}' FROM runs WHERE id > 1")


def many_ranks(store, count):
    """Makes the first run's sample one of so many processes. Returns the bytes that rank 0 would get from the others."""
    with sqlite3.connect(store) as connection:
        base = base_of(store)
        record = json.loads(base)
        rank = {"offset_s": 1e-3, "offset_bound_s": 5e-6, "drift_s": 1e-7, "late_s": 2e-6, "elapsed_s": record["elapsed_s"], "total": record["total"]}
        record["ranks"] = [{"rank": number, "host": f"host{number}", **rank} for number in range(count)]
        record["workload"]["workers"] = count
        record["workers"] *= count
        connection.execute("UPDATE samples SET record = ?", (json.dumps(record, separators=(",", ":")),))
    return (count - 1) * len(base)


def timed(command, statuses):
    """Wall seconds, CPU seconds and largest resident bytes of a command."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.monotonic() - began
    if os.waitstatus_to_exitcode(status) not in statuses:
        sys.exit(f"{' '.join(map(str, command))} ended with {status}: {said}")
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def pages(halfpower, store, rounds):
    """Milliseconds of pages of `serve`, the median of some rounds; none if the program lacks it."""
    command = [halfpower, "serve", "--store", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        url = process.stdout.readline().strip()
        time.sleep(15)  # until the headlines are there
        answer = "what-if/answer?volume=nvme-gen4:filled&operation=read&pattern=random&request_size=4096B&depth=32"
        rows = [("run's page", "run/3", 100), ("list", "", 50), ("search", "?q=random+iops", 50), ("what-if", answer, 200)]
        for what, page, most in rows if url else []:
            took = []
            for _ in range(rounds):
                began = time.monotonic()
                urllib.request.urlopen(url + page).read()
                took.append((time.monotonic() - began) * 1e3)
            yield what, sorted(took)[len(took) // 2], most
        process.terminate()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("halfpower", type=Path, help="the program, built for release")
    parser.add_argument("--samples", type=int, default=100_000, help="of the run that is reported [default: %(default)s]")
    parser.add_argument("--cells", type=int, default=1000, help="workloads of every run [default: %(default)s]")
    parser.add_argument("--runs", type=int, default=100_000, help="of the list of runs [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts [default: %(default)s]")
    parser.add_argument("--keep", type=Path, help="keep the store in this file, and use it when it is there")
    arguments = parser.parse_args()
    halfpower = arguments.halfpower.resolve()
    with tempfile.TemporaryDirectory(dir=halfpower.parent) as temporary:
        directory = Path(temporary)
        store = arguments.keep or directory / "many.db"
        if not store.exists():
            measured(halfpower, directory).rename(store)
            base = base_of(store)
            repetitions = arguments.samples // arguments.cells
            fill(store, base, arguments.cells, repetitions, 1)
            fill(store, base, arguments.cells, 5, 2)
            fill(store, base, arguments.cells, 5, 3, 1.05)
        runs = directory / "runs.db"
        measured(halfpower, directory).rename(runs)
        many_runs(runs, arguments.runs - 1)
        page = directory / "page.html"
        ranks = directory / "ranks.db"
        measured(halfpower, directory).rename(ranks)
        print(f"rank 0 of 1000 gets {many_ranks(ranks, 1000) / 1e6:.1f} MB from the others")
        rows = [
            (f"report of {arguments.cells} workloads", store, ["report", "3", "--output", page], [0], 2.0, None),
            (f"report of {arguments.samples} samples", store, ["report", "2", "--output", page], [0], 5.0, 500e6),
            (f"comparison of two runs of {arguments.cells} workloads", store, ["compare", "3", "4"], [0, 3, 4], 1.0, None),
            ("a sample of 1000 processes, shown", ranks, ["runs", "show", "1"], [0], 1.0, None),
            ("the same as a report", ranks, ["report", "1", "--output", directory / "ranks.html", "--force"], [0], 2.0, None),
            (f"list of {arguments.runs} runs", runs, ["runs"], [0], 1.0, None),
        ]
        missed = False
        for what, of, command, statuses, most_s, most_bytes in rows:
            best = min(timed([halfpower, *command, "--store", of], statuses) for _ in range(arguments.rounds))
            elapsed, cpu, resident = best
            is_missed = elapsed > most_s or (most_bytes is not None and resident > most_bytes)
            missed |= is_missed
            bounds = f"{most_s:.0f} s" + (f", {most_bytes / 1e6:.0f} MB" if most_bytes else "")
            verdict = "MISSED" if is_missed else "kept"
            print(f"{what}: {elapsed:.2f} s, {cpu:.2f} s of CPU time, {resident / 1e6:.0f} MB (bound: {bounds}: {verdict})")
        print(f"the report's page: {page.stat().st_size / 1e6:.1f} MB")
        surveys = directory / "surveys.db"
        measured(halfpower, directory).rename(surveys)
        for seed in range(arguments.samples // SURVEY):
            fill(surveys, base_of(surveys), SURVEY // 5, 5, seed)
        for what, took, most in pages(halfpower, surveys, 9):
            missed |= took > most
            print(f"serve, {what}: {took:.0f} ms (bound: {most} ms: {'MISSED' if took > most else 'kept'})")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
