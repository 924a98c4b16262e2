#!/usr/bin/env python3
"""Several hosts, emulated by network namespaces on a bridge: what the ranks say against what is known.

    bench/hosts.py [--binary target/release/halfpower] [--hosts 2] [--rounds 10] [--ior PROGRAM] [--elbencho PROGRAM]

MPICH's launcher starts one process in each namespace, with a host name of its own. Checked are: every rank's host; that the requests of
all ranks are those that the server of a shared volume counted (nbdkit's log); how far the ranks began from one another; the offsets of
clocks that time namespaces shift by 1 000 s from host to host, within their bounds; that a rank whose link is held to 5 MB/s is named as the straggler, by its host; and that the end of a killed rank ends the others within ten
seconds. Beside it, by turns, fio's server on each host, and IOR and elbencho if they are named, read the same file with the same requests:
4 KiB, direct, one after another, each host its own part. Larger buffers lie in several pieces of memory, and how many differs from
program to program and decides the rate (docs/decisions/engine-loop.md). Needs root, MPICH with its compiler, nbdkit, iproute2, fio. Ends with status 1 where something known was told wrongly.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NET = "192.0.2"
CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
SHIFT_S = 1000


class Hosts:
    """Namespaces `hp-PID-N`, and one with the bridge between them, from which the launcher starts."""

    def __init__(self, count, folder):
        self.names = [f"hp-{os.getpid()}-{number}" for number in range(count + 1)]
        self.count, self.folder = count, folder
        for name in self.names:
            self.ip("netns", "add", name)
        hub = self.names[0]
        self.ip("-n", hub, "link", "add", "br0", "type", "bridge")
        self.ip("-n", hub, "address", "add", f"{NET}.254/24", "dev", "br0")
        self.ip("-n", hub, "link", "set", "br0", "up")
        for number, name in enumerate(self.names[1:], 1):
            self.ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", f"v{number}", "netns", hub)
            self.ip("-n", name, "address", "add", f"{NET}.{number}/24", "dev", "eth0")
            self.ip("-n", name, "link", "set", "eth0", "up")
            self.ip("-n", name, "link", "set", "lo", "up")
            self.ip("-n", hub, "link", "set", f"v{number}", "master", "br0", "up")
        self.shell = Path(folder, "shell")
        self.shell.write_text(
            "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nn=${1##*.}; shift\n"
            # Of a clock source that is not steady, the program reads the kernel's clock, which can be shifted.
            f"echo jiffies > {folder}/clock\n[ -n \"$SHIFT\" ] && apart=\"--fork --mount --time --monotonic $((n * SHIFT))\" "
            f"&& mount='mount --bind {folder}/clock {CLOCK_SOURCE};'\n"
            f"exec ip netns exec hp-{os.getpid()}-$n unshare --uts $apart sh -c \"hostname host$n; $mount $*\"\n"
        )
        self.shell.chmod(0o755)

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    def inside(self, number):
        return ["ip", "netns", "exec", self.names[number]]

    def launch(self, binary, *words, shift=""):
        """The launcher's command; `shift` seconds from host to host."""
        hosts = ",".join(f"{NET}.{number}" for number in range(1, self.count + 1))
        launcher = ["mpirun.mpich", "-localhost", f"{NET}.254", "-hosts", hosts, "-ppn", "1", "-launcher", "rsh",
                    "-launcher-exec", self.shell, "-n", str(self.count), binary, *words]
        return [*self.inside(0), "env", f"SHIFT={shift}", "FI_PROVIDER=tcp", "FI_TCP_IFACE=eth0", f"HALFPOWER_MPI={self.folder}/shim.so", *launcher]

    def measure(self, binary, *words, **options):
        done = subprocess.run(self.launch(binary, *words, "--json", "--no-store", **options), capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def of_ior(self, ior, file, part):
        """MB/s that IOR reads."""
        words = ["-a", "POSIX", "--posix.odirect", "-t", "4k", "-b", str(part), "-r", "-k", "-E", "-o", file]
        done = subprocess.run(self.launch(ior, *words), capture_output=True, text=True)
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith("read ")]
        if not rows:
            sys.exit(done.stdout + done.stderr)
        return float(rows[0][1]) * 1.048576

    def of_fio(self, file, part):
        """MB/s that fio's servers read."""
        words = []
        for number in range(1, self.count + 1):
            job = Path(self.folder, f"{number}.fio")
            job.write_text(f"[j]\nfilename={file}\nrw=read\nbs=4k\ndirect=1\nioengine=psync\noffset={(number - 1) * part}\nsize={part}\n")
            words += [f"--client={NET}.{number}", str(job)]
        done = subprocess.run([*self.inside(0), "fio", "--output-format=json", *words], capture_output=True, text=True)
        text = done.stdout[done.stdout.index("{"):]
        jobs = [job for job in json.loads(text)["client_stats"] if job["jobname"] != "All clients"]
        return sum(job["read"]["bw_bytes"] for job in jobs) / 1e6

    def of_elbencho(self, elbencho, file, part):
        """MB/s that elbencho's services read, until the last is done."""
        hosts = ",".join(f"{NET}.{number}" for number in range(1, self.count + 1))
        result = Path(self.folder, "elbencho.json")
        result.unlink(missing_ok=True)
        words = ["-r", "-b", "4k", "-t", "1", "--direct", "--size", str(self.count * part), "--jsonfile", result, file]
        subprocess.run([*self.inside(0), elbencho, "--hosts", hosts, *words], check=True, capture_output=True)
        return float(json.loads(result.read_text())["last_done"]["bytes/s"]) / 1e6

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


def beside(hosts, binary, arguments):
    """Reads one file by turns with each program; prints medians and least and most."""
    part = 64 << 20
    with tempfile.NamedTemporaryFile(dir=arguments.directory) as file:
        for _ in range(hosts.count * part >> 20):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        servers = [subprocess.Popen([*hosts.inside(number), "fio", f"--server={NET}.{number}"], stdout=subprocess.DEVNULL)
                   for number in range(1, hosts.count + 1)]
        if arguments.elbencho:
            service = [arguments.elbencho, "--service", "--foreground"]
            servers += [subprocess.Popen([*hosts.inside(number), *service], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                        for number in range(1, hosts.count + 1)]
        time.sleep(0.5)
        words = ["io", file.name, "--buffering", "direct", "--personality", "sync", "--bs", "4k", "--requests", str(part >> 12)]
        programs = {
            "halfpower": lambda: hosts.measure(binary, *words)["total"]["bytes_per_s"] / 1e6,
            "fio": lambda: hosts.of_fio(file.name, part),
        }
        if arguments.ior:
            programs["IOR"] = lambda: hosts.of_ior(arguments.ior, file.name, part)
        if arguments.elbencho:
            programs["elbencho"] = lambda: hosts.of_elbencho(arguments.elbencho, file.name, part)
        try:
            rates = {name: [] for name in programs}
            for _ in range(arguments.rounds):
                for name, rate in programs.items():
                    rates[name].append(rate())
        finally:
            for server in servers:
                server.kill()
        for name, all_of in rates.items():
            print(f"{name} reads {statistics.median(all_of):.0f} MB/s ({min(all_of):.0f} to {max(all_of):.0f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--ior", type=os.path.abspath, help="IOR's program, built with the same MPI")
    parser.add_argument("--elbencho", type=os.path.abspath, help="elbencho's program")
    parser.add_argument("--directory", default=".", help="of the file that all read")
    arguments = parser.parse_args()
    binary, good = os.path.abspath(arguments.binary), True

    def tell(what, is_right, words):
        nonlocal good
        good &= is_right
        print(f"{what}: {words}{'' if is_right else ': WRONG'}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        source = subprocess.run([binary, "mpi"], capture_output=True, check=True).stdout
        compiler = ["mpicc.mpich", "-shared", "-fPIC", "-O2", "-xc", "-", "-o", f"{folder}/shim.so"]
        subprocess.run(compiler, input=source, check=True)
        hosts = Hosts(arguments.hosts, folder)
        log = Path(folder, "log")
        serve = [*hosts.inside(0), "nbdkit", "--foreground", "-i", f"{NET}.254", "--filter=log", "memory", "64M", f"logfile={log}"]
        server = subprocess.Popen(serve, stderr=subprocess.DEVNULL)
        volume = f"nbd://{NET}.254/"
        try:
            time.sleep(0.5)
            began, bounds, drifts = [], [], []
            for _ in range(arguments.rounds):
                sample = hosts.measure(binary, "io", volume, "--pattern", "random", "--bs", "4k", "--depth", "4", "--duration", "300ms")
                others = [rank for rank in sample["ranks"] if rank["rank"]]
                began += [rank["late_s"] * 1e6 for rank in sample["ranks"]]
                bounds += [rank["offset_bound_s"] * 1e6 for rank in others]
                drifts += [abs(rank["drift_s"]) * 1e6 for rank in others]
            names = sorted(rank["host"] for rank in sample["ranks"])
            tell("hosts", names == [f"host{number}" for number in range(1, arguments.hosts + 1)], names)
            print(f"began after the agreed start: p50 {statistics.median(began):.0f} µs, most {max(began):.0f} µs")
            print(f"offsets: wrong by at most {statistics.median(bounds):.1f} µs at the median, {max(bounds):.1f} µs; drift most {max(drifts):.1f} µs")
            sample = hosts.measure(binary, "io", volume, "--bs", "4k", "--duration", "300ms", shift=SHIFT_S)
            wrong = [(rank["offset_s"] - rank["rank"] * SHIFT_S, rank["offset_bound_s"]) for rank in sample["ranks"] if rank["rank"]]
            words = ", ".join(f"{error * 1e6:+.2f} µs with a bound of {bound * 1e6:.2f}" for error, bound in wrong)
            is_kernels = sample["environment"]["clock"]["source"] == "monotonic"
            tell("shifted clocks", is_kernels and all(abs(error) <= bound for error, bound in wrong), words)
            before = log.read_text().count(" Read ")
            sample = hosts.measure(binary, "io", volume, "--pattern", "random", "--bs", "4k", "--depth", "4", "--requests", "500")
            counted, told = log.read_text().count(" Read ") - before, sample["total"]["requests"]
            sums = sum(rank["total"]["requests"] for rank in sample["ranks"])
            tell("requests", counted == told == sums == 500 * arguments.hosts, f"server {counted}, sample {told}, ranks {sums}")
            beside(hosts, binary, arguments)
            slow = [*hosts.inside(arguments.hosts), "tc", "qdisc", "add", "dev", "eth0", "root", "tbf"]
            subprocess.run([*slow, "rate", "40mbit", "burst", "32kb", "latency", "50ms"], check=True)
            sample = hosts.measure(binary, "io", volume, "--op", "write", "--overwrite", "--bs", "64k", "--depth", "4", "--duration", "1s")
            said = [one["message"] for one in sample["warnings"] if one["code"] == "straggler"]
            tell("straggler", len(said) == 1 and f"(host{arguments.hosts}" in said[0], said)
            running = subprocess.Popen(hosts.launch(binary, "io", volume, "--duration", "60s", "--no-store"), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(3)
            ranks = subprocess.run(["pgrep", "-f", f"^{binary} io {volume} --duration 60s"], capture_output=True, text=True).stdout.split()
            os.kill(int(ranks[-1]), signal.SIGKILL)
            begun = time.monotonic()
            running.wait(timeout=60)
            took = time.monotonic() - begun
            tell("a killed rank", len(ranks) == arguments.hosts and running.returncode != 0 and took < 10, f"all ended after {took:.1f} s")
        finally:
            server.kill()
            hosts.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
