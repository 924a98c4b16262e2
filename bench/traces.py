#!/usr/bin/env python3
"""Traces against what is known: recording, replay and import.

    bench/traces.py [--binary target/release/halfpower] [--directory .] [--millions 50] [--only record|replay|import]…

record  a loop device is recorded while `halfpower io` runs on it: requests, bytes, mix and sizes are those of its record.
replay  the trace is replayed on the loop device and recorded again: kind, offset and length of each request are the same, in the same
        order. The same on a file and on a simulated machine by their counts; median lateness, which may be 50 µs at 20 000 IOPS.
import  a CSV of so many million requests: requests per second (a million are wanted), and the most memory at two lengths.

Needs root, tracefs and a loop device for the first two. Ends with status 1 where something differs.
"""
import argparse
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

RATE = 20_000
FAILED = []


def check(what, holds, detail=""):
    print(f"{'ok    ' if holds else 'NOT SO'} {what}{': ' if detail else ''}{detail}", flush=True)
    if not holds:
        FAILED.append(what)


def entries(path):
    """Kind, offset and length of each request of a trace."""
    with open(path, "rb") as file:
        file.seek(32)
        data = file.read()
    data = data[:len(data) // 28 * 28]
    return [(kind, int.from_bytes(offset, "little"), length)
            for _, offset, kind, length, _, _, _ in struct.iter_unpack("<Q7sBIIHH", data)]


def run(binary, *words):
    done = subprocess.run([binary, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def recorded(binary, device, output, work):
    """Records a device while something is done."""
    recorder = subprocess.Popen([binary, "trace", "record", device, "--output", output, "-q"], stdout=subprocess.DEVNULL)
    time.sleep(1.5)
    result = work()
    time.sleep(0.5)
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    return result


def on_loop(binary, folder, only):
    image = os.path.join(folder, "image")
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    device = subprocess.check_output(["losetup", "--find", "--show", image], text=True).strip()
    # A request that finds no place in the queue is issued again by another thread, after others.
    with open(f"/sys/block/{os.path.basename(device)}/queue/nr_requests", "w") as queue:
        queue.write("128")
    try:
        first, second = os.path.join(folder, "first.trace"), os.path.join(folder, "second.trace")
        io = ["io", device, f"--overwrite={device}", "--no-store", "--json", "-q", "--op", "mix=70", "--pattern", "random",
              "--sizes", "read=4KiB:7/16KiB:3,write=8KiB", "--depth", "32", "--rate", f"{RATE}/s", "--arrivals", "poisson", "--duration", "3s"]
        sample = recorded(binary, device, first, lambda: json.loads(run(binary, *io)))
        known = {kind: (sample[name]["requests"], sample[name]["bytes"]) for kind, name in ((0, "read"), (1, "write"))}
        trace = entries(first)
        mine = [entry for entry in trace if entry[0] < 2]
        found = {kind: (sum(entry[0] == kind for entry in mine), sum(entry[2] for entry in mine if entry[0] == kind)) for kind in (0, 1)}
        # Requests that were outstanding at the end are issued and do not count.
        over = len(mine) - sum(known[kind][0] for kind in known)
        check("record: requests and bytes", 0 <= over <= 32, f"{found} against {known}")
        check("record: sizes", {entry[2] for entry in mine} == {4096, 8192, 16384}, f"{len(mine)} requests")
        if "replay" not in only:
            return
        words = ["replay", first, device, f"--overwrite={device}", "--no-store", "--json", "-q"]
        sample = recorded(binary, device, second, lambda: json.loads(run(binary, *words)))
        # Opening and closing the device flushes it.
        again = [entry for entry in entries(second) if entry[0] < 2]
        same = sum(one == other for one, other in zip(mine, again))
        check("replay on the device: kind, offset, length", sorted(mine) == sorted(again), f"{len(mine)} and {len(again)} requests")
        check("replay on the device: order", mine == again, f"{same} of {len(mine)} in their place")
        lateness(sample, "device")
        target = os.path.join(folder, "file")
        sample = json.loads(run(binary, "replay", first, target, "--size", "256MiB", "--no-store", "--json", "-q"))
        counts(sample, trace, "file")
        lateness(sample, "file")
        sample = json.loads(run(binary, "replay", first, "sim:nvme-gen4:steady", "--no-store", "--json", "-q"))
        counts(sample, trace, "simulated machine")
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def counts(sample, trace, where):
    found = [(sample[name]["requests"], sample[name]["bytes"]) for name in ("read", "write")]
    known = [(sum(entry[0] == kind for entry in trace), sum(entry[2] for entry in trace if entry[0] == kind)) for kind in (0, 1)]
    check(f"replay on a {where}: requests and bytes", found == known, f"{found}")


def lateness(sample, where):
    late = sample["open_loop"]["lateness_ns"]
    check(f"replay on a {where}: median lateness up to 50 µs", late["p50"] <= 50_000, f"p50 {late['p50'] / 1e3:.1f} µs, p99 {late['p99'] / 1e3:.1f} µs")


def imported(binary, folder, millions):
    memory = []
    for count in (max(millions // 10, 1), millions):
        source, output = os.path.join(folder, "web.csv"), os.path.join(folder, "web.trace")
        with open(source, "w") as file:
            for block in range(count * 10):
                at = 128166372003061629 + block * 100_000 * 500
                file.write("".join(f"{at + number * 500},web,2,{'Read' if number % 3 else 'Write'},{(number * 7919 + block) % 999_983 * 4096},4096,{900 + number % 97}\n"
                                   for number in range(100_000)))
        began = time.monotonic()
        child = subprocess.Popen([binary, "trace", "import", source, "--output", output, "-q"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        took = time.monotonic() - began
        check(f"import: {count} million requests", status == 0, f"{count / took:.2f} million/s, {usage.ru_maxrss >> 10} MiB, "
              f"{os.path.getsize(source) >> 20} to {os.path.getsize(output) >> 20} MiB")
        check("import: at least a million a second", count / took >= 1)
        memory.append(usage.ru_maxrss)
        began = time.monotonic()
        subprocess.run([binary, "trace", "show", output], stdout=subprocess.DEVNULL, check=True)
        print(f"       show: {count / (time.monotonic() - began):.2f} million/s")
        os.remove(source)
        os.remove(output)
    check("import: constant memory", memory[1] < memory[0] * 1.2, f"{[kib >> 10 for kib in memory]} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--directory", default=".")
    parser.add_argument("--millions", type=int, default=50)
    parser.add_argument("--only", action="append", choices=["record", "replay", "import"])
    arguments = parser.parse_args()
    only = arguments.only or ["record", "replay", "import"]
    binary = os.path.abspath(arguments.binary)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        if "record" in only or "replay" in only:
            on_loop(binary, folder, only)
        if "import" in only:
            imported(binary, folder, arguments.millions)
    sys.exit(bool(FAILED))


main()
