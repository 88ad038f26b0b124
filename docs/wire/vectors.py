"""Writes vectors.json and the fuzzers' seeds from one description of the wire format.

Knows the format from docs/wire.md alone, not from the code, so that either can find the other
wrong. Run it after the format changed: python3 docs/wire/vectors.py
"""

import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parent.parent / "fuzz" / "corpus"
MAGIC = bytes([0x93]) + b"netio\r\n"
PATTERNS = {"push": 1, "pull": 2, "pair": 3, "publish": 4, "subscribe": 5, "request": 6, "reply": 7}
TAGGED, MORE, CONTINUED, CONTROL = 1, 2, 4, 8
BYE = 1


def padded(data):
    return data + bytes(-len(data) % 8)


def entry(kind, value, reserved=0):
    return struct.pack("<HHI", kind, len(value), reserved) + padded(value)


HELLO_DEFAULTS = dict(
    version_min=0, version_max=0, pattern=PATTERNS["push"], mode=0, refusal=0,
    page_bytes_max=65536, message_bytes_max=1 << 30, session=bytes(range(1, 17)).hex(),
    last_peer=bytes(16).hex(), next_expected=0, next_sequence=0, receives=0,
    receive_bytes=0, text="")


def hello_fields(**changes):
    return {**HELLO_DEFAULTS, **changes}


def hello_bytes(fields, entries=None, size=None):
    if entries is None:
        text = fields["text"].encode()
        receives = struct.pack("<II", fields["receives"], fields["receive_bytes"])
        entries = entry(2, receives) if fields["receives"] else b""
        entries += entry(1, text) if text else b""
    body = struct.pack(
        "<HHBBHIQ", fields["version_min"], fields["version_max"], fields["pattern"],
        fields["mode"], fields["refusal"], fields["page_bytes_max"], fields["message_bytes_max"])
    body += bytes.fromhex(fields["session"]) + bytes.fromhex(fields["last_peer"])
    body += struct.pack("<QQ", fields["next_expected"], fields["next_sequence"]) + entries
    return MAGIC + struct.pack("<I", 12 + len(body) if size is None else size) + body


def hello_vectors():
    out = []

    def good(name, meaning, entries=None, canonical=True, **changes):
        fields = hello_fields(**changes)
        data = hello_bytes(fields, entries)
        out.append(dict(name=name, meaning=meaning, hex=data.hex(), result="done",
                        bytes=len(data), canonical=canonical, fields=fields))

    def bad(name, meaning, data, result, what):
        out.append(dict(name=name, meaning=meaning, hex=data.hex(), result=result, what=what))

    good("push", "a PUSH socket that never met anybody")
    good("pull_resuming", "a PULL socket that heard 1000 messages of a session before",
         pattern=PATTERNS["pull"], mode=1, last_peer="a0" * 16, next_expected=1000,
         next_sequence=1 << 40, page_bytes_max=1 << 20, message_bytes_max=(1 << 64) - 1)
    good("refusal_pattern", "refused: the patterns do not pair", pattern=PATTERNS["push"],
         refusal=2, text="this is a push socket, it pairs with pull")
    good("refusal_without_limits", "who refuses need not say what it would have taken",
         refusal=3, page_bytes_max=0, message_bytes_max=0, text="busy")
    good("receives", "on a fabric: 15 pages may be sent before more are granted", receives=15,
         receive_bytes=69632)
    good("receives_and_text", "both entries", receives=0xffffffff, receive_bytes=0xfffffffe,
         text="hello")
    good("unknown_entries", "entries of unknown types are skipped, wherever they stand",
         entries=entry(700, b"12345") + entry(1, b"why") + entry(65535, b""), canonical=False,
         refusal=4, text="why")
    fields = hello_fields(text="?[2J? ??? ok?")
    data = hello_bytes(fields, entry(1, b"\x1b[2J\x07 \xc2\x9b\x80 ok\xc3"))
    out.append(dict(name="text_made_printable", result="done", canonical=False, fields=fields,
                    meaning="every byte that is not printable ASCII becomes '?'",
                    bytes=len(data), hex=data.hex()))
    fields = hello_fields(version_min=3, version_max=7, pattern=200, mode=9, refusal=1,
                          page_bytes_max=0, message_bytes_max=0, session="00" * 16)
    data = hello_bytes(hello_fields(version_min=3, version_max=7, pattern=200, mode=9, refusal=1),
                       bytes(range(8)) * 3)
    out.append(dict(name="another_version", result="done", canonical=False, fields=fields,
                    meaning="of a later version only the first 20 bytes are read",
                    bytes=len(data), hex=data.hex()))

    whole = hello_bytes(hello_fields())
    for cut in (0, 1, 8, 11, 12, 20, 79):
        out.append(dict(name=f"first_{cut}_bytes", meaning="a hello that is not all there yet",
                        hex=whole[:cut].hex(), result="need_more", bytes=80 if cut >= 12 else 0))

    bad("size_below_80", "a size below the fixed part",
        hello_bytes(hello_fields(), size=72), "defective", "size")
    bad("size_odd", "a size that is not a multiple of 8",
        hello_bytes(hello_fields(), size=84), "defective", "size")
    bad("size_above_4096", "a size above the bound, judged before the rest comes",
        hello_bytes(hello_fields(), size=4104)[:12], "defective", "size")
    bad("version_range_empty", "version_min above version_max",
        hello_bytes(hello_fields(version_min=1)), "defective", "version")
    bad("pattern_0", "no pattern", hello_bytes(hello_fields(pattern=0)), "defective", "pattern")
    bad("pattern_8", "an unknown pattern", hello_bytes(hello_fields(pattern=8)), "defective",
        "pattern")
    bad("page_limit_63", "no page that small holds a part of a message",
        hello_bytes(hello_fields(page_bytes_max=63)), "defective", "page limit")
    bad("entry_too_long", "an entry that ends after its hello",
        hello_bytes(hello_fields(), struct.pack("<HHI", 1, 9, 0) + bytes(8)), "defective", "entry")
    bad("entry_reserved", "the reserved field of an entry is not zero",
        hello_bytes(hello_fields(), entry(1, b"x", reserved=1)), "defective", "entry")

    bad("receives_too_short", "a number of receives of 2 bytes",
        hello_bytes(hello_fields(), entry(2, bytes(2))), "defective", "length")

    bad("http", "a browser", b"GET / HTTP/1.1\r\nHost: daq\r\n\r\n", "foreign", "HTTP")
    bad("http_response", "a web server", b"HTTP/1.1 400 Bad Request\r\n", "foreign", "HTTP")
    bad("zeromq", "a ZMTP 3 greeting", b"\xff" + bytes(7) + b"\x01\x7f\x03", "foreign", "ZeroMQ")
    bad("zeromq_start", "the byte that a ZMTP greeting starts with", b"\xff", "foreign", "ZeroMQ")
    bad("tls", "a TLS client", bytes.fromhex("1603010200010001fc0303"), "foreign", "TLS")
    bad("tls_alert", "a TLS server that did not understand us", bytes.fromhex("15030100020232"),
        "foreign", "TLS")
    bad("ssh", "an SSH server", b"SSH-2.0-OpenSSH_9.2\r\n", "foreign", "SSH")
    bad("nng", "an SP header", b"\x00SP\x00\x00\x50\x00\x00", "foreign", "nng")
    bad("noise", "neither", bytes.fromhex("0badcafe0102030405"), "foreign",
        "unknown protocol (first bytes 0b ad ca fe 01 02 03 04)")
    bad("magic_mended", "a channel that turned CR LF into LF", b"\x93netio\n\x50", "foreign",
        "unknown protocol (first bytes 93 6e 65 74 69 6f 0a 50)")
    return out


def page_fields(**changes):
    return {**dict(bytes=0, messages=0, flags=0, credits=0, fetched=0, reserved=0,
                   sequence=0, acknowledged=0), **changes}


def page_bytes(fields):
    return struct.pack("<IIHHHHQQ", *(fields[name] for name in (
        "bytes", "messages", "flags", "credits", "fetched", "reserved", "sequence",
        "acknowledged")))


def page_vectors():
    out = []

    def add(name, meaning, defect=None, fabric=False, **changes):
        fields = page_fields(**changes)
        out.append(dict(name=name, meaning=meaning, fabric=fabric, hex=page_bytes(fields).hex(),
                        defect=defect, fields=fields))

    add("messages", "three messages from number 1000 on; 7 of the peer's were delivered",
        bytes=72, messages=3, sequence=1000, acknowledged=7)
    add("acknowledgement", "nothing but an acknowledgement", sequence=1003, acknowledged=0xfedcba98)
    add("part", "a part that is not the last: no message ends here", bytes=65504, sequence=5)
    add("control", "control frames, no messages", bytes=8, flags=1, sequence=12, acknowledged=12)
    add("empty_messages", "as many messages of no bytes as there are words", bytes=80, messages=10)
    add("credits", "a transport that grants credits", credits=65535, acknowledged=(1 << 64) - 1)
    add("bytes_odd", "a body that is not a multiple of 8", "multiple of 8", bytes=12, messages=1)
    add("lent", "on a fabric: one message, fetched from where it lies", fabric=True, bytes=24,
        messages=1, flags=2, credits=3, sequence=9)
    add("fetched", "on a fabric: two messages that were lent have been fetched", fabric=True,
        credits=1, fetched=2, sequence=4, acknowledged=7)
    add("flag_unknown", "a flag that nobody defined", "flags", flags=4)
    add("flag_unknown_on_fabric", "the same on a fabric", "flags", fabric=True, flags=4)
    add("lent_elsewhere", "lent, where no fabric is", "flags", flags=2, bytes=24, messages=1)
    add("fetched_elsewhere", "fetched, where no fabric is", "reserved", fetched=1)
    add("reserved", "the reserved field is not zero", "reserved", reserved=1)
    add("reserved_on_fabric", "the same on a fabric", "reserved", fabric=True, reserved=1)
    add("messages_too_many", "more messages than words", "more messages", bytes=16, messages=3)
    add("control_with_messages", "messages in a control page", "control page", bytes=8, flags=1,
        messages=1)
    return out


def frame(payload=b"", flags=0, tag=None, total=None, kind=0):
    if tag is not None:
        flags |= TAGGED
    data = struct.pack("<II", len(payload), flags | kind << 8)
    if tag is not None:
        data += struct.pack("<Q", tag)
    if total is not None:
        data += struct.pack("<Q", total)
    fields = dict(flags=flags, kind=kind, tag=tag or 0, total=total or 0, payload=payload.hex())
    return data + padded(payload), fields


def body(*frames):
    return b"".join(data for data, _ in frames), [fields for _, fields in frames]


def frame_vectors():
    out = []

    def add(name, meaning, frames, defect=None, tail=b""):
        data, fields = body(*frames)
        out.append(dict(name=name, meaning=meaning, hex=(data + tail).hex(), frames=fields,
                        defect=defect))

    def word(size, flags):
        return struct.pack("<II", size, flags)

    add("none", "an empty body", [])
    add("plain", "one message, padded", [frame(b"hello")])
    add("aligned", "a message that needs no padding", [frame(b"12345678")])
    add("empty", "messages of no bytes", [frame(), frame(), frame()])
    add("tagged", "with tags, next to one without",
        [frame(b"abc", tag=0x1122334455667788), frame(b"x"), frame(tag=(1 << 64) - 1)])
    add("first_part", "the first part, with the total", [frame(b"p" * 16, MORE, total=40)])
    add("first_part_tagged", "the tag comes before the total",
        [frame(b"p" * 16, MORE, tag=9, total=40)])
    add("middle_part", "a part in the middle", [frame(b"q" * 16, MORE | CONTINUED)])
    add("last_part", "the last part", [frame(b"r" * 8, CONTINUED)])
    add("bye", "the peer sends no more messages", [frame(b"", CONTROL, kind=BYE)])
    add("cut_in_word", "a body that ends inside a word", [frame(b"x")], "cut short", bytes(4))
    add("cut_in_tag", "no room for the tag", [], "tag", word(0, TAGGED))
    add("cut_in_total", "no room for the total", [frame()], "total",
        word(0, TAGGED | MORE) + bytes(8))
    add("longer_than_page", "a payload that ends after the body", [frame(b"ok")], "longer",
        word(9, 0) + bytes(8))
    add("longest", "the largest size there is", [], "longer", word(0xffffffff, 0) + bytes(64))
    add("flag_unknown", "a flag that nobody defined", [], "flags", word(0, 16))
    add("flag_unknown_high", "another one", [], "flags", word(0, 1 << 31))
    add("kind_without_control", "a control kind, not in a control frame", [], "control",
        word(0, BYE << 8))
    add("control_tagged", "a control frame with a tag", [], "control",
        word(0, CONTROL | TAGGED | BYE << 8) + bytes(8))
    add("control_part", "a control frame in parts", [], "control",
        word(0, CONTROL | CONTINUED | BYE << 8))
    add("tag_in_later_part", "only the first part has the tag", [], "tag in a later",
        word(8, TAGGED | CONTINUED) + bytes(16))
    return out


def page(sequence, messages, *frames, flags=0, acknowledged=0):
    data, fields = body(*frames)
    header = page_fields(bytes=len(data), messages=messages, flags=flags, sequence=sequence,
                         acknowledged=acknowledged)
    return dict(hex=(page_bytes(header) + data).hex(), header=header, frames=fields)


def split(message, page_bytes_max, sequence, tag=None):
    """The pages of a message that does not fit into one."""
    pages, at = [], 0
    while at < len(message):
        first = at == 0
        prefix = 8 + (8 if first and tag is not None else 0) + (8 if first else 0)
        room = (page_bytes_max - 32 - prefix) // 8 * 8
        part = message[at:at + room]
        at += len(part)
        last = at == len(message)
        flags = (0 if first else CONTINUED) | (0 if last else MORE)
        pages.append(page(sequence, 1 if last else 0,
                          frame(part, flags, tag if first else None,
                                len(message) if first else None)))
    return pages


def stream_vectors():
    message = bytes(range(100))
    return [
        dict(name="small_messages", page_bytes_max=128, messages=["61", "6262", ""],
             tags=[0, 5, 0], meaning="three messages that share a page",
             pages=[page(10, 3, frame(b"a"), frame(b"bb", tag=5), frame())]),
        dict(name="documented_example", page_bytes_max=64, messages=["61", ""], tags=[5, 0],
             meaning="the example of docs/wire.md",
             pages=[page(1, 2, frame(b"a", tag=5), frame(), acknowledged=4)]),
        dict(name="split", page_bytes_max=64, messages=[message.hex()], tags=[0],
             meaning="100 bytes over pages of 64", pages=split(message, 64, 7)),
        dict(name="split_tagged", page_bytes_max=64, messages=[message.hex()], tags=[1 << 63],
             meaning="the same with a tag", pages=split(message, 64, 7, tag=1 << 63)),
        dict(name="lent", page_bytes_max=64, messages=[message.hex()], tags=[0],
             meaning="the same, lent: one page larger than the others may be",
             pages=[page(7, 1, frame(message))]),
        dict(name="bye", page_bytes_max=64, messages=["ff"], tags=[0],
             meaning="a message, an acknowledgement alone, and the end",
             pages=[page(0, 1, frame(b"\xff"), acknowledged=3), page(1, 0, acknowledged=4),
                    page(1, 0, frame(b"", CONTROL, kind=BYE), flags=1, acknowledged=4)]),
    ]


def write_corpus(folder, vectors):
    (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    for name, data in vectors:
        (CORPUS / folder / name).write_bytes(data)


def main():
    vectors = dict(version=0, hello=hello_vectors(), page=page_vectors(), frame=frame_vectors(),
                   stream=stream_vectors())
    text = json.dumps(vectors, indent=1, ensure_ascii=False)
    (HERE / "vectors.json").write_text(text + "\n", encoding="utf-8")
    for folder in ("hello", "frame"):
        write_corpus(folder, [(v["name"], bytes.fromhex(v["hex"])) for v in vectors[folder]])
    write_corpus("page", [(v["name"], bytes.fromhex(v["hex"])) for v in vectors["page"]])
    write_corpus("page", [("stream_" + v["name"],
                           b"".join(bytes.fromhex(p["hex"]) for p in v["pages"]))
                          for v in vectors["stream"]])


if __name__ == "__main__":
    main()
