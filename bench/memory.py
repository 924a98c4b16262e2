#!/usr/bin/env python3
"""Holds `halfpower memory` against STREAM and likwid-bench: read, write and copy, for the same working set and threads.

    cargo build --release && bench/memory.py --stream PATH --output TABLES.md

likwid-bench is taken from PATH. STREAM is a binary of yours, built with OpenMP; it says itself how large its arrays are,
and its row has that size. It builds nobody else's code: a peer that is not there is a row that says so.

Each form of likwid-bench (load_avx, store_mem_avx, ...) first has three runs, and the one with the best median goes on.
Then ours and it run interleaved, the first of a pair changing from pair to pair. What is compared is alike: the median of
our rounds with a run of likwid-bench that is as long as one of them, and our best round with STREAM's best iteration.
The interval of the median ratio is that of the sign test. Rates count bytes as STREAM does: a copied byte was read and
written, so it counts twice. Ends with status 1 when a row misses 0.97. Where others are at work, `chrt --fifo 1` before
it (root) gives one thread a cpu to itself while it runs. Not with more threads: those of likwid-bench wait for one
another without ever giving the CPU back.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

from compare import first_line, judge, median_interval
from contestants import ROOT

TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
NEEDED = 0.97
# glibc then asks for huge pages, as ours does; STREAM's arrays are static and have small ones where the kernel waits to
# be asked.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# As long as a round of ours is.
ROUND_S = 0.005
OURS = {"read": ["read"], "write": ["write", "write_non_temporal"], "copy": ["copy", "copy_non_temporal", "memcpy"]}
LIKWID = {"read": ["load", "load_sse", "load_avx", "load_avx512"],
          "write": ["store", "store_sse", "store_avx", "store_avx512", "store_mem", "store_mem_sse", "store_mem_avx",
                    "store_mem_avx512"],
          "copy": ["copy", "copy_sse", "copy_avx", "copy_avx512", "copy_mem", "copy_mem_sse", "copy_mem_avx",
                   "copy_mem_avx512"]}
FLAGS = {"sse": "sse2", "avx": "avx", "avx512": "avx512f"}


def run(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})}, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def ours(arguments, size, threads):
    """Of each kernel its rounds, in bytes read and written per second."""
    output = run([arguments.program, "memory", "--threads", str(threads), "--sizes", str(size), "--json", "--no-store"])
    cells = json.loads(output)["figures"]["bandwidth"]
    return {cell["kernel"]: [rate * (2 if cell["kernel"] in OURS["copy"] else 1) for rate in cell["bytes_per_s"]["rounds"]]
            for cell in cells}


def best(kernels, operation, figure):
    return max(figure(kernels[name]) for name in OURS[operation] if name in kernels)


def likwid_forms(operation):
    """The forms that this CPU can run."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        flags = next((line.split() for line in lines if line.startswith("flags")), [])
    suffix = [(form, form.rsplit("_", 1)[-1]) for form in LIKWID[operation]]
    return [form for form, last in suffix if last not in FLAGS or FLAGS[last] in flags]


def likwid(form, size, threads, iterations):
    """Its rate, and the iterations that a run as long as one of our rounds has."""
    # Its working set is that of all threads together, split among them and the streams. Fractions of a second are no
    # time to it (-s), so the iterations are given.
    output = run(["likwid-bench", "-t", form, "-i", str(iterations), "-w", f"N:{size * threads}B:{threads}"], HUGE_PAGES)
    time_s, rate = (float(re.search(pattern, output, re.M)[1]) for pattern in (r"^Time:\s+(\S+)", r"^MByte/s:\s+(\S+)"))
    return rate * 1e6, max(1, round(iterations * ROUND_S / time_s))


def best_likwid(operation, size, threads):
    """The fastest form, and its iterations."""
    tried = {}
    for form in likwid_forms(operation):
        iterations = 1 + (1 << 22) // size
        for _ in range(2):
            iterations = likwid(form, size, threads, iterations)[1]
        tried[form] = statistics.median(likwid(form, size, threads, iterations)[0] for _ in range(3)), iterations
    form = max(tried, key=tried.get)
    return form, tried[form][1]


def stream(path, threads):
    output = run([path], {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"})
    elements, width = (int(re.search(pattern, output)[1]) for pattern in
                       (r"Array size = (\d+)", r"uses (\d+) bytes per array element"))
    rate = float(re.search(r"^Copy:\s+([\d.]+)", output, re.M)[1]) * 1e6
    return rate, 2 * elements * width // threads


def by_turns(contestants, rounds):
    """Runs them one after the other, the next time the other way round; what each gave in each round."""
    results = [[] for _ in contestants]
    for index in range(rounds):
        turn = list(zip(contestants, results))
        for contestant, result in turn if index % 2 == 0 else reversed(turn):
            result.append(contestant())
    return results


class Report:
    def __init__(self):
        self.lines, self.missed = [], False

    def add(self, line):
        self.lines.append(line)
        print(line, flush=True)

    def row(self, what, size, threads, peer, pairs):
        low_high = median_interval([mine / other for mine, other in pairs])
        middle, low, high = low_high
        mine, other = (statistics.median(pair[side] for pair in pairs) / 1e9 for side in (0, 1))
        verdict = judge(low, middle, high, NEEDED)
        self.missed |= verdict.startswith("missed")
        self.add(f"| {what} | {size_text(size)} | {threads} | {peer} | {mine:.1f} | {other:.1f} | {middle:.3f} "
                 f"| {low:.3f} to {high:.3f} ({len(pairs)} pairs) | {verdict} |")


def size_text(size):
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << shift:
            return f"{size / (1 << shift):g} {unit}"
    return f"{size} B"


def against_likwid(report, arguments, size, threads):
    if not shutil.which("likwid-bench"):
        report.add(f"| all | {size_text(size)} | {threads} | likwid-bench | | | | not installed | |")
        return
    forms = {operation: best_likwid(operation, size, threads) for operation in OURS}
    peers = [lambda form=form: likwid(form[0], size, threads, form[1])[0] for form in forms.values()]
    mine, *others = by_turns([lambda: ours(arguments, size, threads), *peers], arguments.rounds)
    for (operation, (form, _)), rates in zip(forms.items(), others):
        best_of = [best(kernels, operation, statistics.median) for kernels in mine]
        report.row(operation, size, threads, f"likwid `{form}`", list(zip(best_of, rates)))


def against_stream(report, arguments, threads):
    if not arguments.stream:
        report.add(f"| copy | | {threads} | STREAM | | | | --stream does not say where it is | |")
        return
    size = stream(arguments.stream, threads)[1] // 4096 * 4096
    mine, others = by_turns([lambda: best(ours(arguments, size, threads), "copy", max),
                             lambda: stream(arguments.stream, threads)[0]], arguments.rounds)
    report.row("copy", size, threads, "STREAM", list(zip(mine, others)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=os.path.join(TARGET, "release", "halfpower"), help="ours")
    parser.add_argument("--stream", metavar="PATH", help="a STREAM binary; without it its rows are skipped")
    parser.add_argument("--threads", default=f"1,{len(os.sched_getaffinity(0))}", help="numbers of threads")
    parser.add_argument("--sizes", default="16384,262144,4194304,134217728", help="working sets of a thread, in bytes")
    parser.add_argument("--rounds", type=int, default=9, help="pairs")
    parser.add_argument("--output", metavar="FILE", help="write the table there as well")
    arguments = parser.parse_args()
    if os.sched_getscheduler(0) == os.SCHED_FIFO and arguments.threads != "1":
        parser.error("with real-time priority likwid-bench hangs on more than one thread; add --threads 1")
    if arguments.rounds < 6:
        parser.error("--rounds is at least 6; fewer pairs carry no 95 % interval")
    return arguments


def main():
    arguments = parse()
    report = Report()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    policy = " All with real-time priority." if os.sched_getscheduler(0) == os.SCHED_FIFO else ""
    report.add(f"{first_line([arguments.program, '--version'])}. {os.cpu_count()} × {model}. Load average at the start "
               f"{os.getloadavg()[0]:.2f}. GB/s; a copied byte counts twice; working sets are a thread's.{policy}")
    report.add("")
    report.add("| operation | working set | threads | peer | ours | peer's | ratio | 95 % interval | 0.97 needed |")
    report.add("|---|---|---|---|---|---|---|---|---|")
    for threads in sorted({int(threads) for threads in arguments.threads.split(",")}):
        for size in arguments.sizes.split(","):
            against_likwid(report, arguments, int(size), threads)
        against_stream(report, arguments, threads)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as output:
            output.write(f"# {time.strftime('%Y-%m-%d')}: memory against STREAM and likwid-bench\n\n"
                          "Written by `bench/memory.py`.\n\n")
            output.write("\n".join(report.lines) + "\n")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
