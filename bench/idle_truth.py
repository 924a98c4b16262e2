#!/usr/bin/env python3
"""The soaker against truth: a process that burns a known share of one CPU, and what `halfpower idle` sees of it.

    bench/idle_truth.py [--binary target/release/halfpower] [--seconds 3] [--windows 7] [--patience 600]

The burner burns in bursts of about 1 ms and says by its own CPU time how much it burnt, so the truth does not hang
on the machine's speed. The machine must be idle otherwise: a window counts only if all others together used less than 1.5 %
of that cpu, by the kernel's count in nanoseconds (cpuacct of control groups, version 1); without it, every window
counts. The share seen must be within 3 points of the share burnt, in every window that counts, and under 2 % with no
burner. Ends with status 1 where it is not, and with status 3 where the machine was never quiet enough.
"""

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import time

SHARES = (0.0, 0.1, 0.3, 0.6)
QUIET = 0.015
USAGE = "/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu"


def burn(share, cpu, used_s):
    """Bursts of about 1 ms, with pauses such that they make up the share; never in step with the kernel's ticks."""
    os.sched_setaffinity(0, {cpu})
    os.setsid()
    while True:
        until = time.process_time() + random.uniform(0.5e-3, 1.5e-3)
        before = time.process_time()
        while time.process_time() < until:
            pass
        used_s.value = time.process_time()
        burst = used_s.value - before
        time.sleep(burst * (1 / share - 1))


def usage_s(cpu):
    """What everything used of a CPU, to the nanosecond; none where the kernel does not say."""
    try:
        with open(USAGE) as file:
            return int(file.read().split()[cpu]) / 1e9
    except OSError:
        return None


def soaker_s(parent, cpu):
    """What the soaker of a CPU used, in ticks of 10 ms."""
    try:
        with open(f"/proc/{parent}/task/{parent}/children") as file:
            children = file.read().split()
        for child in children:
            if os.sched_getaffinity(int(child)) == {cpu}:
                with open(f"/proc/{child}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ProcessLookupError):
        pass
    return None


def window(arguments, share, cpu):
    """One window: what was burnt, what was seen, and what others used meanwhile."""
    used_s = multiprocessing.Value("d", 0.0)
    burner = multiprocessing.Process(target=burn, args=(share, cpu, used_s), daemon=True) if share else None
    if burner:
        burner.start()
        time.sleep(0.2)
    command = [arguments.binary, "idle", str(arguments.seconds), "--json", "--no-store"]
    idle = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        # Past the calibration, and to just before the end.
        time.sleep(0.7)
        first = (time.monotonic(), usage_s(cpu), soaker_s(idle.pid, cpu), used_s.value)
        time.sleep(arguments.seconds - 0.7)
        last = (time.monotonic(), usage_s(cpu), soaker_s(idle.pid, cpu), used_s.value)
        figures = json.loads(idle.communicate()[0])["figures"]
    finally:
        if burner:
            burner.kill()
            burner.join()
    span_s = last[0] - first[0]
    burnt = (last[3] - first[3]) / span_s
    seen = next(p["busy_share"] for p in figures["cpus"] if p["cpu"] == cpu)
    others = None
    if None not in first and None not in last:
        others = (last[1] - first[1] - (last[2] - first[2])) / span_s - burnt
    return burnt, seen, others


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--windows", type=int, default=7)
    parser.add_argument("--patience", type=float, default=600, help="seconds to wait for quiet windows, in all")
    parser.add_argument("--all", action="store_true", help="show every window, less what others used; what was burnt is in neither then, so "
                        "it holds the soaker against the kernel's count and not against the burner")
    arguments = parser.parse_args()
    cpu = max(os.sched_getaffinity(0))
    end = time.monotonic() + arguments.patience
    failed = starved = False
    print("burnt    seen  others   (percent of a CPU)")
    for share in SHARES:
        counted = 0
        while counted < arguments.windows and time.monotonic() < end:
            burnt, seen, others = window(arguments, share, cpu)
            is_quiet = others is None or others < QUIET
            off = seen - burnt - ((others or 0.0) if arguments.all else 0.0)
            counts = is_quiet or arguments.all
            good = abs(off) < 0.03 and (share or arguments.all or seen < 0.02)
            counted += counts
            failed |= counts and not good
            verdict = ("good" if good else "WRONG") if counts else "not quiet"
            shown = "     ?" if others is None else f"{others * 100:6.1f}"
            print(f"{burnt * 100:5.1f}  {seen * 100:6.1f}  {shown}   off by {off * 100:+5.1f}  {verdict}", flush=True)
        starved |= counted < arguments.windows
    return 1 if failed else 3 if starved else 0


if __name__ == "__main__":
    sys.exit(main())
