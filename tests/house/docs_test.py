#!/usr/bin/env python3
"""Tests the check of script/docs: small headers and pages that it takes, and such that it refuses."""
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = """// Thing: there for this test.
#pragma once

namespace netio {

// A thing.
class Thing {
 public:
  Thing(const Thing&) = delete;

  // Twice:
  void begin() noexcept;
  void end() noexcept;

  // Says how many.
  int count(int of_what) const noexcept;

  // For the library.
  void adopt(void* what);
  void let_go();

 protected:
  void shown_to_nobody();
};

// What can be chosen.
struct Options {
  int bytes_max = 1;  // the most
};

}  // namespace netio
"""
PAGE = "# A page\n\n## What it does\nSee [above](#what-it-does), [test](../script/test).\n"

# What is changed, and what Doxygen then complains of; None: of nothing.
CASES = {
    "all is said": ("", "", None),
    "a function has no comment": ("  // Says how many.\n", "", "count(int of_what)"),
    "a class has no comment": ("// A thing.\n", "", "Thing is not documented"),
    "a field has no comment": ("  // the most", "", "bytes_max"),
    "a comment is for the first alone": ("Twice:", "Twice.", "end()"),
    "a blank line ends what a comment is for": ("begin() noexcept;\n", "begin() noexcept;\n\n", "end()"),
    "a parameter does not exist": ("Says how many.", "Says how many. @param of_whom whose", "of_whom"),
    "a name does not exist": ("Says how many.", "As @ref Thing::counter.", "counter"),
    "a heading does not exist": ("(#what-it-does)", "(#what-it-did)", "what-it-did"),
    "a page does not exist": ("(#what-it-does)", "(missing.md)", "missing-missingmd"),
    "a heading of a page does not exist": ("(#what-it-does)", "(page.md#nothing)", "page-nothing"),
    "a file does not exist": ("(../script/test)", "(../script/no_test)", "no_test"),
}


def complaints(header, page):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for name in ("docs", "script"):
            (work / name).symlink_to(ROOT / name)
        (work / "in").mkdir()
        (work / "in/thing.hpp").write_text(header)
        (work / "in/page.md").write_text(page)
        settings = "".join(f"{line}\n" for line in ["@INCLUDE = docs/Doxyfile", "INPUT = in",
                                                    "OUTPUT_DIRECTORY = out"])
        done = subprocess.run(["doxygen", "-"], cwd=work, input=settings, text=True,
                              capture_output=True)
        return done.returncode, done.stderr


failures = 0
for name, (old, new, expected) in CASES.items():
    assert (HEADER + PAGE).count(old) == 1 or not old, name
    status, said = complaints(HEADER.replace(old, new, 1), PAGE.replace(old, new, 1))
    if (status == 0) != (expected is None) or (expected or "") not in said:
        failures += 1
        print(f"FAILED: {name}: status {status}, expected {expected!r} in:\n{said}")
print(f"{len(CASES) - failures} of {len(CASES)} as expected")
raise SystemExit(failures != 0)
