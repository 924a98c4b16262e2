#!/usr/bin/env python3
"""Holds everything that reads files to 200 MiB of memory and ten seconds of CPU: bench/inputs.py PROGRAM [CASE...]

Files that are none to read (a pipe, a device, a socket, a sparse file of 64 GiB, a file of the kernel that waits), each as a
study, an include, a machine, an import and a store; and files of every form made to take the most memory. Prints the memory
and the CPU time of each, and fails where one is over a bound or has to be killed after a minute.
"""
import base64
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

MEMORY_MIB = 200
TIME_S = 10
MIB = 1 << 20
ROOT = Path(__file__).resolve().parent.parent
SEEDS = ROOT / "crates/halfpower/src/interchange/import/seeds"


def run(program, arguments, env):
    """Status, memory in MiB, CPU time in s, the first line of what was said. The memory of a child is at least that of this
    process, which forks it, so nothing large is made here."""
    start = time.time()
    child = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=env)
    killed = False
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        if time.time() - start > 60 and not killed:
            killed = True
            os.kill(child.pid, 9)
        time.sleep(0.005)
    lines = child.stdout.read(4096).decode(errors="replace").split("\n")
    said = next((line for line in lines if line.startswith(("error", "Run"))), lines[0])
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss >> 10, usage.ru_utime + usage.ru_stime, said


def fill(head, unit, tail=b"", size=32 * MIB):
    return head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


def rows(head, row, size=31 * MIB):
    parts, length, number = [head], len(head), 0
    while length < size:
        parts.append(row(number))
        length += len(parts[-1])
        number += 1
    return b"".join(parts)


def histogram(counts):
    """A line's histogram as HdrHistogram packs it."""
    cells = b""
    for count in counts:
        value = count << 1
        while value >= 0x80:
            cells += bytes([value & 0x7F | 0x80])
            value >>= 7
        cells += bytes([value])
    encoded = struct.pack(">IIII", 0x1C849313, len(cells), 0, 2) + struct.pack(">qqd", 1, (1 << 40) - 1, 1.0) + cells
    stream = zlib.compress(encoded)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(stream)) + stream)


def seed(form):
    return sorted((SEEDS / form).iterdir())[0].read_bytes()


def imports():
    """Name, form, name of the file, content."""
    fio = b'{"fio version":"fio-3.33","jobs":[{"jobname":"a"}'
    log = b"#[Histogram log format version 1.3]\n"
    own = b"#[Service times in nanoseconds by Halfpower; Interval_Max is in milliseconds]\n"
    small, big = histogram([5]), histogram([1] * 3000)
    job = b'{"fio version":"fio-3.33","jobs":[{"jobname":"a%d","read":{"io_bytes":1,"bw":1,"iops":1,"runtime":1,"total_ios":1}}]}\n'
    trace = seed("sqlio").split(b"\n")[0] + b"\n"
    row = b"0.52,66.97,read,%d,1,H,1,120,24000,120.01,16,234,Fri Mar 10 23:27:08 2000,x\n"
    span = b"<TimeSpan><TestTimeSeconds>1</TestTimeSeconds></TimeSpan>"
    return [
        ("numbers", "fio", "f", lambda: fill(b"[1", b",1", b"]")),
        ("objects", "fio", "f", lambda: fill(b"[{}", b",{}", b"]")),
        ("few-jobs", "fio", "f", lambda: fill(fio, b',{"jobname":"a"}', b"]}", 1700 << 10)),
        ("documents", "fio", "f", lambda: rows(b"", lambda i: job % i)),
        ("bytes", "fio", "f", lambda: b"\x81" * (32 * MIB)),
        ("latencies", "fio-log", "a_lat.1.log", lambda: b"1,0,0,1\n" * 2_000_000),
        ("windows", "fio-log", "a_bw.1.log", lambda: b"".join(b"%d,5,0,0\n" % (i * 10) for i in range(100_000))),
        ("bins", "fio-log", "a_hist.1.log", lambda: b"".join(b"%d,0,1%s\n" % (i, b",1" * 1856) for i in range(8000))),
        ("trace", "sqlio", "t.csv", lambda: rows(trace, lambda i: row % (i % 64 + 1))),
        ("tables", "iozone", "t.txt", lambda: fill(b"", seed("iozone"))),
        ("long-line", "iozone", "t.txt", lambda: b"x" * (32 * MIB)),
        ("elements", "diskspd", "t.xml", lambda: fill(b"<Results>", b"<a><b/></a>", b"</Results>", MIB)),
        ("spans", "diskspd", "t.xml", lambda: fill(b"<Results>", span, b"</Results>", 600 << 10)),
        ("phases", "elbencho", "t.csv", lambda: fill(seed("elbencho"), b"\n")),
        ("results", "ior", "t.json", lambda: fill(b'{"tests":[{"Results":[[{"bwMiB":1}', b",{}", b"]]}]}", 400 << 10)),
        ("records", "halfpower", "t.jsonl", lambda: fill(b"", seed("halfpower"))),
        ("tags", "hdr", "t.hdr", lambda: log + b"".join(b"Tag=t%d,%d.0,1.0,1.0,%s\n" % (i, i, small) for i in range(9000))),
        ("histograms", "hdr", "t.hdr", lambda: own + b"".join(
            b"Tag=sample-%d-read,%d.0,1.0,1.0,%s\n" % (i, i, big) for i in range(4500))),
    ]


def texts():
    """Name, command, content: studies of 256 KiB and machines of 1 MiB."""
    study = b'name="a"\n[[sweep]]\nname="r"\noperation="read"\nrequests=20\n'
    machine = (ROOT / "machines/nvme-gen4.toml").read_bytes()
    cases = []
    for name, unit, tail in [("numbers", b"1,", b"1]"), ("tables", b"{},", b"1]"), ("lists", b"[],", b"1]")]:
        cases.append((name, ["study", "check"], lambda unit=unit, tail=tail: fill(study + b"x=[", unit, tail, 256 << 10)))
        cases.append((name, ["sim", "show"], lambda unit=unit, tail=tail: fill(machine + b"\nx=[", unit, tail, MIB)))
    cases.append(("mistakes", ["study", "check"], lambda: fill(study, b"=\n", b"", 256 << 10)))
    cases.append(("keys", ["study", "check"], lambda: study + b"".join(b"k%d=1\n" % i for i in range(25_000))))
    cases.append(("volumes", ["sim", "show"], lambda: machine + b"".join(b'[volume.v%d]\ndescription="x"\n' % i for i in range(20_000))))
    return cases


def written(path, make):
    """A file that another process makes: this one stays small."""
    if (child := os.fork()) == 0:
        Path(path).write_bytes(make())
        os._exit(0)
    os.waitpid(child, 0)


def special():
    """Names of what is none to read."""
    os.mkfifo("pipe")
    os.mkdir("folder")
    socket.socket(socket.AF_UNIX).bind("socket")
    with open("sparse", "wb") as file:
        file.truncate(64 << 30)
    return ["./pipe", "./folder", "./socket", "./sparse", "/dev/zero", "/proc/kmsg", "/proc/self/pagemap"]


def main():
    program, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    failures = 0

    def judge(name, arguments, statuses):
        nonlocal failures
        status, memory_mib, time_s, said = run(program, arguments, env)
        is_wrong = memory_mib >= MEMORY_MIB or time_s > TIME_S or status not in statuses
        failures += is_wrong
        print(f"{'!!' if is_wrong else '  '} {name:32} status {status} {memory_mib:4} MiB {time_s:5.1f} s  {said[:90]}", flush=True)

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chdir(folder)
        env = dict(os.environ, XDG_DATA_HOME=folder + "/home")
        for name in special():
            Path("including.toml").write_text(f'name = "a"\ninclude = "{name}"\n')
            for what, arguments in [("study", ["study", "check", name]), ("include", ["study", "check", "including.toml"]),
                                    ("machine", ["sim", "show", name]), ("import", ["import", name]),
                                    ("store", ["runs", "--store", name])]:
                if not only or what in only:
                    judge(f"{what} {name}", arguments, (1, 2))
        for name, form, file, make in imports():
            if not only or form in only or name in only:
                written(file, make)
                # Twice: the second is held against the first.
                for again in ["", " again"]:
                    judge(f"{form} {name}{again}", ["import", "--format", form, "--store", "s.db", file], (0, 1))
                for file in [file, *Path(".").glob("s.db*")]:
                    os.remove(file)
        for name, command, make in texts():
            if not only or name in only:
                written("t.toml", make)
                judge(f"{command[0]} {name}", [*command, "./t.toml"], (2,))
    sys.exit(1 if failures else 0)


main()
