#!/usr/bin/env python3
"""The ABI of the C API against the recorded one: the library's name, exported symbols with their
versions, declarations, struct sizes, where each member lies and what it is, and the values of
enumerations.

Usage: abi.py [--renew] [--compiler CC] LIBRARY    (build/release/libnetio.so)

--renew writes the record, tests/c_api/abi.txt: for what was added, in reserved room or as a new
symbol. A line that changes or goes is a new ABI: it takes a new version of the library's name.
"""
import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADERS = tuple(ROOT / "include" / name
                for name in ("netio.h", "netio/builder_unit.h", "netio/event_building.h",
                             "netio/forward.h", "netio/publish.h", "netio/readout_unit.h",
                             "netio/reasons.h", "netio/requests.h", "netio/segments.h"))
RECORD = Path(__file__).with_name("abi.txt")


def header_text():
    text = "\n".join(header.read_text(encoding="utf-8") for header in HEADERS)
    return re.sub(r"//[^\n]*", "", text)


def declarations(text):
    return [" ".join(found.split()) for found in re.findall(r"NETIO_API\s+([^;]+);", text)]


def members_of(body):
    """The names in the body of a struct, each with its declaration."""
    for declaration in (" ".join(part.split()) for part in body.split(";")):
        call_back = re.search(r"\(\*(\w+)\)\s*\(", declaration)
        if call_back:
            yield call_back.group(1), declaration
        elif declaration:
            first, *others = declaration.split(", ")
            kind = first.rsplit(" ", 1)[0]
            for one in (first, *(f"{kind} {other}" for other in others)):
                yield re.search(r"(\w+)(\[\d+\])?$", one).group(1), one


def layout_program(text):
    """C that prints the size of each struct, the place and size of each member, and each value."""
    lines = []
    for kind, name, body in re.findall(r"\n(struct|enum) (\w+) \{(.*?)\};", text, re.S):
        if kind == "enum":
            lines += [f'  printf("value {value} %d\\n", (int){value});'
                      for value in re.findall(r"\bNETIO_\w+", body)]
            continue
        lines.append(f'  printf("struct {name} %zu\\n", sizeof(struct {name}));')
        lines += [f'  printf("member {name}.{member} %zu %zu {declaration}\\n", '
                  f'offsetof(struct {name}, {member}), sizeof(((struct {name}*)0)->{member}));'
                  for member, declaration in members_of(body)]
    return "\n".join(["#include <stdio.h>", "#include <netio.h>", "int main(void) {", *lines,
                      "  return 0;", "}", ""])


def layout(compiler, text):
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "layout.c", Path(folder) / "layout"
        source.write_text(layout_program(text), encoding="utf-8")
        subprocess.run([compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
                        f"-I{ROOT / 'include'}", str(source), "-o", str(program)], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")


def soname(library):
    listed = subprocess.run(["readelf", "--dynamic", "--wide", library],
                            check=True, capture_output=True, text=True).stdout
    return re.search(r"\(SONAME\).*\[(.*)\]", listed).group(1)


def symbols(library):
    """What is exported and is no C++, as name@@version."""
    listed = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                            check=True, capture_output=True, text=True).stdout
    found = (line.split()[-1] for line in listed.splitlines() if " A " not in line)
    return sorted(name for name in found if not name.startswith("_Z"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("library")
    options = parser.parse_args()

    text = header_text()
    exported, declared = symbols(options.library), declarations(text)
    lines = [f"soname {soname(options.library)}"]
    lines += [f"symbol {name}" for name in exported]
    lines += [f"declaration {declaration}" for declaration in declared]
    lines += [line for line in layout(options.compiler, text) if line]
    if options.renew:
        RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")
    bad = list(difflib.unified_diff(RECORD.read_text(encoding="utf-8").splitlines(), lines,
                                    "recorded", "now", lineterm="", n=0))
    names = {re.search(r"(\w+)\(", declaration).group(1) for declaration in declared}
    bad += [f"{name}: declared and exported do not agree, or not as NETIO_1"
            for name in names ^ {name.removesuffix("@@NETIO_1") for name in exported}]
    print("\n".join(bad) if bad else f"{len(exported)} symbols and {len(lines)} lines as recorded")
    if bad:
        print(f"if it is meant: tests/c_api/abi.py --renew {options.library}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
