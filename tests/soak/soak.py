#!/usr/bin/env python3
"""Searches for faults with numbers that nobody has tried: schedules of both simulations, inputs of the
fuzz targets, killed processes, cut connections, faults that the tests have to see, and the tests in
another order beside a load. Round after round, each with a new seed, until the time is over. What is
found is printed with the command that repeats it, and all that was printed is kept in build/soak.
script/soak runs this; the gate does not, because it finds what its change has not done."""
import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parent.parent.parent
cores = os.cpu_count() or 1


def say(text):
    print(text, flush=True)


class Finding:
    def __init__(self, part, what, repeat, log):
        self.part, self.what, self.repeat, self.log = part, what, repeat, log

    def __str__(self):
        return f"{self.part}: {self.what}\n    repeat: {self.repeat}\n    log:    {self.log}"


class Ran:
    """One command: what it printed (and where that is kept), and how it ended."""

    def __init__(self, command, log, seconds_max, env=None):
        self.log = log.relative_to(root)
        self.text = " ".join([f"{k}={shlex.quote(v)}" for k, v in (env or {}).items()] + [shlex.join(command)])
        with open(log, "w") as out:
            out.write(f"$ {self.text}\n")
            out.flush()
            child = subprocess.Popen(command, cwd=root, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                     env=dict(os.environ, **(env or {})), start_new_session=True)
            try:
                self.status = child.wait(seconds_max)
            except subprocess.TimeoutExpired:
                self.status = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        self.output = log.read_text(errors="replace")

    def last_line(self):
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""

    def how(self):
        if self.status is None:
            return "did not come to its end"
        return f"exit status {self.status}: {self.last_line()}"


class Load:
    """Two processes per core that compute, beside what runs in the block; without this process they end."""

    def __enter__(self):
        self.busy = []
        for _ in range(2 * cores):
            self.busy.append(subprocess.Popen(["sh", "-c", 'while kill -0 "$1" 2>&-; do :; done', "sh", str(os.getpid())],
                                              start_new_session=True))

    def __exit__(self, *_):
        for each in self.busy:
            each.kill()
            each.wait()


class Soak:
    def __init__(self, folder, fraction, end):
        self.folder, self.fraction, self.end, self.round = folder, fraction, end, 0
        self.findings, self.done = [], {}

    def left(self):
        return self.end - time.monotonic()

    def seconds(self, usual):
        return max(2, round(usual * self.fraction))

    def run(self, name, command, usual, env=None):
        return Ran([str(word) for word in command], self.folder / f"{self.round}-{name}.log",
                   10 * self.seconds(usual) + 300, env)

    def find(self, part, what, repeat, log):
        self.findings.append(Finding(part, what, repeat, log))
        say(f"FOUND {self.findings[-1]}")

    def did(self, part, counts):
        total = self.done.setdefault(part, {})
        for what, count in counts.items():
            total[what] = total.get(what, 0) + count

    def program(self, part, command, usual, what, pattern, env=None):
        """One program that says in its last lines how much it did, and in its status whether it found something."""
        ran = self.run(part, command, usual, env)
        counted = re.findall(pattern, ran.output)
        self.did(part, {what: sum(int(number) for number in counted)})
        if ran.status != 0:
            self.find(part, ran.how(), ran.text, ran.log)

    # --- The parts; each takes about as many seconds as it says, and gets a seed.
    # A schedule has a seed of its own: this one, the next, and so on.
    def simulation(self, seed):
        self.program("simulation", ["build/release/simulate", "--seconds", self.seconds(40), "--shrink",
                                    "--seed", seed * 1_000_000],
                     40, "schedules", r": (\d+) schedules from seed")

    def building(self, seed):
        self.program("building", ["build/release/simulate_building", "--seconds", self.seconds(20),
                                  "--seed", seed * 1_000_000],
                     20, "schedules", r": (\d+) schedules from seed")

    # From 500 on it is also judged whether the survivor grows.
    def kills(self, seed):
        self.program("kills", ["build/release/shm_kill", "--kills", self.seconds(500), "--seed", seed], 60, "kills",
                     r"(\d+) kills \(seed")

    # Of event building. From a kind to the next it takes its time to start, and to count what was built.
    def faults(self, seed):
        self.program("faults", ["build/release/build_faults", "--kills", max(2, self.seconds(10))], 90, "faults",
                     r" (\d+) times: all is built")

    # With 500 the long ones of those tests run too: some minutes, in every fourth round.
    def cuts(self, seed):
        often = 500 if self.round % 4 == 0 else self.seconds(100)
        self.program("cuts", ["build/release/cuts_test"], 300, "cuts", r"(\d+) (?:cuts,|connections broken)",
                     {"NETIO_TEST_SEED": str(seed), "NETIO_TEST_CUTS": str(often), "NETIO_TEST_SECONDS": "10",
                      "NETIO_TEST_LIMIT": "1200"})

    def memory(self, seed):
        self.program("memory", ["build/release/failing_allocator_test"], 60, "tries", r"(\d+) tried",
                     {"NETIO_TEST_SEED": str(seed), "NETIO_TEST_FAILING_STRIDE": str(max(3, round(8 / self.fraction))),
                      "NETIO_TEST_LIMIT": "600"})

    # Whether script/bench --against-build tells a build that is slow on purpose by its times.
    def comparison(self, _):
        self.program("comparison", [sys.executable, "-B", "bench/compare/compare_test.py", "build/release",
                                    "build/release/bench/compare", "--times"], 60, "tests", r"Ran (\d+) tests")

    def fuzz(self, seed):
        targets = sorted((root / "build/asan-ubsan/fuzz").glob("*_fuzz"))
        targets = random.Random(seed).sample(targets, min(len(targets), 4))
        for target in targets:
            name = target.name.removesuffix("_fuzz")
            for folder in (f"build/fuzz/corpus/{name}", "build/fuzz/artifacts"):
                (root / folder).mkdir(parents=True, exist_ok=True)
            kept = f"build/fuzz/artifacts/{name}-"
            corpora = [f"build/fuzz/corpus/{name}"] + [f for f in [f"fuzz/corpus/{name}"] if (root / f).is_dir()]
            ran = self.run(f"fuzz-{name}", [target.relative_to(root), f"-max_total_time={self.seconds(12)}",
                                            "-timeout=10", f"-seed={seed % 2**31}", "-print_final_stats=1",
                                            f"-artifact_prefix={kept}", *corpora], 12)
            self.did("fuzz", {"inputs": sum(map(int, re.findall(r"number_of_executed_units: (\d+)", ran.output)))})
            if ran.status != 0:
                inputs = re.findall(r"Test unit written to (\S+)", ran.output)
                self.find("fuzz", f"{name}: {ran.how()}", f"{target.relative_to(root)} {' '.join(inputs)}", ran.log)

    def tests(self, seed, part="tests", preset="release", of=6):
        """One of so many tests of ctest, in random order beside a load; each program's tests in random order too."""
        env = {"NETIO_TEST_SEED": str(seed), "GTEST_SHUFFLE": "1", "GTEST_RANDOM_SEED": str(seed % 99999 + 1)}
        if preset != "release":
            env["NETIO_TEST_ROWS"] = r"^((tcp_ipv4|ofi_tcp|shm)(_buffered_64k|_unbuffered_4k)?|inproc|netio)$"
        of = max(of, min(100, round(of / self.fraction)))
        with Load():
            ran = self.run(part, ["ctest", "--test-dir", f"build/{preset}", "-E", "^(house|package)|Bench",
                                  "-j", 4 * cores, "--schedule-random", "-I", f"{1 + seed % of},,{of}",
                                  "--output-on-failure"], 300, env)
        self.did(part, {"entries of ctest": len(re.findall(r"^ *\d+/\d+ Test +#", ran.output, re.M))})
        failed = re.findall(r"^\t *\d+ - (\S+) \((?!Skipped|Disabled)", ran.output, re.M)
        for name in failed:
            names = re.findall(r"^\[  FAILED  \] (\S+?),? ", ran.output, re.M)
            repeat = f"ctest --test-dir build/{preset} -R '^{re.escape(name)}$' --repeat until-fail:20 --output-on-failure"
            env_words = " ".join(f"{k}={shlex.quote(v)}" for k, v in env.items())
            of_it = [n for n in names if n.startswith(name.split(".", 1)[-1])]
            self.find(part, f"{name} failed beside a load {' '.join(dict.fromkeys(of_it))}".strip(),
                      f"{env_words} {repeat}", ran.log)
        if ran.status != 0 and not failed:
            self.find(part, ran.how(), ran.text, ran.log)

    def tests_asan(self, seed):
        self.tests(seed, "tests-asan", "asan-ubsan", 12)

    def tests_tsan(self, seed):
        self.tests(seed, "tests-tsan", "tsan", 12)

    # The first time they are built in a tree of their own, without optimisation: some minutes.
    def mutants(self, seed):
        if self.left() < 300:
            say("mutants: left out, it takes five minutes")
            return
        names = [path.stem for path in sorted((root / "tests/mutants").glob("*.patch"))]
        drawn = random.Random(seed).sample(names, 2)
        ran = self.run("mutants", ["script/mutants", "--untested", *drawn], 900)
        self.did("mutants", {"faults": len(re.findall(r"^ *\d+/\d+ ", ran.output, re.M))})
        if ran.status != 0:
            self.find("mutants", ran.how(), ran.text, ran.log)


# Each part, in the order of a round.
PARTS = {
    "simulation": (Soak.simulation, "random schedules of sockets over faulty links"),
    "building": (Soak.building, "random schedules of event building"),
    "kills": (Soak.kills, "processes at shm connections are killed"),
    "faults": (Soak.faults, "units, builders and event managers are killed, stopped and cut off"),
    "cuts": (Soak.cuts, "connections are cut under load"),
    "memory": (Soak.memory, "memory runs out at other allocations"),
    "comparison": (Soak.comparison, "a build against itself and against a slow one, by their times"),
    "fuzz": (Soak.fuzz, "four fuzz targets"),
    "tests": (Soak.tests, "a sixth of the release tests in random order, beside a load"),
    "tests-asan": (Soak.tests_asan, "a twelfth of the sanitizer build's tests likewise"),
    "tests-tsan": (Soak.tests_tsan, "a twelfth of the thread sanitizer's"),
    "mutants": (Soak.mutants, "two faults of tests/mutants: a test has to see each"),
}


def parse():
    parser = argparse.ArgumentParser(
        prog="script/soak", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Searches for faults with new seeds, round after round, until the time is over.\n"
                    "Installs missing packages first (script/bootstrap), and builds what its parts need:\n"
                    "the presets release, asan-ubsan and tsan.",
        epilog="A part that has begun when the time is over comes to its end. What is printed is kept\n"
               "under build/soak.\n"
               "Exit status: 0 nothing was found, 1 something was, 2 wrong usage or no build, 130 Ctrl-C.")
    parser.add_argument("--minutes", type=float, default=20, metavar="N", help="for how long, without building (20)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the first round (from the clock)")
    parser.add_argument("--only", metavar="PART,...", help="these parts (all; --list names them)")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write what was done and found there too")
    parser.add_argument("--list", action="store_true", help="name the parts")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)} (script/soak --list)")
    if options.json:
        options.json = pathlib.Path(os.environ.get("NETIO_CALLED_FROM", "."), options.json)
    if options.minutes <= 0:
        parser.error("--minutes needs a number above 0")
    return options, wanted


def build(preset, *targets):
    say(f"Building {preset} ...")
    for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset, *targets]):
        made = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if made.returncode != 0:
            say(f"{made.stdout[-4000:]}\nscript/soak: {shlex.join(command)} failed")
            sys.exit(2)


def report(soak, options, seconds, seed):
    say(f"\n{'part':12} {'done':>32}  found")
    for part, counts in soak.done.items():
        found = sum(finding.part == part for finding in soak.findings)
        say(f"{part:12} {', '.join(f'{count} {what}' for what, count in counts.items()):>32}  {found or 'nothing'}")
    say(f"\n{soak.round} rounds in {seconds / 60:.1f} min, from seed {seed}; {len(soak.findings)} findings")
    for finding in soak.findings:
        say(str(finding))
    if options.json:
        options.json.write_text(json.dumps({
            "seed": seed, "rounds": soak.round, "seconds": round(seconds), "done": soak.done,
            "findings": [dict(vars(finding), log=str(finding.log)) for finding in soak.findings]}, indent=1) + "\n")


def main():
    options, wanted = parse()
    if options.list:
        for name, (_, what) in PARTS.items():
            say(f"  {name:12} {what}")
        return 0
    build("release")
    if {"fuzz", "tests-asan"} & set(wanted):
        build("asan-ubsan")
    if "tests-tsan" in wanted:
        build("tsan")
    seed = options.seed if options.seed is not None else int(time.time())
    folder = root / "build/soak" / time.strftime("%Y%m%d-%H%M%S")
    folder.mkdir(parents=True)
    begin = time.monotonic()
    end = begin + 60 * options.minutes
    # A round with everything takes some ten minutes; less is done in each of a short soak.
    soak = Soak(folder, min(1.0, options.minutes / 10), end)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    interrupted = False
    try:
        while soak.left() > 0:
            soak.round += 1
            for name in wanted:
                if soak.left() <= 0:
                    break
                say(f"round {soak.round}, {name}, seed {seed + soak.round - 1}; {soak.left() / 60:.1f} min left")
                PARTS[name][0](soak, seed + soak.round - 1)
    except KeyboardInterrupt:
        interrupted = True
        say("\nscript/soak: interrupted; what was done so far:")
    report(soak, options, time.monotonic() - begin, seed)
    if not soak.findings:
        say(f"All that was printed: {folder.relative_to(root)}")
    if interrupted:
        return 130
    return 1 if soak.findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # while it builds
        sys.exit(130)
