#!/usr/bin/env python3
"""Contradictions within a run: surveys targets and checks that its verdict, findings, models and pyramids agree.

    bench/contradictions.py [--binary target/release/halfpower] [--quick] [TARGET…]

Without targets, every volume of the shipped simulated machines. Checked are: one bottleneck of reads and one of writes, in the
verdict and in the pyramids; the best of each kind as in the peaks; advised depths and the knee; no rate above a limit that is
sure; no fitted limit or saturation below what was measured; no negative cost. Ends with status 1 where two disagree.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Noise of a fit against a mean.
SLACK = 1.05


def words(account):
    return account["level"] + (" (likely)" if account["confidence"] == "likely" else "")


def measured(run, cells):
    return [cell for cell in run["analysis"]["cells"] if cell["cell"] in cells]


def of_bottlenecks(run):
    verdict = run["verdict"]
    said = " ".join(verdict["sentences"])
    for name, account in verdict["bottleneck"].items():
        if account and account["confidence"] and account["level"] not in said:
            yield f"the verdict does not say what limits {name}: {account['level']}"
    for pyramid in run["analysis"]["pyramids"]:
        account = verdict["bottleneck"]["writes" if pyramid["operation"] == "write" else "reads"]
        if not account or not account["confidence"] or pyramid["bottleneck"]:
            if account and pyramid["bottleneck"] and account["confidence"] and account["level"].startswith("a limit of"):
                continue
            if account and pyramid["bottleneck"] and pyramid["bottleneck"].replace("_", " ") not in words(account) \
                    and account["confidence"] != "sure":
                yield f"bottleneck of {pyramid['operation']}: {words(account)}, and {pyramid['brief']} of the pyramid"
        elif pyramid["brief"].partition(";")[0] != words(account):
            yield f"bottleneck of {pyramid['operation']}: {words(account)}, and {pyramid['brief']} of the pyramid"


def of_peaks(run):
    findings = [one for one in run["analysis"]["findings"] if one["code"] == "peak" and one["reach"] == "storage"]
    for best in run["verdict"]["peaks"]:
        alike = [one for one in findings if one["subject"].startswith(best["kind"] + ",")]
        most = max((one["estimates"][0]["value"] for one in alike), default=0)
        if best["kind"] != "write and fsync" and most > best["rate"]["value"] * 1.0001:
            yield f"best {best['kind']}: {best['rate']['value']:.4g}, and a peak of {most:.4g}"
        for limit in run["limits"]:
            operation = best["workload"]["operation"]
            unit = {"bytes_per_second": "bytes_per_s", "requests_per_second": "requests_per_s"}[best["rate"]["quantity"]]
            is_of = limit["operation"] in (None, operation) and limit["what"] == unit and limit["confidence"] == "sure"
            if is_of and best["rate"]["value"] > limit["sustained"]["value"] * SLACK:
                yield f"best {best['kind']}: {best['rate']['value']:.4g} above the limit {limit['sentence']}"


def of_depth(run):
    advice = {one["use"]: one for one in run["verdict"]["advice"]}
    reads = advice.get("random reads")
    for finding in run["analysis"]["findings"]:
        is_of = finding["code"] == "knee" and finding["subject"].startswith("random read")
        if is_of and reads and finding["estimates"] and f", {reads['buffering']}" in finding["subject"]:
            depth, [low, high] = finding["estimates"][0]["value"], reads["depth"]
            if not low <= depth <= high:
                yield f"depth: advised QD{low} to {high}, and the knee at QD{depth:g}"


def of_fits(run):
    analysis = run["analysis"]
    for model in analysis["models"]["concurrency"]:
        most = max((cell["requests_per_s"]["value"] for cell in measured(run, model["cells"])), default=0)
        if model["matches"] == "good" and model["limit"]["value"] * SLACK < most:
            yield f"model of {model['subject']}: a limit of {model['limit']['value']:.4g} IOPS, and {most:.4g} measured"
    for cost in analysis["costs"]:
        for name in ("fixed", "marginal"):
            # An estimate of nothing may be below zero; people read that it is not significant.
            if (cost[name]["high"] or cost[name]["value"]) < 0:
                yield f"CPU cost of {cost['subject']}: {name} {cost[name]['value']:.4g}"
        for cell in measured(run, cost["cells"]):
            for point in cost["points"]:
                rate = cell["bytes_per_s"]["value"]
                if point["request_size"] == cell["workload"]["request_size"] and rate > point["all_cpus"] * SLACK:
                    yield f"CPU cost of {cost['subject']}: all CPUs used at {point['all_cpus']:.4g} B/s, and {rate:.4g} measured"
    for finding in analysis["findings"]:
        at_most = re.search(r"at most ([\d.]+) ([GM])B/s", finding["sentence"])
        if finding["code"] == "cpu_saturation" and at_most:
            most = float(at_most[1]) * {"G": 1e9, "M": 1e6}[at_most[2]]
            ids = set(finding["samples"])
            rate = max((cell["bytes_per_s"]["value"] for cell in analysis["cells"] if ids & set(cell["samples"])), default=0)
            if rate > most * SLACK:
                yield f"CPU use: {finding['sentence']} {rate:.4g} B/s measured"


def check(binary, target, options):
    done = subprocess.run([binary, "run", target, *options, "--json", "--no-store", "--no-report"], capture_output=True, text=True)
    if done.returncode:
        return [done.stderr.strip()]
    run = json.loads(done.stdout)
    return [one for of in (of_bottlenecks, of_peaks, of_depth, of_fits) for one in of(run)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    targets, options = arguments.targets, ["--quick"] if arguments.quick else []
    if not targets:
        listed = subprocess.run([binary, "sim", "list"], capture_output=True, text=True, check=True).stdout
        targets = re.findall(r"sim:\S+", listed)
    with ThreadPoolExecutor(os.cpu_count() if not arguments.targets else 1) as pool:
        found = list(pool.map(lambda target: check(binary, target, options), targets))
    for target, contradictions in zip(targets, found):
        for one in contradictions:
            print(f"{target}: {one}")
    count = sum(map(bool, found))
    print(f"{len(targets)} runs, {count} with contradictions")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
