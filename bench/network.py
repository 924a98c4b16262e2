#!/usr/bin/env python3
"""Volumes of servers against truth, and requests per second beside fio's client of the same server.

    bench/network.py [--binary target/release/halfpower] [--times 10] [--seed N] truth
    bench/network.py [--binary …] [--rounds 5] [--target NAME --peer COMMAND] beside

`truth` starts servers on this host alone and compares with it what `io`, `limits` and `run` say: nbdkit's delay filter (5 ms, within
0.5 ms); its rate filter and links of a network namespace held by tbf (20 to 200 MB/s, within 3 %). The limit must be named: a rate
limit for the filter; the link for reads and writes over the link; the server for one that computes before each answer, one at a time;
the credits of a Samba that grants 2 to 16, where 64 requests are asked for, and not where fewer are; delayed acknowledgements for a
server that sends an answer in two parts without TCP_NODELAY, and not with it. `beside` reads 4 KiB and
64 KiB at QD1, QD8 and QD32 from nbdkit's memory by turns with fio's nbd engine (libnbd), and prints requests per second and CPU time a
request, medians with the least and the greatest. With --target and --peer the same of any server: the command, in which {size} and
{depth} stand for both, reads at random for three seconds and prints its requests per second and CPU µs a request. Needs root, nbdkit, iproute2,
Samba, and fio with that engine.

Ends with status 1 where a figure of `truth` is wrong more often than once in ten times.
"""

import argparse
import contextlib
import hashlib
import itertools
import json
import multiprocessing
import os
import random
import shlex
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

# Of a frame of Ethernet with an MTU of 1500: what TCP with timestamps carries.
PAYLOAD = 1448 / 1514


@contextlib.contextmanager
def nbdkit(*words, inside=(), address=()):
    """A server's name, on a socket or at an address."""
    with tempfile.TemporaryDirectory() as folder:
        where = address or ("--unix", f"{folder}/socket")
        command = [*inside, "nbdkit", "--foreground", *map(str, where), *words]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
        try:
            while not address and not os.path.exists(f"{folder}/socket"):
                time.sleep(0.01)
            time.sleep(0.3 if address else 0)
            yield f"nbd://{address[1]}:{address[3]}/" if address else f"nbd+unix:///?socket={folder}/socket"
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def link(rate):
    """Two network namespaces with a link of `rate` bytes per second both ways; the prefixes of commands in each."""
    names = [f"halfpower-{os.getpid()}-{end}" for end in "ab"]
    run = lambda *words: subprocess.run(words, check=True)
    try:
        for name in names:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", "va", "netns", names[0], "type", "veth", "peer", "name", "vb", "netns", names[1])
        for name, device, address in zip(names, ("va", "vb"), ("192.0.2.1/24", "192.0.2.2/24")):
            inside = ["ip", "netns", "exec", name]
            run(*inside, "ip", "address", "add", address, "dev", device)
            run(*inside, "ip", "link", "set", device, "up")
            # Segments travel together as from a card that cuts them, and tbf counts the headers of each.
            run(*inside, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{8 * rate:.0f}bit", "burst", "32kb", "latency", "50ms")
        yield [("ip", "netns", "exec", name) for name in names]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


def serve(listener, rounds, parts, at_once):
    """An NBD server of zeros: it computes `rounds` hashes of an answer at most and sends it in parts, with TCP_NODELAY or without."""
    client, _ = listener.accept()
    if os.fork():
        return serve(listener, rounds, parts, at_once)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, at_once)
    stream = client.makefile("rb")
    client.sendall(b"NBDMAGICIHAVEOPT" + struct.pack(">H", 3))
    stream.read(4)
    option = 0
    while option != 7:
        _, option, length = struct.unpack(">QII", stream.read(16))
        stream.read(length)
        for kind, data in ((3, struct.pack(">HQH", 0, 64 << 20, 1)), (1, b"")) if option == 7 else ((1 << 31 | 1, b""),):
            client.sendall(struct.pack(">QIII", 0x3E889045565A9, option, kind, len(data)) + data)
    while head := stream.read(28):
        _, _, command, tag, _, length = struct.unpack(">IHHQQI", head)
        if command:
            break
        data = bytes(length)
        for _ in range(random.randint(1, rounds) if rounds else 0):
            hashlib.sha256(data).digest()
        answer = struct.pack(">IIQ", 0x67446698, 0, tag) + data
        for part in (answer[:16], answer[16:]) if parts == 2 else (answer,):
            client.sendall(part)
    os._exit(0)


@contextlib.contextmanager
def server(rounds=0, parts=1, at_once=True):
    """The name of such a server's export."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = multiprocessing.Process(target=serve, args=(listener, rounds, parts, at_once))
        process.start()
        try:
            yield f"nbd://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            process.kill()
            process.join()


@contextlib.contextmanager
def samba(credits):
    """The name of a file on a Samba share with `smb2 max credits = credits`."""
    port = 10811
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/share")
        with open(f"{folder}/share/file", "wb") as file:
            file.write(random.Random(1).randbytes(64 << 20))
        with open(f"{folder}/smb.conf", "w") as conf:
            places = [f"{what} = {folder}" for what in ("private dir", "lock directory", "state directory", "cache directory", "pid directory")]
            conf.write("\n".join(["[global]", "map to guest = Bad User", "guest account = root", *places, f"ncalrpc dir = {folder}/ncalrpc",
                "bind interfaces only = yes", "interfaces = lo", f"smb ports = {port}", "disable netbios = yes", "load printers = no",
                f"log file = {folder}/log", f"smb2 max credits = {credits}", "[share]", f"path = {folder}/share", "guest ok = yes"]))
        process = subprocess.Popen(["smbd", "-F", "--no-process-group", "-s", f"{folder}/smb.conf"], stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            wait_for(port)
            yield f"smb://127.0.0.1:{port}/share/file"
        finally:
            process.terminate()
            process.wait()


def wait_for(port):
    for _ in range(1000):
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)


def halfpower(binary, *words, inside=()):
    done = subprocess.run([*inside, binary, *words, "--json", "--no-store"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def bottleneck(binary, *words, inside=()):
    """The bottleneck that a command names, in words."""
    done = subprocess.run([*inside, binary, *words, "--no-store"], capture_output=True, text=True, check=True)
    return next((line.split(None, 1)[1] for line in done.stdout.splitlines() if line.split()[:1] == ["bottleneck"]), "none")


def of_survey(binary, name, inside=()):
    """The sentence of a survey on the bottleneck."""
    words = [*inside, binary, "run", "--quick", name, "--no-store", "--no-report"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return next(line for line in done.stdout.splitlines() if line.startswith("The bottleneck"))


def truth(binary, arguments):
    draw, right, asked = random.Random(arguments.seed), {}, {}

    def tell(what, is_right, words):
        asked[what] = asked.get(what, 0) + 1
        right[what] = right.get(what, 0) + is_right
        print(f"{what}: {words}{'' if is_right else ': WRONG'}", flush=True)

    for _ in range(arguments.times):
        with nbdkit("--filter=delay", "memory", "64M", "rdelay=5ms") as name:
            mean = halfpower(binary, "io", name, "--bs", "4k", "--duration", "1s")["total"]["latency_ns"]["mean"] / 1e6
            tell("delay of 5 ms", abs(mean - 5) <= 0.5, f"{mean:.2f} ms")
        rate = 20e6 * 10 ** draw.random()
        with nbdkit("--filter=rate", "memory", "1G", f"rate={8 * rate:.0f}") as name:
            found = halfpower(binary, "limits", "--no-writes", name, "--no-report")["limits"]
            told = [one for one in found if one["what"] == "bytes_per_s"]
            near = any(abs(one["sustained"]["value"] / rate - 1) <= 0.03 for one in told)
            tell("rate filter", near, f"{rate / 1e6:.1f} MB/s: {[one['sentence'] for one in found]}")
            why = of_survey(binary, name)
            tell("rate filter named by run", "is a limit of" in why, why)
        with link(rate) as (here, there), nbdkit("memory", "1G", inside=there, address=("-i", "192.0.2.2", "-p", 10809)) as name:
            words = ["io", name, "--bs", "1m", "--depth", "4", "--duration", "3s", "--warmup", "1s"]
            reached = halfpower(binary, *words, inside=here)["total"]["bytes_per_s"] / (rate * PAYLOAD)
            tell("link", abs(reached - 1) <= 0.03, f"{rate / 1e6:.1f} MB/s: {reached:.3f} of what its frames carry")
            why = bottleneck(binary, *words, inside=here)
            tell("link named", why.startswith("the link"), why)
            why = bottleneck(binary, *words, "--op", "write", "--overwrite", inside=here)
            tell("link named, writes", why.startswith("the link"), why)
            why = of_survey(binary, name, inside=here)
            tell("link named by run", "is the link" in why, why)
        rounds = draw.randint(10, 100)
        with server(rounds) as name:
            why = of_survey(binary, name)
            tell("server named", "is the server" in why, f"up to {rounds} hashes: {why}")
        credits = draw.randint(2, 16)
        with samba(credits) as name:
            words = ["io", name, "--pattern", "random", "--bs", "4k", "--duration", "1s", "--depth"]
            few, many = (bottleneck(binary, *words, str(depth)) for depth in (credits // 2, 64))
            is_right = many.startswith("the server's credits") and not few.startswith("the server's credits")
            tell("credits named", is_right, f"{credits} credits, QD64: {many}; QD{credits // 2}: {few}")
        # More requests at a time may leave no answer waiting: their own requests carry acknowledgements.
        words = ["--bs", f"{4 << draw.randint(0, 2)}k", "--duration", "2s"]
        with server(parts=2, at_once=False) as late, server(parts=2) as early:
            held, free = (bottleneck(binary, "io", name, *words) for name in (late, early))
            is_right = held.startswith("delayed acknowledgements") and not free.startswith("delayed")
            tell("delayed acknowledgements named", is_right, f"{' '.join(words)}: {held}; with TCP_NODELAY: {free}")
    return all(10 * right[what] >= 9 * asked[what] for what in asked) or print(right, asked)


def fio(name, size, depth):
    words = ["--name=x", "--ioengine=nbd", f"--uri={name}", "--rw=randread", f"--bs={size}", f"--iodepth={depth}", "--time_based",
             "--runtime=3", "--size=256m", "--norandommap", "--output-format=json", "--thread"]
    done = subprocess.run(["fio", *words], capture_output=True, text=True)
    job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
    iops = job["read"]["iops"]
    return iops, (job["usr_cpu"] + job["sys_cpu"]) / 100 / iops * 1e6


def ours(binary, name, size, depth):
    words = ["--pattern", "random", "--bs", str(size), "--depth", str(depth), "--duration", "3s"]
    sample = halfpower(binary, "io", name, *words)
    return sample["total"]["requests_per_s"], sample["cpu"]["lower_us_per_request"]


def peer(command, size, depth):
    words = [word.format(size=size, depth=depth) for word in shlex.split(command)]
    rate, cost = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return float(rate), float(cost)


def beside(binary, arguments):
    print("| server | request | QD | | requests/s | CPU µs/request | ratio of requests/s |")
    print("|---|---|---|---|---|---|---|")
    spread = lambda all: f"{statistics.median(all):.4g} ({min(all):.4g}–{max(all):.4g})"

    def compare(where, name, other, program):
        for size, depth in itertools.product((4096, 65536), (1, 8, 32)):
            turns = [(ours(binary, name, size, depth), other(size, depth)) for _ in range(arguments.rounds)]
            ratio = [own[0] / its[0] for own, its in turns]
            for who, side in (("halfpower", 0), (program, 1)):
                rates, costs = ([turn[side][part] for turn in turns] for part in (0, 1))
                print(f"| {where} | {size} | {depth} | {who} | {spread(rates)} | {spread(costs)} | {'' if side else spread(ratio)} |", flush=True)

    if arguments.target:
        compare(arguments.target.split(":")[0], arguments.target, lambda *of: peer(arguments.peer, *of), "peer")
        return True
    for where, address in (("socket", ()), ("TCP", ("-i", "127.0.0.1", "-p", 10810))):
        with nbdkit("memory", "256M", address=address) as name:
            compare(where, name, lambda *of: fio(name, *of), "fio")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target")
    parser.add_argument("--peer")
    parser.add_argument("command", choices=["truth", "beside"])
    arguments = parser.parse_args()
    if not shutil.which("nbdkit"):
        sys.exit("skipped: nbdkit is not installed")
    command = {"truth": truth, "beside": beside}[arguments.command]
    sys.exit(0 if command(os.path.abspath(arguments.binary), arguments) else 1)


if __name__ == "__main__":
    main()
