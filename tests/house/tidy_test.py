#!/usr/bin/env python3
"""Does tidy.py see what it is for, and does it look again only at what has changed?"""
import contextlib
import io
import pathlib
import tempfile
import unittest

import tidy

NULL = "int read(int which) {\n  const int* at = nullptr;\n  if (which == 3) at = &which;\n  return *at;\n}\n"
NAME = "int BadName = 0;\n"
FINE = "int read(int which) { return which; }\n"


class TidyTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def unit(self, text, checks, *flags):
        source = self.folder / "unit.cpp"
        source.write_text(text)
        return tidy.Unit(source, ["-std=c++20", *flags], checks)

    def found(self, text, checks):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            clean = self.unit(text, checks).is_clean()
        self.assertEqual(clean, said.getvalue() == "")
        return said.getvalue()

    def test_the_analyzer_finds_a_null_pointer(self):
        self.assertIn("Dereference of null pointer", self.found(NULL, tidy.ANALYZER))
        self.assertEqual(self.found(FINE, tidy.ANALYZER), "")

    def test_the_checks_find_a_name(self):
        self.assertIn("BadName", self.found(NAME, tidy.CHECKS))
        self.assertEqual(self.found(FINE, tidy.CHECKS), "")

    def test_the_sum_changes_with_whatever_decides(self):
        sums = [self.unit(FINE, "a").sum(b""), self.unit(FINE, "b").sum(b""), self.unit(FINE, "a").sum(b"version"),
                self.unit(FINE + "// NOLINT\n", "a").sum(b""), self.unit(FINE + "#define unused\n", "a").sum(b""),
                self.unit(FINE, "a", "-Wall").sum(b"")]
        self.assertEqual(len(set(sums)), len(sums))
        self.assertEqual(self.unit(FINE, "a").sum(b""), sums[0])

    def test_what_is_kept_is_known_again(self):
        kept = tidy.Kept(self.folder / "kept")
        self.assertFalse(kept.have("0"))
        kept.keep("0")
        self.assertTrue(tidy.Kept(self.folder / "kept").have("0"))

    def test_every_folder_of_the_library_is_a_unit(self):
        units = list(tidy.folders_of_library(self.folder))
        included = "".join(pathlib.Path(unit.source).read_text() for unit in units)
        for source in (tidy.root / "src").rglob("*.cpp"):
            self.assertEqual(f'#include "{source}"\n' in included, not source.name.endswith("_test.cpp"), source)


if __name__ == "__main__":
    unittest.main()
