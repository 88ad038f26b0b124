#!/usr/bin/env python3
"""The structure of the repository as a test: which layer includes which, how long things may grow.

Usage: structure.py [ROOT]. Prints each breach as `file:line: what`, then the library's line count
per layer. Exit status 1 on any breach. Every rule is proved able to fail by structure_test.py.
"""
import re
import sys
from pathlib import Path

# What a layer may include besides itself, the lowest first. A layer not named here is a breach.
LAYERS = {
    "base": (),
    "loop": ("base",),
    "memory": ("base",),
    "wire": ("base",),
    "build": ("base",),
    "fabric": ("base", "loop", "memory", "wire"),
    "transport": ("base", "loop", "memory", "wire", "fabric"),
    "socket": ("base", "loop", "memory", "wire", "fabric", "transport"),
    "pattern": ("base", "loop", "memory", "wire", "fabric", "transport", "socket"),
    "blocking": ("base",),
    "channels": (),
    "units": ("base", "loop", "memory", "wire", "fabric", "transport", "socket", "pattern", "build"),
    "forward": ("base", "loop", "memory", "wire", "fabric", "transport", "socket", "pattern"),
    "c_api": ("base", "loop", "memory", "wire", "fabric", "transport", "socket", "pattern",
              "forward"),
}
TRANSPORTS = ("tcp", "shm", "inproc", "ofi")

FILE_LINES_AIM = 400
FILE_LINES_MAX = 450
# The whole C API in one header, as users of C expect; half of it is comments.
C_HEADER, C_HEADER_LINES_MAX = Path("include/netio.h"), 500
TEST_FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
EXAMPLE_LINES_MAX = 40
OPENING_LINES_MAX = 5

CODE = {".h", ".hpp", ".c", ".cpp"}
TEXT = CODE | {".py", ".md", ".txt", ".json", ".cmake", ".yml", ".yaml"}
CODE_FOLDERS = ("include", "src", "tools", "tests", "examples", "bench", "fuzz", "python")
TEXT_FOLDERS = CODE_FOLDERS + ("docs", "package", "script", ".ci")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
OTHERS_HEADERS = {"include/netio/asio.hpp": re.compile(r"^(boost/)?asio/")}
STANDARD_HEADER = re.compile(r"^[a-z_]+$|^(stddef|stdint|stdbool)\.h$")
# netio::channels is a library beside the core, so that the core reads no JSON.
JSON_READER, JSON = Path("src/channels/json_tree.cpp"), re.compile(r"^nlohmann/")
# What the library with points shares with the benchmark that it is linked with.
POINTS, POINT = Path("src/base/point.hpp"), re.compile(r"\bNETIO_POINT\(")
NOT_FOR_THE_CORE = re.compile(r"^(fmt|nlohmann|CLI|boost|zmq)\b")
LEFT_FOR_LATER = re.compile(r"\b(T[O]DO|F[I]XME|X[X]X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:(?:work|home|root)(?![\w-])|tmp/bash)")
# Limits are monotonic: setting the time of day makes none longer. A term begins with the time of day.
TIME_OF_DAY = re.compile(r"\b(system_clock|CLOCK_REALTIME|gettimeofday|sem_timedwait|"
                         r"pthread_cond_timedwait|pthread_mutex_timedlock)\b")
TERMS = Path("src/units/manager_core.cpp")
GUARANTEES = Path("docs/guarantees.md")
SUITE = re.compile(r"^(?:TEST(?:_[FP])?\(|using )(\w+)", re.MULTILINE)
PART = re.compile(r'^    "([\w-]+)": \(Soak\.', re.MULTILINE)
# Threads of the library take no signals, and nothing else of the thread that starts them.
THREADS, THREAD = Path("src/base/helper_thread.cpp"), re.compile(
    r"\bstd::j?thread\b|\bpthread_create\(|\bstd::async\b")
BYTES_ONLY_FORBIDS = re.compile(r"^(chrono|ctime|time\.h|thread|sys/.*|netinet/.*|arpa/.*)$")


class Source:
    """One text file: its path below the root, its lines, and what kind of file it is."""

    def __init__(self, root, path):
        self.path = path.relative_to(root)
        self.parts = self.path.parts
        self.top = self.parts[0] if len(self.parts) > 1 else ""
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()
        self.is_code = path.suffix in CODE
        self.is_test = path.stem.endswith("_test") or self.top == "tests"
        self.is_library = self.is_code and self.top in ("include", "src") and not self.is_test

    def code_lines(self):
        """Lines that are neither blank nor a comment: those cost nothing to keep."""
        stripped = (line.strip() for line in self.lines)
        return sum(1 for line in stripped if line and not line.startswith("//"))

    def layer(self):
        """The folder of src/ it is in, or "include"."""
        return "include" if self.top == "include" else layer_of(self.parts[1:])[0]

    def includes(self):
        for number, line in enumerate(self.lines, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1) == '"', match.group(2)


def layer_of(parts):
    """('transport', 'tcp') for src/transport/tcp/x.hpp, ('wire', '') for src/wire/frame.hpp."""
    layer = parts[0] if len(parts) > 1 else ""
    return layer, parts[1] if layer == "transport" and len(parts) > 2 else ""


def check_layer_include(source, target):
    """What is wrong with a src file that includes "target", or None."""
    layer, part = layer_of(source.parts[1:])
    other, other_part = layer_of(Path(target).parts)
    if not other:
        return f'"{target}": write it from src/ on, as "layer/file.hpp"'
    if source.is_test and other == "support":
        return None
    if other not in LAYERS:
        return f'"{target}": {other} is no layer'
    if other != layer and other not in LAYERS[layer]:
        return f'"{target}": {layer} may not include {other}'
    if layer == other == "transport" and part != other_part:
        if part and other_part:
            return f'"{target}": transport/{part} may not include transport/{other_part}'
        if other_part and source.path.suffix in (".h", ".hpp"):
            return f'"{target}": a common header of transport/ may not include one transport'
    return None


def check_src(root, source):
    layer, part = layer_of(source.parts[1:])
    if layer not in LAYERS:
        yield 1, f"src/{layer} is no layer ({', '.join(LAYERS)})"
        return
    if part and part not in TRANSPORTS:
        yield 1, f"src/transport/{part} is no transport ({', '.join(TRANSPORTS)})"
    if source.path.suffix == ".hpp" and source.path != POINTS:
        for number, line in enumerate(source.lines, 1):
            if POINT.search(line):
                yield number, "a point in a header, which is compiled with and without points"
    if not source.is_test and source.path != THREADS:
        for number, line in enumerate(source.lines, 1):
            if THREAD.search(line.partition("//")[0]):
                yield number, "a thread of its own: base/helper_thread.hpp starts them all"
    for number, quoted, target in source.includes():
        if quoted:
            breach = check_layer_include(source, target)
            if breach:
                yield number, breach
        elif target.startswith("netio/") and not (root / "include" / target).is_file():
            yield number, f"<{target}> is no public header"
        elif target == "iostream":
            yield number, "<iostream> does not belong into a library"
        elif layer == "wire" and not source.is_test and BYTES_ONLY_FORBIDS.match(target):
            yield number, f"<{target}>: wire/ knows bytes, neither time nor sockets"
        elif source.path == JSON_READER and JSON.match(target):
            continue
        elif not source.is_test and NOT_FOR_THE_CORE.match(target):
            yield number, f"<{target}>: the library needs nothing but the standard and libfabric"


def check_public(root, source):
    for number, quoted, target in source.includes():
        public = re.match(r"^netio(/|\.h$)", target) and (root / "include" / target).is_file()
        if quoted and not public:
            yield number, f'"{target}": a public header includes public headers only'
        elif source.path.as_posix() in OTHERS_HEADERS and \
                OTHERS_HEADERS[source.path.as_posix()].match(target):
            continue
        elif not public and not STANDARD_HEADER.match(target):
            yield number, f"<{target}>: neither a standard header nor a public one"


def check_user_code(root, source):
    """tools/, bench/ and examples/ see what a user sees: public headers and what is theirs."""
    own = [source.path.parent, Path(source.top), Path("bench")]
    for number, quoted, target in source.includes():
        if source.top == "bench" and Path("src", target) == POINTS:
            continue
        if quoted and not any((root / folder / target).is_file() for folder in own):
            yield number, f'"{target}": {source.top}/ includes public headers, nothing of src/'
        elif not quoted and target.startswith("netio") and not (root / "include" / target).is_file():
            yield number, f"<{target}> is no public header"
    if source.top == "examples" and len(source.parts) == 2 and source.path.suffix in (".c", ".cpp"):
        if len(source.lines) > EXAMPLE_LINES_MAX:
            yield len(source.lines), f"an example has at most {EXAMPLE_LINES_MAX} lines"


def check_fabric_is_hidden(source):
    if source.top == "bench" or source.parts[:2] == ("src", "fabric"):
        return
    if source.parts == ("tests", "support", "raw_fabric.cpp"):  # a peer that is not netio
        return
    for number, _, target in source.includes():
        if target.startswith("rdma/"):
            yield number, f"<{target}>: only src/fabric includes libfabric"


def check_opening(source):
    """A file begins with what it owns: one comment of one to five lines."""
    length = 0
    if source.text.startswith("/*"):
        length = source.text.partition("*/")[0].count("\n") + 1
    else:
        while length < len(source.lines) and source.lines[length].startswith("//"):
            length += 1
    if length == 0:
        yield 1, "open the file with a comment: what it owns, which thread, its invariant"
    elif length > OPENING_LINES_MAX:
        yield 1, f"the opening comment has {length} lines, {OPENING_LINES_MAX} are allowed"


def without_comments_and_strings(text):
    """The same text with as many lines, in which every brace is a brace of the program."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    keep = re.compile(pattern, re.S)
    text = keep.sub(lambda match: "\n" * match.group().count("\n"), text)
    return re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.M)


def opens_function(head):
    """Whether a brace after `head` (the text since the last ; { or }) opens a function's body."""
    head = " ".join(head.split())
    if re.match(r"(?:(?:template ?<.*>|inline|export) )*(namespace|class|struct|union|enum|extern)\b"
                r"(?!.*\boperator\b)[^()]*$", head):
        return False
    if re.match(r"(if|for|while|switch|else|do|try|catch|return|case)\b", head):
        return False
    return re.search(r"\)(?: ?(?:const|noexcept|override|final|mutable|&&?|-> ?.+|: ?.+))*$",
                     head) is not None


def check_functions(source):
    """Rough, and meant to be: clang-tidy measures exactly, this needs no compiler."""
    text = without_comments_and_strings(source.text)
    line, head, depth = 1, "", 0
    body_depth, body_line = None, 0
    for char in text:
        line += char == "\n"
        if char == "{":
            if body_depth is None and opens_function(head):
                body_depth, body_line = depth, line
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == body_depth:
                body_depth = None
                if line - body_line > FUNCTION_LINES_MAX:
                    yield body_line, (f"a function of {line - body_line} lines, "
                                      f"{FUNCTION_LINES_MAX} are allowed")
        head = "" if char in "{};" else head + char


def check_size(source):
    lines = len(source.lines)
    limit = TEST_FILE_LINES_MAX if source.is_test else FILE_LINES_MAX
    limit = C_HEADER_LINES_MAX if source.path == C_HEADER else limit
    if lines > limit:
        yield lines, f"{lines} lines; at most {limit} (is it one noun?)"


def check_text(source):
    for number, line in enumerate(source.lines, 1):
        if "\t" in line:
            yield number, "a tab character"
        if MACHINE_PATH.search(line):
            yield number, "an absolute path of one machine"
        if source.path.suffix != ".md" and LEFT_FOR_LATER.search(line):
            yield number, "work left for later belongs into the issue tracker"


def check_clock(source):
    for number, line in enumerate(source.lines, 1):
        if source.path != TERMS and TIME_OF_DAY.search(line):
            yield number, "the time of day can be set; time limits are of the monotonic clock"


def suites_in(root):
    """The names of the test suites, and of the parts of script/soak."""
    names = set()
    for folder in ("src", "tests"):
        for path in (root / folder).rglob("*.cpp"):
            names.update(SUITE.findall(path.read_text(encoding="utf-8", errors="replace")))
    soak = root / "tests" / "soak" / "soak.py"
    return names | set(PART.findall(soak.read_text(encoding="utf-8")) if soak.is_file() else ())


def check_guarantees(root, source):
    """The last column of each table names tests."""
    suites = suites_in(root)
    for number, line in enumerate(source.lines, 1):
        if not line.startswith("| ") or line.startswith("| ---") or line.endswith("| tests |"):
            continue
        named = re.findall(r"`([^`]+)`", line.rstrip(" |").rsplit(" | ", 1)[-1])
        if not named:
            yield number, "a promise without a test"
        for name in named:
            if name not in suites:
                yield number, f"there are no tests of the name {name}"


def breaches_of(root, source):
    yield from check_text(source)
    if source.path == GUARANTEES:
        yield from check_guarantees(root, source)
    if not source.is_code:
        return
    yield from check_size(source)
    yield from check_fabric_is_hidden(source)
    if source.top in ("include", "src"):
        yield from check_opening(source)
    if source.top == "include":
        yield from check_public(root, source)
    elif source.top == "src":
        yield from check_src(root, source)
    elif source.top in ("tools", "bench", "examples"):
        yield from check_user_code(root, source)
    if not source.is_test:
        yield from check_functions(source)
        if source.top in ("include", "src", "tools"):
            yield from check_clock(source)


def sources_of(root):
    files = [path for path in root.iterdir() if path.is_file()]
    for folder in TEXT_FOLDERS:
        files += [path for path in (root / folder).rglob("*") if path.is_file()]
    for path in sorted(files):
        is_script = path.relative_to(root).parts[0] in ("script", ".ci")
        if path.suffix in TEXT or is_script:
            yield Source(root, path)


def print_sizes(lines_by_layer):
    for layer in ["include", *LAYERS]:
        if layer in lines_by_layer:
            print(f"  {layer:<10} {lines_by_layer[layer]:>6,}")
    print(f"  {'library':<10} {sum(lines_by_layer.values()):>6,} lines of code")


def check(root):
    """Prints every breach and the sizes; returns the number of breaches."""
    count, lines_by_layer = 0, {}
    for source in sources_of(root):
        for number, what in breaches_of(root, source):
            print(f"{source.path}:{number}: {what}")
            count += 1
        if source.is_code and not source.is_test and len(source.lines) > FILE_LINES_AIM:
            print(f"{source.path}: note: {len(source.lines)} lines, aim at {FILE_LINES_AIM}")
        if source.is_library:
            layer = source.layer()
            lines_by_layer[layer] = lines_by_layer.get(layer, 0) + source.code_lines()
    print_sizes(lines_by_layer)
    return count


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    count = check(root.resolve())
    print(f"{count} breach{'' if count == 1 else 'es'} of the structure" if count else "in order")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
