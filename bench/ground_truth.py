#!/usr/bin/env python3
"""Attribution against truth: bottlenecks that are brought about on purpose, and what Halfpower names.

    bench/ground_truth.py [--binary target/release/halfpower] [--directory .] [--runs 10] [--only NAME]… [--seed N]

Each scenario runs so many times, each with a fresh seed and a store of its own, as `halfpower io`; what is judged is what
`halfpower runs show --json` says of the stored run. Beside them as many clean runs: deep direct reads of a file on the disk
with nothing brought about, of which no run may name any of the scenarios' owners; "the device" and "cannot be told" are both
right there. Needs root, a disk with a file system under --directory, loop devices and control groups of version 1 (blkio); a
scenario that the machine cannot bring about says "skipped". Where a scenario has a truth that can be measured beside it, it
is, and a run in which the truth did not hold is shown as "not so" and run again. The verdict's account, if
it has one, has to rest on the same reason.

Ends with status 1 where a scenario was named in fewer than nine of ten, or a clean run named any of them.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile

BLKIO = "/sys/fs/cgroup/blkio"
MIB = 1 << 20


class NotHere(Exception):
    """The machine cannot bring it about."""


class Lab:
    """The program, and a directory on the disk."""

    def __init__(self, arguments, scratch):
        self.binary = os.path.abspath(arguments.binary)
        self.directory = scratch
        self.runs = 0

    def say(self, seed, *options, group=None):
        """One run of `io`: the stored run as `runs show` has it, and the sample."""
        self.runs += 1
        store = os.path.join(self.directory, f"store-{self.runs}.db")
        enter = (lambda: write(os.path.join(group, "cgroup.procs"), "0")) if group else None
        common = ["--store", store, "--json"]
        command = [self.binary, "io", *options, "--seed", str(seed), *common]
        sample = json.loads(subprocess.run(command, check=True, capture_output=True, preexec_fn=enter).stdout)
        show = [self.binary, "runs", "show", "1", *common]
        shown = json.loads(subprocess.run(show, check=True, capture_output=True).stdout)
        for name in os.listdir(self.directory):
            if name.startswith(f"store-{self.runs}.db"):
                os.remove(os.path.join(self.directory, name))
        return shown["analysis"] | {"verdict": shown["verdict"]}, sample


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read().strip()


def data_file(lab, name, size):
    """A file of random bytes, stored, and in the file cache."""
    path = os.path.join(lab.directory, name)
    if not os.path.exists(path):
        write_random(path, size)
    return path


def write_random(path, size):
    with open(path, "wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())


@contextlib.contextmanager
def loop_device(file):
    done = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True)
    if done.returncode:
        raise NotHere("no loop device is to be had")
    device = done.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@contextlib.contextmanager
def limit_of(group, device, what, limit):
    """What a group lets through to a device, until it is over."""
    path = os.path.join(group, f"blkio.throttle.{what}_device")
    if not os.path.exists(path):
        raise NotHere("there is no blkio controller (version 1) that throttles")
    number = os.stat(device).st_rdev
    write(path, f"{os.major(number)}:{os.minor(number)} {limit}")
    try:
        yield
    finally:
        write(path, f"{os.major(number)}:{os.minor(number)} 0")


@contextlib.contextmanager
def file_system(lab):
    """A file system on a loop device whose file is in memory."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as image:
        image.truncate(256 * MIB)
        subprocess.run(["mkfs.ext4", "-q", "-F", image.name], check=True, capture_output=True)
        with loop_device(image.name) as device:
            mounted = os.path.join(lab.directory, "mounted")
            os.makedirs(mounted, exist_ok=True)
            subprocess.run(["mount", device, mounted], check=True)
            try:
                yield device, mounted
            finally:
                subprocess.run(["umount", mounted], check=True)


@contextlib.contextmanager
def throttle(device, what, limit):
    """A control group that lets so much through."""
    if not os.path.exists(os.path.join(BLKIO, "blkio.throttle.read_bps_device")):
        raise NotHere("there is no blkio controller (version 1) that throttles")
    group = os.path.join(BLKIO, f"halfpower-truth-{os.getpid()}")
    os.mkdir(group)
    try:
        with limit_of(group, device, what, limit):
            yield group
    finally:
        os.rmdir(group)


def burn(cpu):
    os.sched_setaffinity(0, {cpu})
    os.setpriority(os.PRIO_PROCESS, 0, -10)
    while True:
        pass


@contextlib.contextmanager
def burnt(cpu):
    burners = [multiprocessing.Process(target=burn, args=(cpu,), daemon=True) for _ in range(2)]
    try:
        for burner in burners:
            burner.start()
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


@contextlib.contextmanager
def dirty_limit(limit):
    """Little memory may be dirty; what was set before comes back."""
    names = [f"/proc/sys/vm/{name}" for name in ("dirty_background_bytes", "dirty_bytes")]
    ratios = [f"/proc/sys/vm/{name}" for name in ("dirty_background_ratio", "dirty_ratio")]
    before = [(path, read(path)) for path in names + ratios]
    try:
        write(names[0], str(limit // 2))
        write(names[1], str(limit))
        yield
    finally:
        # The one of each pair that was not 0 counts, and setting it clears the other.
        for path, value in before:
            if value != "0":
                write(path, value)


def throttled_bandwidth(lab, seed, draw):
    limit = draw.randrange(8, 80) * 10**6
    with loop_device(data_file(lab, "image", 64 * MIB)) as device, throttle(device, "read_bps", limit) as group:
        how = ["--request-size=64KiB", "--depth=4", "--buffering=direct", "--warmup=300ms", "--duration=1s"]
        return lab.say(seed, device, *how, group=group)


def throttled_requests(lab, seed, draw):
    limit = draw.randrange(300, 4000)
    with loop_device(data_file(lab, "image", 64 * MIB)) as device, throttle(device, "read_iops", limit) as group:
        how = ["--pattern=random", "--request-size=4KiB", "--depth=8", "--buffering=direct", "--warmup=300ms"]
        return lab.say(seed, device, *how, "--duration=1s", group=group)


def burnt_cpu(lab, seed, draw):
    cpu = draw.choice(sorted(os.sched_getaffinity(0)))
    how = ["--pattern=random", "--request-size=4KiB", "--depth=32", "--buffering=direct", "--duration=1s"]
    with burnt(cpu):
        return lab.say(seed, data_file(lab, "file", 512 * MIB), *how, f"--cpus={cpu}")


def depth_one(lab, seed, _draw):
    how = ["--pattern=random", "--request-size=4KiB", "--buffering=direct", "--duration=500ms"]
    path = data_file(lab, "file", 512 * MIB)
    said = lab.say(seed, path, *how, "--depth=1")
    deep = lab.say(seed, path, *how, "--depth=16")
    times = deep[1]["total"]["requests_per_s"] / said[1]["total"]["requests_per_s"]
    return said if times > 2 else None


def cached_file(lab, seed, _draw):
    path = data_file(lab, "small", 32 * MIB)
    with open(path, "rb") as file:
        file.read()
    how = ["--pattern=random", "--request-size=16KiB", "--buffering=buffered", "--cache=keep", "--duration=500ms"]
    return lab.say(seed, path, *how)


def dirty_pages(lab, seed, draw):
    """A file system on a device that stores slowly for the kernel's own threads, which are in the uppermost group; the program
    is in a group of its own, which has no limit."""
    how = ["--op=write", "--request-size=256KiB", "--buffering=buffered", "--duration=1500ms", "--overwrite"]
    with file_system(lab) as (device, mounted), throttle(device, "write_bps", 1 << 40) as own:
        path = os.path.join(mounted, "file")
        if not os.path.exists(path):
            write_random(path, 160 * MIB)
        with limit_of(BLKIO, device, "write_bps", draw.randrange(20, 60) * 10**6), dirty_limit(draw.randrange(32, 64) * MIB):
            return lab.say(seed, path, *how, group=own)


def misaligned_write(lab, seed, draw):
    how = ["--op=write", "--pattern=random", "--request-size=4KiB", "--buffering=buffered", "--cache=cold", "--duration=500ms"]
    offset = draw.choice([512, 1024, 2048])
    return lab.say(seed, data_file(lab, "file", 512 * MIB), *how, "--overwrite", f"--offset={offset}B")


def generator(lab, seed, draw):
    return lab.say(seed, "null:", f"--depth={draw.choice([1, 8, 32])}", "--duration=500ms")


def clean(lab, seed, draw):
    way = draw.choice([["--pattern=random", "--request-size=4KiB", "--depth=32"], ["--request-size=1MiB", "--depth=8"]])
    return lab.say(seed, data_file(lab, "file", 512 * MIB), *way, "--buffering=direct", "--duration=1s")


# Each with the owners that are right, or the codes of findings that are.
SCENARIOS = {
    "throttled bandwidth": (throttled_bandwidth, {"throttled_bandwidth"}),
    "throttled requests": (throttled_requests, {"throttled_requests"}),
    "burnt cpu": (burnt_cpu, {"cpu"}),
    "depth 1": (depth_one, {"depth"}),
    "cached file": (cached_file, {"memory"}),
    "dirty pages": (dirty_pages, {"dirty_pages"}),
    "misaligned write": (misaligned_write, {"misalignment"}),
    "generator": (generator, {"generator"}),
}
INDUCED = set().union(*(owners for _, owners in SCENARIOS.values())) | {"read_before_write", "small_write_penalty", "cache_hits"}


def names_of(analysis):
    """The owner that is named, or none, and the codes of findings."""
    bottleneck = analysis["cells"][0].get("bottleneck") or {}
    codes = {finding["code"] for finding in analysis["findings"]}
    return bottleneck.get("name"), codes, bottleneck.get("reason", "")


def is_told(analysis):
    """Whether the verdict's account, if it has one, has the reason of the workload's bottleneck, or a limit."""
    bottleneck = analysis["cells"][0].get("bottleneck") or {}
    accounts = [account for account in analysis["verdict"]["bottleneck"].values() if account]
    is_limit = lambda account: account["level"].startswith("a limit of")
    # The reason for an unknown bottleneck begins a sentence.
    reason = bottleneck.get("reason", "").lower()
    return all(is_limit(one) or reason in " ".join(one["evidence"]).lower() for one in accounts)


def judge(lab, name, bring_about, owners, arguments, draw):
    """Runs a scenario so many times; how often it was named, and by how many runs."""
    named = counted = 0
    not_so = 0
    while counted < arguments.runs and not_so < 3 * arguments.runs:
        seed = draw.randrange(1, 2**48)
        said = bring_about(lab, seed, draw)
        if said is None:
            not_so += 1
            print(f"  {name}: not so", flush=True)
            continue
        owner, codes, reason = names_of(said[0])
        right = bool(owners & ({owner} | codes)) if owners else not INDUCED & ({owner} | codes)
        right = right and is_told(said[0])
        counted += 1
        named += right
        print(f"  {name}, seed {seed}: {'right' if right else 'WRONG'}: {owner}: {reason}", flush=True)
    return named, counted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--directory", default=".", help="where on the disk the files are made")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", action="append", default=[], help="a scenario's name, or clean; several are allowed")
    parser.add_argument("--seed", type=int, default=None, help="draws seeds and settings; fresh by default")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    rows, failed = [], False
    with tempfile.TemporaryDirectory(prefix="halfpower-truth-", dir=arguments.directory) as scratch:
        lab = Lab(arguments, scratch)
        for name, (bring_about, owners) in [*SCENARIOS.items(), ("clean", (clean, set()))]:
            if arguments.only and name not in arguments.only:
                continue
            try:
                named, counted = judge(lab, name, bring_about, owners, arguments, draw)
            except (NotHere, PermissionError) as why:
                rows.append((name, f"skipped: {why}"))
                continue
            if owners:
                failed |= counted < arguments.runs or named * 10 < counted * 9
                rows.append((name, f"named in {named} of {counted}"))
            else:
                failed |= counted < arguments.runs or named < counted
                rows.append((name, f"{counted - named} of {counted} name one of the above"))
    for name, verdict in rows:
        print(f"{name:<22} {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
