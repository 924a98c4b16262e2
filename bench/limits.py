#!/usr/bin/env python3
"""Limits against truth: storage held to rates of our own, and what `halfpower limits` and `halfpower run` name.

    bench/limits.py [--binary target/release/halfpower] [--throttled 30] [--free 30] [--simulated 200] [--seed N] [--only GROUP]…
                    [--qemu | --blkio DIRECTORY]

Throttled: files behind bench/throttle.rs, which throttles as QEMU does; with --qemu the disks of machines that QEMU boots (vm/lab); with
--blkio in a control group (version 1; root) that throttles the device of DIRECTORY, without bursts. A third in bytes, a
third in requests, a sixth in both, a sixth shared by two to four files. Rates of 20 to 200 MB/s and
500 to 20 000 IOPS; bursts from QEMU's own to five seconds at two to eight times the rate. Free: files without one.
Simulated: machines with and without limits, credits, caches that fill up, garbage collection and heat; a device's own
limits are no limit of a provider.

Right is a limit of the right kind within 5 % of its rate, for reads and for writes, and no other. Ends with status 1 where fewer
than 28 of 30 are, where a free file has one, or where fewer than 80 % of the bursts over a second are within 20 % of their length.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
BYTES, REQUESTS = "bytes_per_s", "requests_per_s"
COMMANDS = {"limits": "limits", "run": "run"}


def log_uniform(draw, low, high):
    return low * (high / low) ** draw.random()


def burst(draw):
    """Times the rate, and QEMU's seconds; none for its own default."""
    return None if draw.random() < 0.3 else (draw.uniform(2, 8), draw.randint(1, 5))


def throttled(count, draw):
    """Cases: limits and the number of disks behind them."""
    kinds = ["bytes", "requests", "bytes", "requests", "both", "shared"]
    for number in range(count):
        kind = kinds[number % len(kinds)]
        case = {"kind": kind, "disks": 1, "limits": {}, "number": number}
        if kind == "shared":
            case["disks"] = draw.randint(2, 4)
        if kind != "requests" and (kind != "shared" or draw.random() < 0.5):
            case["limits"][BYTES] = (log_uniform(draw, 20e6, 200e6), burst(draw))
        if kind in ("requests", "both") or not case["limits"]:
            # Of two limits, that of the requests shows where the other lets more small ones through.
            most = min(20_000, 0.9 * case["limits"][BYTES][0] / 4096) if kind == "both" else 20_000
            case["limits"][REQUESTS] = (log_uniform(draw, 500, most), burst(draw))
        yield case


def settings(case):
    """As bench/throttle.rs takes them."""
    rates = [(what.split("_")[0], rate, peak or (0, 0)) for what, (rate, peak) in case["limits"].items()]
    return [f"{what}:{rate:.0f}:{rate * peak[0]:.0f}:{peak[1]}" for what, rate, peak in rates]


def in_a_guest(binary, case, name, show):
    """What the program says in a machine that QEMU boots, of disks behind a throttle group of QEMU's."""
    limits = []
    for what, (rate, peak) in case["limits"].items():
        key = "bps-total" if what == BYTES else "iops-total"
        limits += [f"{key}={rate:.0f}", *([f"{key}-max={rate * peak[0]:.0f}", f"{key}-max-length={peak[1]}"] if peak else [])]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script")
        disks = " ".join(f"--overwrite /dev/vd{'abcd'[disk]}" for disk in range(case["disks"]))
        script.write_text(f"/lab/{Path(binary).name} {COMMANDS[name]} {disks} --json --no-report --no-store 2> /tmp/error || cat /tmp/error\n")
        words = [HERE.parent / "vm/lab", "--kind", "virtio", "--disks", str(case["disks"]), "--disk-size", "1024", "--memory", "2048",
                 "--limit", "900", *(["--bus", ",".join(limits)] if limits else []), script, binary]
        # The disks lie in memory: this host's own have limits too.
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"TMPDIR": "/dev/shm"})
    if show:
        Path(f"{show}/{case['number']}-{name}.json").write_text(done.stdout)
    return json.loads(done.stdout)["limits"] if done.stdout.startswith("{") else done.stdout + done.stderr


def files_of(folder, case):
    return [f"{folder}/disk{disk}" for disk in range(case["disks"])]


def behind_a_throttle(throttle, binary, case, name, show):
    """What the program says of files behind a throttle that held nothing back before."""
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen([throttle, folder, str(case["disks"]), "1", *settings(case)]) as served:
            try:
                while not os.path.ismount(folder):
                    if served.poll() is not None:
                        sys.exit("skipped: nothing can be served over /dev/fuse here")
                    time.sleep(0.05)
                return outcome(binary, COMMANDS[name], files_of(folder, case), show and f"{show}/{case['number']}-{name}")
            finally:
                subprocess.run(["umount", "-l", folder], stderr=subprocess.DEVNULL, check=False)
                served.terminate()


def in_a_group(directory, binary, case, name, show):
    """What the program says of files on a device that its control group throttles."""
    group = f"/sys/fs/cgroup/blkio/halfpower-{os.getpid()}-{case['number']}"
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        for file in files_of(folder, case):
            with open(file, "wb") as data:
                for _ in range(32):
                    data.write(random.randbytes(16 << 20))
                os.fsync(data.fileno())
        device = os.stat(folder).st_dev
        os.mkdir(group)
        try:
            for what, (rate, _) in case["limits"].items():
                for operation in ("read", "write"):
                    limit = f"{group}/blkio.throttle.{operation}_{'bps' if what == BYTES else 'iops'}_device"
                    Path(limit).write_text(f"{os.major(device)}:{os.minor(device)} {rate:.0f}")
            enter = lambda: Path(f"{group}/cgroup.procs").write_text("0")
            return outcome(binary, COMMANDS[name], files_of(folder, case), show and f"{show}/{case['number']}-{name}", enter)
        finally:
            os.rmdir(group)


def outcome(binary, command, files, keep, enter=None):
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"{folder}/store.db"]
        words = [word for file in files for word in ("--overwrite", file)]
        done = subprocess.run([binary, *command.split(), *words, "--json", "--no-report", *store], capture_output=True, text=True, preexec_fn=enter)
        if keep:
            Path(f"{keep}.json").write_text(done.stdout)
            with open(f"{keep}.export", "w") as export:
                subprocess.run([binary, "export", "1", *store], stdout=export, check=False)
    return json.loads(done.stdout)["limits"] if done.returncode == 0 else done.stderr


def judge(case, limits):
    """Errors in words, and the bursts over a second as pairs: the reported and the true length."""
    if isinstance(limits, str):
        return [f"failed: {limits[-200:]}"], []
    wrong, bursts = [], []
    for what, (rate, peak) in case["limits"].items():
        for operation in ("read", "write"):
            told = [one for one in limits if one["what"] == what and one["operation"] in (None, operation)]
            if case["disks"] > 1:
                told = [one for one in told if len(one["shared_by"]) == case["disks"]] or told
            near = [one for one in told if abs(one["sustained"]["value"] / rate - 1) <= 0.05]
            if not near:
                wrong.append(f"{operation} {what} {rate:.4g}: {[round(one['sustained']['value']) for one in told]}")
            elif peak and peak[1] > 1:
                # The bucket holds so much of the burst's rate, and runs dry at what is above the lasting one.
                most = min(rate * peak[0], near[0]["burst"] or math.inf)
                true = rate * peak[0] * peak[1] / (most - rate) if most > rate * 1.02 else None
                if true and true > 1:
                    bursts.append((near[0]["burst_seconds"] or 0, true))
    for one in limits:
        # What should be hidden and yet shows at its rate is true.
        is_true = any(abs(one["sustained"]["value"] / rate - 1) <= 0.05 for rate in case.get("rates", {}).get(one["what"], ()))
        if one["what"] not in case["limits"] and not is_true:
            wrong.append(f"named besides: {one['sentence']}")
        if case["disks"] > 1 and len(one["shared_by"]) != case["disks"]:
            wrong.append(f"not shared: {one['sentence']}")
    return wrong, bursts


def simulated(count, draw):
    """Targets with what a provider's limit comes to as far as it can be seen. A limit hides another that it does not let through,
    and credits for an hour hide what follows them: then the burst is what can be named. A device's own limits are none."""
    for number in range(count):
        kind = ["limits", "credits", "unseen", "free", "device"][number % 5]
        case = {"kind": kind, "disks": 1, "limits": {}, "seed": draw.randrange(1 << 31)}
        if kind in ("free", "device"):
            free = ["sim:nvme-gen4:filled", "sim:sata-ssd:filled", "sim:hdd-18tb:disk", "sim:nvme-gen4:stripe-4"]
            own = ["sim:nvme-gen4:uncooled", "sim:nvme-gen4:steady", "sim:sata-ssd:steady", "sim:nvme-gen4:stripe-4-steady"]
            yield case | {"name": draw.choice(own if kind == "device" else free)}
            continue
        requests, rate = log_uniform(draw, 500, 16_000), log_uniform(draw, 20e6, 500e6)
        case["rates"] = {REQUESTS: [requests], BYTES: [rate]}
        name = f"sim:cloud-gp3:baseline,gp3.limits.requests={requests:.0f},gp3.limits.rate={rate / 1e6:.3f}MB/s"
        if kind != "limits":
            factor, seconds = draw.uniform(2, 8), draw.uniform(0.5, 3) if kind == "credits" else 3600
            credits = requests * factor * seconds
            case["rates"][REQUESTS].append(requests * factor)
            name += f",gp3.limits.burst-requests={requests * factor:.0f},gp3.limits.request-credits={credits:.0f}"
            # Small requests use the credits up at the burst's rate, or at that of the bytes or the latency.
            fastest = min(requests * factor, rate / 4096, 25_000)
            if kind == "unseen" or credits / max(fastest - requests, 1) > 12:
                requests *= factor
        # 32 small requests outstanding wait only where a limit leaves less than half of what the latency allows.
        if requests < 0.97 * rate / 4096 and requests < 16_000:
            case["limits"][REQUESTS] = (requests, None)
        # Large ones count as several of 256 KiB.
        if rate < 0.97 * requests * (1 << 18):
            case["limits"][BYTES] = (rate, None)
        yield case | {"name": name}


def simulate(binary, case, command):
    words = [binary, *command.split(), case["name"], "--json", "--no-report", "--no-store", "--seed", str(case["seed"])]
    done = subprocess.run(words, capture_output=True, text=True)
    return json.loads(done.stdout)["limits"] if done.returncode == 0 else done.stderr


def tell(title, cases, results):
    """Prints each case and counts what is right, by command."""
    names = list(results)
    right, bursts = dict.fromkeys(names, 0), dict.fromkeys(names, ())
    for number, case in enumerate(cases):
        for name in names:
            wrong, told = judge(case, results[name][number])
            right[name] += not wrong
            bursts[name] += tuple(told)
            if wrong:
                print(f"{title} {number} {case['kind']} {case.get('name') or ' '.join(settings(case))}: {name}: {'; '.join(wrong)}", flush=True)
    print(f"{title}: " + "; ".join(f"{name} right in {right[name]} of {len(cases)}" for name in names), flush=True)
    near = {name: sum(abs(told / true - 1) <= 0.2 for told, true in bursts[name]) for name in names}
    if any(bursts.values()):
        print(f"{title}: bursts within 20 %: " + "; ".join(f"{name} {near[name]} of {len(bursts[name])}" for name in names), flush=True)
    least = len(cases) if title == "free" else 28 / 30 * len(cases)
    return all(right[name] >= least and near[name] * 10 >= 8 * len(bursts[name]) for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--throttled", type=int, default=30)
    parser.add_argument("--free", type=int, default=30)
    parser.add_argument("--simulated", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", action="append", choices=COMMANDS, help="only this one")
    parser.add_argument("--show", metavar="DIRECTORY", help="keep the outputs here")
    parser.add_argument("--qemu", action="store_true", help="throttle by QEMU itself: its emulated machines reach 36 000 IOPS")
    parser.add_argument("--only", action="append", metavar="GROUP", help="of throttled, free, simulated")
    parser.add_argument("--case", type=int, action="append", help="only these of the throttled, by their numbers")
    parser.add_argument("--blkio", metavar="DIRECTORY", help="throttle files there by control groups")
    arguments = parser.parse_args()
    if arguments.show:
        os.makedirs(arguments.show, exist_ok=True)
    for name in set(COMMANDS) - set(arguments.command or COMMANDS):
        del COMMANDS[name]
    binary, draw = os.path.abspath(arguments.binary), random.Random(arguments.seed)
    groups = {"throttled": list(throttled(arguments.throttled, draw)),
              "free": [{"kind": "free", "disks": 1, "limits": {}, "number": f"free-{number}"} for number in range(arguments.free)]}
    groups["throttled"] = [case for case in groups["throttled"] if case["number"] in (arguments.case or [case["number"]])]
    if arguments.blkio:
        for case in groups["throttled"]:
            case["limits"] = {what: (rate, None) for what, (rate, _) in case["limits"].items()}
    good = True
    for title, cases in groups.items():
        if cases and title in (arguments.only or groups):
            # What is throttled leaves a CPU idle.
            with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count() if title == "throttled" else 1) as pool:
                throttle = None if arguments.qemu or arguments.blkio else f"{folder}/throttle"
                if throttle:
                    subprocess.run(["rustc", "-O", "--edition", "2024", "-o", throttle, HERE / "throttle.rs"], check=True)
                if arguments.qemu:
                    held = lambda case, name: in_a_guest(binary, case, name, arguments.show)
                elif arguments.blkio:
                    held = lambda case, name: in_a_group(arguments.blkio, binary, case, name, arguments.show)
                else:
                    held = lambda case, name: behind_a_throttle(throttle, binary, case, name, arguments.show)
                each = {name: list(pool.map(lambda case: held(case, name), cases)) for name in COMMANDS}
            good &= tell(title, cases, each)
    cases = list(simulated(arguments.simulated, draw))
    if cases and "simulated" in (arguments.only or ["simulated"]):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            each = {name: list(pool.map(lambda case: simulate(binary, case, command), cases)) for name, command in COMMANDS.items()}
        good &= tell("simulated", cases, each)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
