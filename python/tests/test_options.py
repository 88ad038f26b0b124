"""Every option and enum of the headers is there in Python, under its own name."""

import pathlib
import re
import typing
import unittest

import netio
from netio import options

HEADERS = pathlib.Path(__file__).parents[2] / "include" / "netio"
TIME = re.compile(r"^std::chrono::\w+$")
FIELD = re.compile(r"^  ([\w:]+) (\w+)(?: = .*|\{.*\});", re.MULTILINE)


def fields_of(header, struct):
    """The names that the fields of a struct have as keyword arguments."""
    text = (HEADERS / header).read_text()
    body = re.search(rf"^struct {struct}(?: : \w+)? \{{$(.*?)^\}};", text, re.MULTILINE | re.DOTALL).group(1)
    for kind, name in FIELD.findall(body):
        if kind not in ("SocketOptions", "BuildPlan"):
            yield name + "_s" if TIME.match(kind) else name


class Options(unittest.TestCase):
    structs = {
        "ContextOptions": ("context.hpp", options.ContextOptions, ()),
        "SocketOptions": ("options.hpp", options.SocketOptions, ()),
        "PublishOptions": ("subscription.hpp", options.PublishOptions, options.SocketOptions),
        "SubscribeOptions": ("subscription.hpp", options.SubscribeOptions, options.SocketOptions),
        "RequestOptions": ("request.hpp", options.RequestOptions, options.SocketOptions),
        "ReplyOptions": ("reply.hpp", options.ReplyOptions, options.SocketOptions),
        "BuildPlan": ("event_building.hpp", options.PlanOptions, options.SocketOptions),
        "ReadoutOptions": ("readout_unit.hpp", options.ReadoutOptions, options.PlanOptions),
        "BuilderOptions": ("builder_unit.hpp", options.BuilderOptions, options.PlanOptions),
        "ManagerOptions": ("event_manager.hpp", options.ManagerOptions, options.PlanOptions),
    }

    def test_every_option_of_the_headers_has_a_keyword(self):
        for struct, (header, typed, base) in self.structs.items():
            with self.subTest(struct):
                names = set(typed.__annotations__)
                if base:
                    names -= set(base.__annotations__)
                self.assertEqual(names, set(fields_of(header, struct)))

    def test_every_keyword_is_taken(self):
        values = {int: 5, float: 0.5, bool: True, str: "name"}
        kinds = {netio.Push: options.SocketOptions, netio.Publish: options.PublishOptions,
                 netio.Subscribe: options.SubscribeOptions, netio.Request: options.RequestOptions,
                 netio.Reply: options.ReplyOptions, netio.Context: options.ContextOptions,
                 netio.BuilderUnit: options.BuilderOptions,
                 netio.ReadoutUnit: options.ReadoutOptions,
                 netio.EventManager: options.ManagerOptions}
        with netio.Context() as context:
            for kind, typed in kinds.items():
                first = () if kind is netio.Context else (context,)
                for name, of in typing.get_type_hints(typed).items():
                    value = values.get(of) if of in values else next(iter(of))
                    with self.subTest(f"{kind.__name__}({name})"):
                        try:
                            kind(*first, **{name: value})
                        except netio.Error:
                            pass  # it was taken, and makes no sense alone
                        with self.assertRaises((TypeError, ValueError)):
                            kind(*first, **{name: object()})


class Records(unittest.TestCase):
    def test_records_have_every_field_of_the_headers(self):
        for header, kind in (("books.hpp", netio.Books), ("books.hpp", netio.Counters),
                             ("peer.hpp", netio.PeerInfo), ("peer.hpp", netio.PeerSnapshot),
                             ("request.hpp", netio.RequestBooks), ("reply.hpp", netio.ReplyBooks)):
            with self.subTest(kind.__name__):
                fields = list(fields_of(header, kind.__name__))
                self.assertTrue(fields)
                self.assertEqual([name for name in fields if not hasattr(kind, name)], [])


class Enums(unittest.TestCase):
    def test_enums_have_the_names_of_the_headers(self):
        text = "".join(path.read_text() for path in sorted(HEADERS.glob("*.hpp")))
        for enum in (netio.Status, netio.DropReason, netio.DownReason, netio.Outcome, netio.Policy,
                     netio.Mode, netio.Distribute, netio.Acknowledge, netio.IdlePolicy,
                     netio.FragmentStatus, netio.Missing, netio.WhenFull):
            found = re.search(rf"enum class (?:\[\[nodiscard\]\] )?{enum.__name__} : std::uint8_t ?"
                              r"\{(.*?)\};", text, re.DOTALL).group(1)
            names = re.findall(r"\b(\w+)\b", re.sub(r"//.*", "", found))
            self.assertEqual([member.name for member in enum],
                             [name for name in names if name != "count_"])


if __name__ == "__main__":
    unittest.main()
