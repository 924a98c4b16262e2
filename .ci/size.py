#!/usr/bin/env python3
"""Prints how large the project is, and how tangled: what one person has to carry.

    .ci/size.py             the tree as it is
    .ci/size.py --words     the files of Markdown by their words
    .ci/size.py --circles   the files of the largest circle of imports

Lines are those of Rust without blanks and comments. A line is of a test if it is in a file of tests or below `#[cfg(test)]`.
Imports are paths that begin with `crate`, `self` or `super`, from file to file of one crate, tests left out.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def tracked(pattern):
    listed = subprocess.run(["git", "ls-files", "-z", "--", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def plain(text):
    """Rust without comments and with empty strings; lines stay where they are."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'', re.S
    )

    def without(match):
        found = match.group(0)
        if found.startswith("/"):
            return "\n" * found.count("\n")
        return '"' + "·\n" * found.count("\n") + '"'

    return token.sub(without, text)


def is_test_file(path):
    """Whether a file is in a folder of tests, or its module or one above it is declared below `#[cfg(test)]`."""
    if {"tests", "fuzz"} & set(path.relative_to(ROOT).parts) or path.stem == "tests":
        return True
    place = path.parent if path.stem == "mod" else path.with_suffix("")
    while place.name != "src" and place != ROOT:
        parents = [place.parent / "mod.rs", place.parent / "lib.rs", place.parent / "main.rs", place.parent.with_suffix(".rs")]
        declared = re.compile(rf"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))? )?mod {place.name};")
        if any(parent.is_file() and declared.search(parent.read_text()) for parent in parents):
            return True
        place = place.parent
    return False


def split(path):
    """The text of the code and that of the tests of a file."""
    text = plain(path.read_text())
    if is_test_file(path):
        return "", text
    code, tests, rest = [], [], text.split("\n")
    while rest:
        line = rest.pop(0)
        if not re.match(r"\s*#\[cfg\(.*\btest\b.*\)\]", line) or "not(test" in line:
            code.append(line)
            continue
        tests.append(line)
        depth, began = 0, False
        while rest:
            line = rest.pop(0)
            tests.append(line)
            depth += line.count("{") - line.count("}")
            began = began or "{" in line
            if (began and depth <= 0) or (not began and line.rstrip().endswith(";")):
                break
    return "\n".join(code), "\n".join(tests)


def lines(text):
    return sum(1 for line in text.split("\n") if line.strip())


def words(text):
    return len(text.split())


def sentences(text):
    """Sentences of Markdown, without code, tables' rules and links' addresses."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s?)|\|", text)
    for block in blocks:
        yield from (found for found in re.split(r"(?<=[.!?:;])\s+", block.strip()) if found)


def modules(crate):
    """The file of each module path of a crate, and the code in it."""
    files, code = {}, {}
    for path in tracked(f"crates/{crate}/src/*.rs"):
        own, _ = split(path)
        if not own.strip():
            continue
        parts = list(path.relative_to(ROOT / "crates" / crate / "src").with_suffix("").parts)
        if parts[-1] in ("mod", "lib", "main"):
            parts.pop()
        files[tuple(parts)] = path
        code[path] = own
    return files, code


def expand(tree):
    """The paths of a `use` tree."""
    tree = tree.strip()
    if "{" not in tree:
        return [tree.split(" as ")[0].strip()]
    head, rest = tree.split("{", 1)
    inside, found, depth, start = rest.rsplit("}", 1)[0], [], 0, 0
    for at, letter in enumerate(inside + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if inside[start:at].strip():
                found += [head + path for path in expand(inside[start:at])]
            start = at + 1
    return found


def imports(crate):
    """From file to file, with what a `use` or a path in the code names."""
    files, code = modules(crate)
    edges = collections.defaultdict(set)
    for module, path in files.items():
        named = []
        text = code[path]
        for tree in re.findall(r"\buse\s+([^;]+);", text):
            named += expand(tree)
        named += re.findall(r"\b(?:crate|super|self)(?:::\w+)+", re.sub(r"\buse\s+[^;]+;", "", text))
        children = {key[-1] for key in files if key and key[:-1] == module}
        for name in named:
            parts = name.replace(" ", "").split("::")
            if parts[0] == "crate":
                base, parts = (), parts[1:]
            elif parts[0] in ("self", "super"):
                base = module
                if parts[0] == "self":
                    parts = parts[1:]
                while parts and parts[0] == "super":
                    base, parts = base[:-1], parts[1:]
            elif parts[0] in children:
                base = module
            else:
                continue
            full = base + tuple(parts)
            while full and full not in files:
                full = full[:-1]
            # A name that a parent re-exports belongs to the parent.
            if full in files and files[full] != path and full != module[: len(full)]:
                edges[path].add(files[full])
            elif full in files and files[full] != path and len(full) > 0 and name.split("::")[-1] != "mod":
                edges[path].add(files[full])
    return edges


def circles(edges):
    """Strongly connected sets of files, the largest first (Tarjan)."""
    index, low, stack, on, found, count = {}, {}, [], set(), [], [0]

    def visit(node):
        work = [(node, iter(sorted(edges.get(node, ()))))]
        index[node] = low[node] = count[0]
        count[0] += 1
        stack.append(node)
        on.add(node)
        while work:
            here, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = count[0]
                    count[0] += 1
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(edges.get(other, ())))))
                    break
                if other in on:
                    low[here] = min(low[here], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[here])
                if low[here] == index[here]:
                    circle = []
                    while True:
                        other = stack.pop()
                        on.discard(other)
                        circle.append(other)
                        if other == here:
                            break
                    found.append(circle)

    for node in sorted(set(edges) | {other for some in edges.values() for other in some}):
        if node not in index:
            visit(node)
    return sorted(found, key=len, reverse=True)


def main():
    code = tests = 0
    naming = collections.Counter()
    for path in tracked("*.rs"):
        own, of_tests = map(lines, split(path))
        code, tests = code + own, tests + of_tests
        text = split(path)[0]
        for name in ("wait_batch", "depth"):
            naming[name] += bool(re.search(rf"\b{name}\b", text))
    pages = {path: path.read_text() for path in tracked("*.md")}
    if "--words" in sys.argv:
        for path, text in sorted(pages.items(), key=lambda page: -words(page[1])):
            print(f"{words(text):7} {path.relative_to(ROOT)}")
        return
    all_sentences = [found for text in pages.values() for found in sentences(text)]
    long = sum(words(found) > 35 for found in all_sentences)
    print(f"code               {code:7} lines")
    print(f"tests              {tests:7} lines")
    print(f"Markdown           {sum(map(words, pages.values())):7} words, {100 * long / max(1, len(all_sentences)):.1f} % of sentences over 35")
    for crate in sorted(path.name for path in (ROOT / "crates").iterdir()):
        largest = circles(imports(crate))[:1]
        size = len(largest[0]) if largest else 0
        print(f"circle of imports  {size:7} files in {crate}")
        if "--circles" in sys.argv and size > 1:
            for path in sorted(largest[0]):
                print(f"        {path.relative_to(ROOT)}")
    for name, count in naming.items():
        print(f"{name:18} {count:7} files name it")


main()
