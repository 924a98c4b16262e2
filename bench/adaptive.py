#!/usr/bin/env python3
"""The survey that asks as needed against the whole grid: trials, and whether both give the same advice within ties.

    bench/adaptive.py [--binary target/release/halfpower] [--study survey] [--machines 200] [--seed N] [TARGET…]
    bench/adaptive.py [--binary …] --repeat 5 TARGET…

Without targets, simulated machines of bench/coverage.py. Advice is the same if each setting lies in the other's range
of settings that do alike. Neither has a time limit. `--repeat` surveys each target so many times, prints the advice of
each, and compares each with each other. Ends with status 1 where advice differs on more than 5 % of the targets, or the
survey takes more than a third of the trials.
"""

import argparse
import collections
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from coverage import machines, output


def is_within(one, other):
    workload = one["workload"]
    in_range = lambda value, ends: ends[0] <= value <= ends[1]
    return in_range(workload["request_size"], other["request_size"]) and in_range(workload["depth"], other["depth"])


def differences(adaptive, full):
    """What the two advise differently, for each use; a way (buffering) that gives as much is a tie."""
    by_use = [{one["use"]: one for one in run["verdict"]["advice"]} for run in (adaptive, full)]
    for use in by_use[0].keys() | by_use[1].keys():
        one, other = (advice.get(use) for advice in by_use)
        if not one or not other:
            yield f"{use}: only in one"
        elif one["buffering"] != other["buffering"]:
            if abs(one["rate"]["value"] / other["rate"]["value"] - 1) > 0.1:
                yield f"{use}: {one['buffering']} and {other['buffering']}"
        elif not (is_within(one, other) and is_within(other, one)):
            yield f"{use}: {setting(one)} and {setting(other)}"


def repeat(binary, target, times):
    """Prints the advice of each survey; whether any two differ."""
    runs = []
    for seed in range(1, times + 1):
        begun = time.monotonic()
        runs.append(output(binary, "run", target, "--seed", str(seed), "--no-report"))
        for one in runs[-1]["verdict"]["advice"]:
            sizes, depths = ("–".join(map(str, dict.fromkeys(one[key]))) for key in ("request_size", "depth"))
            print(f"{target} {seed}: {one['use']}: {setting(one)}, alike {sizes} QD{depths}, {one['rate']['value']:.4g}")
        seconds = time.monotonic() - begun
        print(f"{target} {seed}: {seconds:.0f} s, {runs[-1]['samples']} samples. {' '.join(runs[-1]['verdict']['sentences'])}", flush=True)
    pairs = list(itertools.combinations(range(times), 2))
    found = {pair: list(differences(runs[pair[0]], runs[pair[1]])) for pair in pairs}
    for (one, other), different in found.items():
        for what in different:
            print(f"{target}: {one + 1} and {other + 1}: {what}")
    print(f"{target}: advice differs in {sum(map(bool, found.values()))} of {len(pairs)} pairs of surveys")
    return any(found.values())


def setting(advice):
    return f"{advice['request_size']} QD{advice['depth']} {advice['buffering']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--binary", default="target/release/halfpower")
    parser.add_argument("--study", default="survey")
    parser.add_argument("--machines", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, metavar="TIMES")
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    if arguments.repeat:
        sys.exit(any([repeat(binary, target, arguments.repeat) for target in arguments.targets]))
    drawn = [(target, 1, 0) for target in arguments.targets]
    drawn = drawn or list(machines(arguments.machines, random.Random(arguments.seed)))
    text = subprocess.run([binary, "study", "show", arguments.study], check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as scratch:
        studies = {}
        for name, value in {"adaptive": "true", "full": "false"}.items():
            studies[name] = os.path.join(scratch, f"{name}.toml")
            with open(studies[name], "w") as file:
                text_of = text.replace("as_needed = true", f"as_needed = {value}")
                # Both repeat until they are as precise, however long the grid takes.
                file.write(re.sub("(?m)^time_limit.*$", 'time_limit = "1h"', text_of))
        run = lambda machine: [
            output(binary, "study", "run", study, "--target", machine[0], "--seed", str(machine[1]), "--no-report")
            for study in studies.values()
        ]
        different, trials, uses = 0, [0, 0], collections.Counter()
        with ThreadPoolExecutor(1 if arguments.targets else os.cpu_count()) as pool:
            for machine, (adaptive, full) in zip(drawn, pool.map(run, drawn)):
                trials = [trials[0] + adaptive["samples"], trials[1] + full["samples"]]
                found = list(differences(adaptive, full))
                different += bool(found)
                uses.update(one.partition(":")[0] for one in found)
                if found:
                    print(f"{machine[0]}: {'; '.join(found)}", flush=True)
    print(f"trials: {trials[0]} of {trials[1]}, {trials[0] / trials[1]:.1%}")
    print(f"different advice: {different} of {len(drawn)} targets; by use: {dict(uses)}")
    sys.exit(different > 0.05 * len(drawn) or 3 * trials[0] > trials[1])


if __name__ == "__main__":
    main()
