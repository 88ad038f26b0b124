#!/usr/bin/env python3
"""clang-tidy 14 on the library and the tools. Most time of its checks goes into headers: a folder of
the library is one unit here, whose sources are included by one file, and the tools are in the units
that CMake compiles. The path-sensitive analyzer leaves out what a unit includes: it goes through the
sources that CMake compiles by themselves, most of the data path, and through no others.

A unit that was found clean is not looked at again: the sum of all that decides (the unit as the
compiler reads it, with its comments and macros, the checks, the version) is kept in --kept. It is
the same in another clone.

Prints what was found, and in the last line how many units there are. Exit status: 0 nothing was
found, 1 something was, 2 a unit does not compile.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parent.parent.parent
CHECKS = "-clang-analyzer-*,-bugprone-suspicious-include"  # of sources, as they are included there
ANALYZER = "-*,clang-analyzer-*,-clang-analyzer-cplusplus.NewDelete,-clang-analyzer-cplusplus.NewDeleteLeaks"
KEPT_DAYS = 60


def output(command):
    ran = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if ran.returncode != 0:
        print(f"{shlex.join(command)}\n{ran.stderr.decode(errors='replace')[-3000:]}", file=sys.stderr)
        sys.exit(2)
    return ran.stdout


class Unit:
    def __init__(self, source, flags, checks):
        self.source, self.checks = str(source), checks
        self.flags = [*flags, f"-fmacro-prefix-map={root}/="]  # a path of __FILE__ is none of the clone

    def sum(self, common):
        read = output(["clang++-14", "-E", "-C", "-dD", *self.flags, self.source])
        words = shlex.join([self.checks, *self.flags]).encode()
        return hashlib.sha256(common + (words + read).replace(f"{root}/".encode(), b"")).hexdigest()

    def is_clean(self):
        ran = subprocess.run(["clang-tidy-14", "-quiet", "--config-file=.clang-tidy", f"-checks={self.checks}",
                              self.source, "--", *self.flags],
                             cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if ran.returncode != 0:
            noise = re.compile(r"^(\d+ warnings? (generated|treated)|Suppressed |Use -header-filter)")
            print("\n".join(line for line in ran.stdout.splitlines() if not noise.match(line)), flush=True)
        return ran.returncode == 0


def folders_of_library(folder):
    """The largest first: what begins last should not take long."""
    sources = {}
    for source in sorted((root / "src").rglob("*.cpp")):
        if not source.name.endswith("_test.cpp"):
            sources.setdefault(source.parent, []).append(source)
    for parent, files in sorted(sources.items(), key=lambda item: -sum(f.stat().st_size for f in item[1])):
        unit = folder / (str(parent.relative_to(root)).replace("/", "_") + ".cpp")
        unit.write_text("".join(f'#include "{file}"\n' for file in files))
        yield Unit(unit, ["-std=c++20", "-Iinclude", "-Isrc", "-DNETIO_WITH_FABRIC", '-DNETIO_VERSION="0"'], CHECKS)


def compiled(build, files, checks):
    """What CMake compiles that the regular expression matches, once where several targets have it."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if re.search(files, entry["file"]):
            words = shlex.split(entry["command"])
            found.setdefault(entry["file"], Unit(entry["file"], words[1:words.index("-o")], checks))
    return found.values()


class Kept:
    """Sums of units that were clean, as files without a byte; what nobody asked for in a while goes."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for file in folder.iterdir():
            if file.stat().st_mtime < time.time() - KEPT_DAYS * 86400:
                file.unlink(missing_ok=True)

    def have(self, sum_):
        if not (self.folder / sum_).exists():
            return False
        os.utime(self.folder / sum_)
        return True

    def keep(self, sum_):
        (self.folder / sum_).touch()


def main():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--build", type=lambda word: pathlib.Path(word).resolve(), metavar="FOLDER",
                        default=root / "build/asan-ubsan",
                        help="where CMake wrote the commands of clang (build/asan-ubsan)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="units at once (cores)")
    parser.add_argument("--kept", type=pathlib.Path, default=cache / "netio-tidy", metavar="FOLDER",
                        help="where what was found clean is kept (~/.cache/netio-tidy)")
    options = parser.parse_args()
    if not (options.build / "compile_commands.json").exists():
        parser.error(f"{options.build} has no commands of a compiler: run cmake --preset asan-ubsan")
    kept = Kept(options.kept)
    common = output(["clang-tidy-14", "--version"]) + (root / ".clang-tidy").read_bytes()

    def look_at(unit):
        sum_ = unit.sum(common)
        if kept.have(sum_):
            return "kept"
        if not unit.is_clean():
            return "found"
        kept.keep(sum_)
        return "clean"

    folder = options.build / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    units = [*compiled(options.build, f"^{re.escape(str(root))}/src/.*(?<!_test)\\.cpp$", ANALYZER), *folders_of_library(folder),
             *compiled(options.build, r"/netio_cli(_bench)?\.dir/Unity/.*\.cxx$", CHECKS)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(look_at, units))
    print(f"{len(units)} units: {results.count('clean')} clean, {results.count('kept')} clean before and the same, "
          f"{results.count('found')} with findings")
    return 1 if "found" in results else 0


if __name__ == "__main__":
    sys.exit(main())
