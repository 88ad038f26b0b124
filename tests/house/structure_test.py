#!/usr/bin/env python3
"""Proves that every rule of structure.py can fail: small trees, each with one thing wrong."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import structure

OPENING = "// What this file owns.\n"
GOOD = {
    "include/netio.h": OPENING + "#include <stdint.h>\n",
    "include/netio/status.hpp": OPENING + "#include <cstdint>\n",
    "include/netio/loop.hpp": OPENING + "#include <netio/status.hpp>\n",
    "src/base/url.hpp": OPENING + "#include <netio/status.hpp>\n#include <sys/socket.h>\n",
    "src/loop/loop.cpp": OPENING + '#include "base/url.hpp"\n#include "loop/heap.hpp"\n',
    "src/wire/frame.hpp": OPENING + '#include <cstring>\n#include "base/url.hpp"\n',
    "src/wire/frame_test.cpp": OPENING + '#include "support/bytes.hpp"\n#include "wire/frame.hpp"\n',
    "src/fabric/queue.cpp": OPENING + "#include <rdma/fi_cq.h>\n",
    "src/transport/link.hpp": OPENING + '#include "wire/frame.hpp"\n',
    "src/transport/schemes.cpp": OPENING + '#include "transport/tcp/link.hpp"\n',
    "src/transport/tcp/link.hpp": OPENING + '#include "transport/link.hpp"\n',
    "src/pattern/push.cpp": OPENING + '#include "socket/sender.hpp"\n#include <netio/loop.hpp>\n',
    "src/c_api/c_api.cpp": OPENING + "#include <netio.h>\n",
    "tools/main.cpp": '#include <fmt/core.h>\n#include <netio/loop.hpp>\n#include "options.hpp"\n',
    "tools/options.hpp": "#pragma once\n",
    "examples/hello.cpp": "#include <netio/status.hpp>\nint main() {}\n",
    "bench/floor.cpp": "#include <rdma/fabric.h>\n",
    "docs/guide.md": "Sources live in src/, and https://example.org/work is no path.\n",
    "script/test": "#!/bin/sh\n",
}


def run(tree):
    """(number of breaches, what was printed) for a tree of path -> text."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in tree.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            count = structure.check(Path(folder))
        return count, output.getvalue()


class Structure(unittest.TestCase):
    def breaks(self, path, text, message):
        """The good tree with `text` at `path` has exactly one breach, there, saying `message`."""
        count, output = run({**GOOD, path: text})
        self.assertEqual(count, 1, output)
        self.assertRegex(output, rf"(?m)^{path}:\d+: .*{message}")

    def holds(self, path, text):
        count, output = run({**GOOD, path: text})
        self.assertEqual(count, 0, output)

    def test_a_good_tree_is_in_order(self):
        count, output = run(GOOD)
        self.assertEqual(count, 0, output)

    def test_an_empty_tree_is_in_order(self):
        self.assertEqual(run({})[0], 0)

    def test_no_layer_includes_one_that_is_not_below_it(self):
        layers = list(structure.LAYERS)
        below = {name: set(lower) | {name} for name, lower in structure.LAYERS.items()}
        for layer in layers:
            for other in set(layers) - below[layer]:
                with self.subTest(layer=layer, other=other):
                    self.breaks(f"src/{layer}/x.hpp", OPENING + f'#include "{other}/y.hpp"\n',
                                f"{layer} may not include {other}")
            for other in below[layer]:
                with self.subTest(layer=layer, may=other):
                    self.holds(f"src/{layer}/x.hpp", OPENING + f'#include "{other}/y.hpp"\n')

    def test_the_siblings_know_only_base(self):
        for layer in ("loop", "memory", "wire"):
            self.assertEqual(structure.LAYERS[layer], ("base",))

    def test_a_test_file_keeps_to_the_layers_too(self):
        self.breaks("src/wire/x_test.cpp", OPENING + '#include "memory/pool.hpp"\n',
                    "wire may not include memory")

    def test_only_tests_include_test_support(self):
        self.breaks("src/wire/x.cpp", OPENING + '#include "support/bytes.hpp"\n', "is no layer")

    def test_transports_do_not_know_each_other(self):
        self.breaks("src/transport/inproc/x.hpp", OPENING + '#include "transport/shm/ring.hpp"\n',
                    "transport/inproc may not include transport/shm")

    def test_the_common_transport_header_knows_no_transport(self):
        self.breaks("src/transport/x.hpp", OPENING + '#include "transport/tcp/link.hpp"\n',
                    "may not include one transport")

    def test_an_unknown_layer_is_found(self):
        self.breaks("src/utils/x.hpp", OPENING, "src/utils is no layer")
        self.breaks("src/x.hpp", OPENING, "is no layer")
        self.breaks("src/base/x.hpp", OPENING + '#include "utils/y.hpp"\n', "utils is no layer")

    def test_an_unknown_transport_is_found(self):
        self.breaks("src/transport/udp/x.hpp", OPENING, "is no transport")

    def test_includes_are_written_from_src_on(self):
        self.breaks("src/base/x.cpp", OPENING + '#include "url.hpp"\n', "write it from src/ on")

    def test_wire_knows_neither_time_nor_sockets(self):
        for header in ("chrono", "sys/socket.h", "thread", "time.h"):
            self.breaks("src/wire/x.hpp", OPENING + f"#include <{header}>\n", "knows bytes")

    def test_no_limit_is_of_the_time_of_day(self):
        line = "auto now = std::chrono::system_clock::now();\n"
        for path in ("src/loop/x.cpp", "include/netio/x.hpp", "tools/x.cpp"):
            self.breaks(path, OPENING + line, "can be set")
        self.holds("src/units/manager_core.cpp", OPENING + line)
        self.holds("src/loop/x_test.cpp", OPENING + line)

    def test_public_headers_include_standard_and_public_ones_only(self):
        for line in ('"base/url.hpp"', "<sys/uio.h>", "<fmt/core.h>", "<netio/absent.hpp>",
                     "<unistd.h>"):
            self.breaks("include/netio/x.hpp", OPENING + f"#include {line}\n", "public")

    def test_libfabric_is_included_in_fabric_only(self):
        for path in ("src/transport/ofi/x.cpp", "tools/x.cpp", "tests/conformance/x.cpp"):
            self.breaks(path, OPENING + "#include <rdma/fabric.h>\n", "only src/fabric")
        count, output = run({**GOOD, "include/netio/x.hpp": OPENING + "#include <rdma/fabric.h>\n"})
        self.assertEqual(count, 2, output)  # no standard header either

    def test_one_file_of_the_channels_reads_json(self):
        line = OPENING + "#include <nlohmann/json.hpp>\n"
        self.holds("src/channels/json_tree.cpp", line)
        for path in ("src/channels/keys.cpp", "src/base/x.cpp"):
            self.breaks(path, line, "the library needs nothing but")
        self.breaks("src/channels/json_tree.cpp", OPENING + "#include <fmt/core.h>\n",
                    "the library needs nothing but")

    def test_one_file_starts_the_threads_of_the_library(self):
        for line in ("std::thread(work).detach();", "std::jthread t(work);", "std::async(work);",
                     "pthread_create(&t, nullptr, work, nullptr);"):
            self.breaks("src/transport/x.cpp", OPENING + line + "\n", "a thread of its own")
            self.holds("src/transport/x_test.cpp", OPENING + line + "\n")
            self.holds("src/base/helper_thread.cpp", OPENING + line + "\n")
        self.holds("src/base/x.hpp", OPENING + "x;  // for which std::thread has none\n")

    def test_an_absent_public_header_is_found(self):
        for path in ("src/base/x.cpp", "tools/x.cpp"):
            self.breaks(path, OPENING + "#include <netio/absent.hpp>\n", "is no public header")

    def test_tools_and_examples_see_no_internals(self):
        for path in ("tools/x.cpp", "examples/x.cpp", "examples/demo/x.cpp"):
            self.breaks(path, '#include "base/url.hpp"\n', "nothing of src/")

    def test_benches_see_the_points_of_the_library_alone(self):
        self.holds("bench/x.cpp", '#include "base/point.hpp"\n')
        self.breaks("bench/x.cpp", '#include "base/url.hpp"\n', "nothing of src/")
        self.breaks("tools/x.cpp", '#include "base/point.hpp"\n', "nothing of src/")

    def test_headers_have_no_points(self):
        self.holds("src/loop/x.cpp", OPENING + "NETIO_POINT(look);\n")
        self.breaks("src/loop/x.hpp", OPENING + "NETIO_POINT(look);\n", "a point in a header")

    def test_the_library_prints_nothing_and_formats_with_nothing_foreign(self):
        self.breaks("src/base/x.cpp", OPENING + "#include <iostream>\n", "iostream")
        self.breaks("src/base/x.cpp", OPENING + "#include <fmt/core.h>\n", "nothing but")

    def test_a_file_opens_with_a_comment_of_at_most_five_lines(self):
        for path in ("include/netio/x.hpp", "src/base/x.cpp", "src/base/x_test.cpp"):
            self.breaks(path, "#pragma once\n", "open the file with a comment")
            self.breaks(path, OPENING * 6, "6 lines, 5 are allowed")
            self.holds(path, OPENING * 5)
        self.breaks("include/netio/x.h", "/* one\n" + " * more\n" * 4 + " */\n", "6 lines")
        self.holds("include/netio/x.h", "/* one\n" + " * more\n" * 3 + " */\n")

    def test_long_files_are_found(self):
        self.breaks("tools/x.cpp", "\n" * 451, "451 lines")
        self.holds("tools/x.cpp", "\n" * 450)
        self.breaks("src/base/x_test.cpp", OPENING + "\n" * 600, "601 lines")
        self.breaks("include/netio.h", OPENING + "\n" * 500, "501 lines")
        self.holds("src/base/x_test.cpp", OPENING + "\n" * 599)

    def test_a_file_past_the_aim_is_noted_and_no_breach(self):
        count, output = run({**GOOD, "src/base/x.cpp": OPENING + "\n" * 400})
        self.assertEqual(count, 0)
        self.assertIn("src/base/x.cpp: note: 401 lines", output)

    def test_long_functions_are_found_wherever_they_stand(self):
        body = "  call();\n"
        for head, tail in (("void f() {\n", "}\n"),
                           ("namespace netio {\nint f(int a,\n  int b) noexcept {\n", "}\n}\n"),
                           ("struct S {\n  S(int a) : a_(a) {\n", "}\n};\n"),
                           ("auto T::f() const -> int {\nif (a) {\n}\n", "}\n"),
                           ("void f() {\nchar c = '{';  // {\n", "}\n")):
            with self.subTest(head=head):
                self.breaks("src/base/x.cpp", OPENING + head + body * 61 + tail, "a function of")
                self.holds("src/base/x.cpp", OPENING + head + body * 56 + tail)

    def test_a_long_class_is_no_long_function(self):
        self.holds("src/base/x.hpp", OPENING + "class X final {\n" + "int f();\n" * 90 + "};\n")
        self.holds("src/base/x.hpp", OPENING + "enum class E : int {\n" + "a,\n" * 90 + "};\n")

    def test_text_of_every_kind_is_looked_at(self):
        later = "TO" + "DO"
        for path in ("src/base/x.cpp", "script/bench", "tests/house/x.py", "CMakeLists.txt"):
            opening = OPENING if path.endswith(".cpp") else "# x\n"
            self.breaks(path, opening + "a\tb\n", "a tab")
            self.breaks(path, opening + f"// {later}: more\n", "left for later")
            self.breaks(path, opening + '"' + "/" + 'home/me/x"\n', "absolute path")
        self.breaks("docs/x.md", "see `/" + "work/x`\n", "absolute path")
        self.breaks("README.md", "see /" + "tmp/bash_x\n", "absolute path")

    def test_a_promise_names_tests_that_there_are(self):
        table = "| promise | tests |\n| --- | --- |\n| it works | %s |\n"
        path = "docs/guarantees.md"
        tests = {"src/base/x_test.cpp": OPENING + "TEST_F(Works, well) {\n}\n",
                 "tests/soak/soak.py": '# x\nPARTS = {\n    "cuts": (Soak.cuts, "x"),\n'}
        for named, count in (("`Works`, `cuts`", 0), ("`Worked`", 1), ("", 1)):
            with self.subTest(named=named):
                self.assertEqual(run({**GOOD, **tests, path: table % named})[0], count)

    def test_an_example_stays_short_and_the_demo_need_not(self):
        self.breaks("examples/x.cpp", "\n" * 41, "at most 40 lines")
        self.breaks("examples/x.c", "\n" * 41, "at most 40 lines")
        self.holds("examples/x.cpp", "\n" * 40)
        self.holds("examples/demo/x.cpp", "\n" * 41)

    def test_blank_lines_comments_and_tests_are_no_lines_of_code(self):
        output = run({"src/base/x.cpp": OPENING + "x;\n\n  // why\n\tx;  // how\n",
                      "src/base/x_test.cpp": OPENING + "x;\n"})[1]
        self.assertRegex(output, r"library +2 lines of code")

    def test_the_sizes_are_printed_per_layer(self):
        output = run({"src/wire/a.hpp": OPENING + "x;\n" * 9,
                      "include/netio/x.hpp": OPENING + "x;\n"})[1]
        self.assertRegex(output, r"include +1\n +wire +9\n +library +10 lines of code")


if __name__ == "__main__":
    unittest.main()
