#!/usr/bin/env python3
"""Job files by fio and by `halfpower fio`, by turns: requests, bytes, and IOPS.

    bench/fio_jobs.py [--binary target/release/halfpower] [--fio fio] [--rounds 5] [--examples DIRECTORY] DIRECTORY

Thirty jobs run in DIRECTORY, a round of both programs after another. What a job's size or number limits has the same requests
and bytes in both; others have reads and writes in the same proportion. IOPS are alike if the medians differ by less than the rounds of
both do, or by 5 %. `--examples` also reads each job file there and says what becomes of it. Ends with status 1 where
one of the jobs is not alike.
"""

import argparse
import collections
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

QUICK = "time_based runtime=2s"
RING = "ioengine=io_uring direct=1"
JOBS = [
    "rw=randread size=32m direct=1",
    f"rw=randread size=64m {RING} iodepth=16",
    f"rw=randread size=256m {RING} iodepth=32 norandommap {QUICK}",
    f"rw=read bs=64k size=256m direct=1",
    f"rw=read bs=1m size=256m {RING} iodepth=8 {QUICK}",
    f"rw=write bs=64k size=256m {RING} iodepth=4",
    f"rw=randwrite size=64m {RING} iodepth=8",
    f"rw=randrw rwmixread=70 size=64m {RING} iodepth=8",
    f"rw=rw bs=16k size=128m {RING} iodepth=4",
    f"rw=randrw bs=4k,64k size=64m {RING} iodepth=8 {QUICK}",
    f"rw=randread bssplit=4k/75:64k/25 norandommap size=64m {RING} iodepth=8 {QUICK}",
    f"rw=randread bs=8k size=64m {RING} iodepth=4 numjobs=2 group_reporting",
    f"rw=randread bs=8k size=64m filename=shared {RING} iodepth=4 numjobs=4 group_reporting",
    f"rw=randwrite size=8m fsync=8 direct=1",
    f"rw=write size=8m fdatasync=1 direct=1",
    f"rw=write bs=128k size=128m end_fsync=1",
    f"rw=read bs=128k size=256m",
    f"rw=randread size=16m",
    f"rw=randread size=64m ioengine=libaio direct=1 iodepth=16",
    f"rw=randread size=32m ioengine=pvsync2 direct=1",
    f"rw=read bs=64k size=64m ioengine=mmap",
    f"rw=randread size=64m {RING} iodepth=4 rate_iops=2000 {QUICK}",
    f"rw=read bs=64k size=128m {RING} iodepth=4 rate=20m {QUICK}",
    f"rw=read bs=64k offset=32m size=64m direct=1",
    f"rw=read bs=64k filename=shared size=32m offset_increment=32m numjobs=2 group_reporting direct=1",
    f"rw=randread random_distribution=zipf:1.2 size=64m {RING} iodepth=8 {QUICK}",
    f"rw=randread size=64m number_ios=5000 {RING} iodepth=8",
    f"rw=read bs=64k size=64m loops=2 direct=1",
    f"rw=randread size=64m io_size=16m {RING} iodepth=8",
    f"rw=write bs=64k size=64m sync=1 zero_buffers direct=1",
]


def figures(document):
    """Requests, bytes and IOPS of reads and of writes, over all jobs."""
    kinds = {kind: [0, 0, 0.0] for kind in ("read", "write")}
    for job in document["jobs"]:
        for kind, sums in kinds.items():
            for number, key in enumerate(["total_ios", "io_bytes", "iops"]):
                sums[number] += job[kind][key]
    return kinds


def run(words, job, directory):
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        with open(f"{folder}/job.fio", "w") as file:
            file.write("[job]\n" + "\n".join(job.split()) + "\n")
        done = subprocess.run([*words, "job.fio", "--output-format=json"], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{job}: {done.stderr or done.stdout}")
        return figures(json.loads(done.stdout[done.stdout.index("{"):]))


def alike(job, fio, ours):
    """What differs, and the ratio of the medians of IOPS."""
    faults = []
    total = lambda rounds, number: [sum(kind[number] for kind in one.values()) for one in rounds]
    is_exact = "time_based" not in job
    for number, what in enumerate(["requests", "bytes"] if is_exact else []):
        theirs, own = total(fio, number), total(ours, number)
        if theirs[0] != own[0]:
            faults.append(f"{what} {theirs[0]} and {own[0]}")
    shares = [statistics.median(one["read"][0] / sum(kind[0] for kind in one.values()) for one in rounds) for rounds in (fio, ours)]
    if abs(shares[0] - shares[1]) > 0.02:
        faults.append(f"share of reads {shares[0]:.3f} and {shares[1]:.3f}")
    theirs, own = total(fio, 2), total(ours, 2)
    ratio = statistics.median(own) / statistics.median(theirs)
    spread = max(max(rounds) / min(rounds) - 1 for rounds in (theirs, own))
    if abs(ratio - 1) > max(0.05, spread):
        faults.append(f"IOPS {statistics.median(theirs):.0f} and {statistics.median(own):.0f}")
    return faults, ratio, spread


def examples(binary, folder):
    """What becomes of the job files of a folder, by category."""
    counts = collections.Counter()
    ours = {"psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "io_uring_cmd", "mmap", "sg", "nbd", "null"}
    given = {"FIO_RW": "randread", "FIO_BS": "4k", "FIO_DIR": "/tmp", "FIO_SIZE": "1g", "FIO_FILENAME": "/tmp/x", "FIO_IODEPTH": "4"}
    given |= {"SIZE": "1g", "BLOCKDEV": "/dev/x", "IMAGE": "x", "FIO_BLOCKSIZE": "4k", "FIO_IOSIZE": "1g", "uri": "nbd://localhost/"}
    for path in sorted(glob.glob(f"{folder}/*.fio")):
        with open(path, encoding="utf-8") as file:
            engines = set(re.findall(r"^\s*ioengine\s*=\s*(\S+)", file.read(), re.MULTILINE))
        done = subprocess.run([binary, "fio", path, "--parse-only"], capture_output=True, text=True, env={**os.environ, **given}, cwd=folder)
        where = "engines that exist here" if engines <= ours else "other engines"
        counts[f"{where}: {'run' if done.returncode == 0 else 'refused'}"] += 1
        if done.returncode:
            reason = done.stderr.strip().splitlines()[0].replace(f"{folder}/", "")
            print(f"{os.path.basename(path)}: {reason}")
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", metavar="DIRECTORY")
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--fio", default="fio")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--examples", metavar="DIRECTORY")
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    if arguments.examples:
        examples(binary, os.path.abspath(arguments.examples))
    different = 0
    for job in JOBS:
        fio, ours = [], []
        for _ in range(arguments.rounds):
            fio.append(run([arguments.fio], job, arguments.directory))
            ours.append(run([binary, "fio", "--no-store", "-q"], job, arguments.directory))
        faults, ratio, spread = alike(job, fio, ours)
        different += bool(faults)
        print(f"{ratio:5.2f} of fio's IOPS, rounds within {spread:4.0%}  {job}{': ' if faults else ''}{'; '.join(faults)}", flush=True)
    print(f"alike: {len(JOBS) - different} of {len(JOBS)}")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
