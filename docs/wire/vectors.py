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
TAGGED, MORE, CONTINUED, CONTROL, REQUEST, SEGMENTED = 1, 2, 4, 8, 16, 32
REQUESTS, SEGMENTS = 1, 2  # abilities
BYE, SUBSCRIBE, SUBSCRIBED, GAP, ENDING, CONFIRM, STAY, ASK, GRANT, CANCEL = range(1, 11)
WHOLE, REMOVE, LAST = 1, 2, 4
EVERY_TAG = [0, (1 << 64) - 1]


def padded(data):
    return data + bytes(-len(data) % 8)


def entry(kind, value, reserved=0):
    return struct.pack("<HHI", kind, len(value), reserved) + padded(value)


def offers_of(count=1, token=b"\7" * 16, boot=bytes(range(16)), network=4026531840, user=1000,
              reserved=0, offers=None):
    """The value of the entry: the place of the host, the token, and (wire, port, name) each."""
    if offers is None:
        offers = [(1 + each % 3, 5000 + each, 0x0123456789abcdef) for each in range(count)]
    value = boot + struct.pack("<QII", network, user, reserved) + token
    return value + b"".join(struct.pack("<HHIQ", wire, port, 0, name) for wire, port, name in offers)


def ring_of(slots=16, slot_bytes=69632, notices=40, reserved=0):
    """The value of the entry: where slots and notices lie, and how many there are."""
    return struct.pack("<QQQQIIII", 0x7f0000000000, 3, 0x7f0000200000, (1 << 64) - 1, slots,
                       slot_bytes, notices, reserved)


HELLO_DEFAULTS = dict(
    version_min=2, version_max=2, pattern=PATTERNS["push"], mode=0, refusal=0,
    page_bytes_max=65536, message_bytes_max=1 << 30, run=bytes(range(1, 17)).hex(),
    stream=bytes(range(101, 117)).hex(), peer_run=bytes(16).hex(), epoch=1, nonce=0, window=0,
    can=0, silence_ms=0, name="", receives=0, receive_bytes=0, text="",
    offers="", token="", asks=False, release="", ring="")
# Of a hello that is not read beyond its first 20 bytes.
HELLO_UNREAD = dict(page_bytes_max=0, message_bytes_max=0, run=bytes(16).hex(),
                    stream=bytes(16).hex(), epoch=0)


def hello_fields(**changes):
    return {**HELLO_DEFAULTS, **changes}


def hello_bytes(fields, entries=None, size=None, reserved=0):
    if entries is None:
        text, name = fields["text"].encode(), fields["name"].encode()
        receives = struct.pack("<II", fields["receives"], fields["receive_bytes"])
        entries = entry(2, receives) if fields["receives"] else b""
        entries += entry(3, name) if name else b""
        for kind, name in ((4, "offers"), (5, "token")):
            entries += entry(kind, bytes.fromhex(fields[name])) if fields[name] else b""
        entries += entry(6, b"") if fields["asks"] else b""
        entries += entry(7, fields["release"].encode()) if fields["release"] else b""
        entries += entry(8, bytes.fromhex(fields["ring"])) if fields["ring"] else b""
        entries += entry(1, text) if text else b""
    body = struct.pack(
        "<HHBBHIQ", fields["version_min"], fields["version_max"], fields["pattern"],
        fields["mode"], fields["refusal"], fields["page_bytes_max"], fields["message_bytes_max"])
    body += b"".join(bytes.fromhex(fields[name]) for name in ("run", "stream", "peer_run"))
    body += struct.pack("<QQQQII", fields["epoch"], fields["nonce"], fields["window"],
                        fields["can"], fields["silence_ms"], reserved) + entries
    return MAGIC + struct.pack("<I", 12 + len(body) if size is None else size) + body


def hello_vectors():
    out = []

    def good(name, meaning, /, entries=None, canonical=True, **changes):
        fields = hello_fields(**changes)
        data = hello_bytes(fields, entries)
        out.append(dict(name=name, meaning=meaning, hex=data.hex(), result="done",
                        bytes=len(data), canonical=canonical, fields=fields))

    def bad(name, meaning, data, result, what):
        out.append(dict(name=name, meaning=meaning, hex=data.hex(), result=result, what=what))

    good("push", "a PUSH socket that never met anybody")
    good("pull_returning", "a PULL socket on the seventh connection of a stream",
         pattern=PATTERNS["pull"], mode=1, peer_run="a0" * 16, epoch=7, page_bytes_max=1 << 20,
         message_bytes_max=(1 << 64) - 1)
    good("accepting", "an answer, with the nonce that is to be repeated", nonce=(1 << 64) - 1)
    good("named", "a name of the most bytes", name="builder " + "n" * 55)
    good("later_features", "a window, a bound of silence, and every ability, known or not",
         window=1 << 30, silence_ms=24 * 3600 * 1000, can=(1 << 64) - 1)
    good("refusal_pattern", "refused: the patterns do not pair", pattern=PATTERNS["push"],
         refusal=2, text="this is a push socket, it pairs with pull")
    good("refusal_without_limits", "who refuses need not say what it would have taken",
         refusal=3, page_bytes_max=0, message_bytes_max=0, run=bytes(16).hex(),
         stream=bytes(16).hex(), epoch=0, text="busy")
    good("refusal_expired", "the stream is not known any more", refusal=5,
         text="this stream is not known here")
    good("publisher", "a publisher that takes the smallest pages it may",
         pattern=PATTERNS["publish"], page_bytes_max=80)
    good("subscriber", "a subscriber that asks for unbuffered messages",
         pattern=PATTERNS["subscribe"], mode=1)
    good("mode_unknown", "a mode that nobody defined", mode=2)
    good("refusal_unknown", "a refusal that nobody defined means other", refusal=6)
    good("epoch_highest", "the highest epoch there is", epoch=(1 << 64) - 1)
    good("receives", "on a fabric: 15 pages may be sent before more are granted", receives=15,
         receive_bytes=69632)
    good("all_entries", "all entries", receives=0xffffffff, receive_bytes=0xfffffffe,
         name="unit 7", text="hello")
    good("offers", "the accepting side of a netio:// address offers shared memory",
         offers=offers_of().hex(), nonce=1)
    good("offers_most", "as many as there may be", offers=offers_of(8).hex(), nonce=1)
    good("ring", "on a fabric: sixteen slots that the other side may write pages to",
         receives=39, receive_bytes=69632, ring=ring_of().hex())
    good("ring_largest", "as many slots, as large, and as many notices as there may be",
         ring=ring_of(1024, 1 << 30, 2048).hex())
    good("token", "who connects over a wire that was offered", token="07" * 16, epoch=2)
    good("asks", "who only asks who is there", asks=True)
    good("asked", "and the answer", refusal=4, nonce=1, release="0.1.0", text="this is an answer")
    good("offers_unknown", "offers of unknown wires are skipped",
         entries=entry(4, offers_of(offers=[(0, 1, 2), (4, 5, 6), (2, 7, 0), (65535, 0, 0)])),
         canonical=False, offers=offers_of(offers=[(2, 7, 0)]).hex())
    good("offers_all_unknown", "without any others nothing is offered",
         entries=entry(4, offers_of(offers=[(4, 5, 6)])), canonical=False)
    good("unknown_entries", "entries of unknown types are skipped, wherever they stand",
         entries=entry(700, b"12345") + entry(1, b"why") + entry(65535, b""), canonical=False,
         refusal=4, text="why")
    fields = hello_fields(text="?[2J? ??? ok?")
    data = hello_bytes(fields, entry(1, b"\x1b[2J\x07 \xc2\x9b\x80 ok\xc3"))
    out.append(dict(name="text_made_printable", result="done", canonical=False, fields=fields,
                    meaning="every byte that is not printable ASCII becomes '?'",
                    bytes=len(data), hex=data.hex()))
    def unread(name, meaning, data, /, **changes):
        fields = hello_fields(**{**HELLO_UNREAD, **changes})
        out.append(dict(name=name, meaning=meaning, result="done", canonical=False, fields=fields,
                        bytes=len(data), hex=data.hex()))

    later = dict(version_min=3, version_max=7, pattern=200, mode=9, refusal=1)
    unread("another_version", "of a later version only the first 20 bytes are read",
           hello_bytes(hello_fields(**later), bytes(range(8)) * 3), **later)
    first = hello_bytes(hello_fields(version_min=1, version_max=1), size=80)[:80]
    unread("version_1", "nor more of version 1, whose hellos have 80 bytes", first,
           version_min=1, version_max=1)
    unread("version_0", "nor of an earlier one",
           hello_bytes(hello_fields(version_min=0, version_max=0)), version_min=0, version_max=0)

    whole = hello_bytes(hello_fields())
    for cut in (0, 1, 8, 11, 12, 20, 79, 119):
        out.append(dict(name=f"first_{cut}_bytes", meaning="a hello that is not all there yet",
                        hex=whole[:cut].hex(), result="need_more", bytes=120 if cut >= 12 else 0))

    bad("size_below_80", "a size below the fixed part",
        hello_bytes(hello_fields(), size=72), "defective", "size")
    bad("size_odd", "a size that is not a multiple of 8",
        hello_bytes(hello_fields(), size=124), "defective", "size")
    bad("size_of_version_1", "too short for this version",
        hello_bytes(hello_fields(), size=112)[:112], "defective", "short")
    bad("size_above_4096", "a size above the bound, judged before the rest comes",
        hello_bytes(hello_fields(), size=4104)[:12], "defective", "size")
    bad("version_range_empty", "version_min above version_max",
        hello_bytes(hello_fields(version_min=3)), "defective", "version")
    bad("pattern_0", "no pattern", hello_bytes(hello_fields(pattern=0)), "defective", "pattern")
    bad("pattern_12", "an unknown pattern", hello_bytes(hello_fields(pattern=12)), "defective",
        "pattern")
    bad("page_limit_79", "no page that small holds every control frame",
        hello_bytes(hello_fields(page_bytes_max=79)), "defective", "page limit")
    bad("run_zeros", "no run", hello_bytes(hello_fields(run="00" * 16)), "defective", "run")
    bad("stream_zeros", "no stream", hello_bytes(hello_fields(stream="00" * 16)), "defective",
        "stream")
    bad("epoch_0", "epochs count from 1", hello_bytes(hello_fields(epoch=0)), "defective", "epoch")
    bad("silence_of_more_than_a_day", "who allows that wants nothing",
        hello_bytes(hello_fields(silence_ms=24 * 3600 * 1000 + 1)), "defective", "silence")
    bad("silence_of_less_than_ten_milliseconds", "who has to speak so often does nothing else",
        hello_bytes(hello_fields(silence_ms=9)), "defective", "silence")
    bad("reserved", "the reserved field is not zero", hello_bytes(hello_fields(), reserved=1),
        "defective", "reserved")
    bad("name_empty", "a name of no bytes", hello_bytes(hello_fields(), entry(3, b"")),
        "defective", "name")
    bad("name_too_long", "a name of 64 bytes", hello_bytes(hello_fields(), entry(3, b"n" * 64)),
        "defective", "name")
    bad("name_not_printable", "a name that rings the bell",
        hello_bytes(hello_fields(), entry(3, b"unit\x07")), "defective", "name")
    bad("name_not_ascii", "a name beyond ASCII",
        hello_bytes(hello_fields(), entry(3, "größe".encode())), "defective", "name")
    bad("entry_too_long", "an entry that ends after its hello",
        hello_bytes(hello_fields(), struct.pack("<HHI", 1, 9, 0) + bytes(8)), "defective", "entry")
    bad("entry_reserved", "the reserved field of an entry is not zero",
        hello_bytes(hello_fields(), entry(1, b"x", reserved=1)), "defective", "entry")

    bad("receives_too_short", "a number of receives of 2 bytes",
        hello_bytes(hello_fields(), entry(2, bytes(2))), "defective", "length")

    for name, meaning, value in (
            ("slots_none", "no slot", ring_of(0)),
            ("slots_many", "a slot too many", ring_of(1025)),
            ("slot_small", "a slot that is too small", ring_of(slot_bytes=248)),
            ("slot_odd", "a slot that is no multiple of 8", ring_of(slot_bytes=4100)),
            ("slot_large", "a slot that is too large", ring_of(slot_bytes=(1 << 30) + 8)),
            ("notices_none", "no notice", ring_of(notices=0)),
            ("notices_many", "a notice too many", ring_of(notices=2049))):
        bad("ring_" + name, "a ring with " + meaning, hello_bytes(hello_fields(), entry(8, value)),
            "defective", "impossible ring")
    bad("ring_short", "a ring of 40 bytes",
        hello_bytes(hello_fields(), entry(8, ring_of()[:40])), "defective", "wrong length")
    bad("ring_reserved", "a ring with a reserved field that is not zero",
        hello_bytes(hello_fields(), entry(8, ring_of(reserved=1))), "defective", "not zero")
    bad("receives_zero", "no receives",
        hello_bytes(hello_fields(), entry(2, struct.pack("<II", 0, 65536))), "defective",
        "no message")

    bad("offers_none", "an offer of nothing", hello_bytes(hello_fields(), entry(4, offers_of(0))),
        "defective", "offers")
    bad("offers_nine", "one more than there may be",
        hello_bytes(hello_fields(), entry(4, offers_of(9))), "defective", "too many offers")
    bad("offers_as_many_as_fit", "as many as a hello has room for",
        hello_bytes(hello_fields(), entry(4, offers_of(245))), "defective", "too many offers")
    bad("offers_cut", "half an offer",
        hello_bytes(hello_fields(), entry(4, offers_of()[:-8])), "defective", "offers")
    bad("offers_empty", "no place and no token", hello_bytes(hello_fields(), entry(4, b"")),
        "defective", "offers")
    bad("offers_without_token", "nobody could take them",
        hello_bytes(hello_fields(), entry(4, offers_of(token=bytes(16)))), "defective", "token")
    bad("offers_reserved", "the reserved field of the place is not zero",
        hello_bytes(hello_fields(), entry(4, offers_of(reserved=1))), "defective", "reserved")
    bad("offer_reserved", "the reserved field of an offer is not zero",
        hello_bytes(hello_fields(), entry(4, offers_of()[:-12] + b"\1" + offers_of()[-11:])),
        "defective", "reserved")
    bad("token_short", "half a token", hello_bytes(hello_fields(), entry(5, b"\7" * 8)),
        "defective", "length")
    bad("token_zeros", "no token", hello_bytes(hello_fields(), entry(5, bytes(16))), "defective",
        "token")

    bad("asks_with_bytes", "a question has none", hello_bytes(hello_fields(), entry(6, b"who")),
        "defective", "length")
    bad("release_not_printable", "a release that rings the bell",
        hello_bytes(hello_fields(), entry(7, b"\x07")), "defective", "release")

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
    add("flag_unknown", "a flag that nobody defined", "flags", flags=8)
    add("flag_unknown_on_fabric", "the same on a fabric", "flags", fabric=True, flags=8)
    add("redelivered", "sent again, which nobody has offered to take", "redelivery", flags=4,
        bytes=8, messages=1)
    add("lent_elsewhere", "lent, where no fabric is", "flags", flags=2, bytes=24, messages=1)
    add("fetched_elsewhere", "fetched, where no fabric is", "reserved", fetched=1)
    add("reserved", "the reserved field is not zero", "reserved", reserved=1)
    add("reserved_on_fabric", "the same on a fabric", "reserved", fabric=True, reserved=1)
    add("messages_too_many", "more messages than words", "more messages", bytes=16, messages=3)
    add("control_with_messages", "messages in a control page", "control page", bytes=8, flags=1,
        messages=1)
    return out


def frame(payload=b"", flags=0, tag=None, total=None, kind=0, field=0):
    """`tag` of a request is its id, `field` its time or status; `kind` of segments their number."""
    if tag is not None and not flags & REQUEST:
        flags |= TAGGED
    data = struct.pack("<II", len(payload), flags | kind << 8 | field << 16)
    if tag is not None:
        data += struct.pack("<Q", tag)
    if total is not None:
        data += struct.pack("<Q", total)
    fields = dict(flags=flags, kind=kind, tag=tag or 0, total=total or 0, payload=payload.hex())
    if field:
        fields["field"] = field
    return data + padded(payload), fields


def body(*frames):
    return b"".join(data for data, _ in frames), [fields for _, fields in frames]


def terms(what, policy, reserved, behind_for_ms):
    return struct.pack("<HBBI", what, policy, reserved, behind_for_ms)


def subscribe(revision, flags, policy=0, behind_for_ms=0, behind_bytes_max=4 << 20, ranges=(),
              reserved=0):
    data = struct.pack("<Q", revision) + terms(flags, policy, reserved, behind_for_ms)
    data += struct.pack("<Q", behind_bytes_max)
    return data + b"".join(struct.pack("<QQ", *tags) for tags in ranges)


def subscribed(revision, first, refusal=0, policy=0, behind_for_ms=0, behind_bytes_max=4 << 20,
               ranges_max=1 << 20, reserved=0):
    data = struct.pack("<QQ", revision, first) + terms(refusal, policy, reserved, behind_for_ms)
    return data + struct.pack("<QQ", behind_bytes_max, ranges_max)


def gap(dropped, reason, reserved=bytes(7)):
    return struct.pack("<QB", dropped, reason) + reserved


def ending_of(reason, reserved=bytes(7)):
    return struct.pack("<B", reason) + reserved


def confirm_of(nonce, following=0, next_expected=0, oldest_kept=0, missed=0):
    return struct.pack("<QQQQQ", nonce, following, next_expected, oldest_kept, missed)


def control_vectors():
    """Payloads of control frames. `defect` is found in the payload, `range_defect` in a range."""
    out = []

    def add(kind, name, meaning, data, defect=None, **more):
        out.append(dict(name=name, meaning=meaning, kind=kind, hex=data.hex(), defect=defect,
                        **more))

    def change(name, meaning, defect=None, range_defect=None, **fields):
        fields = {**dict(revision=1, flags=LAST, policy=0, behind_for_ms=0,
                         behind_bytes_max=4 << 20, ranges=[]), **fields}
        data = subscribe(**fields)
        fields.pop("reserved", None)
        add(SUBSCRIBE, "subscribe_" + name, meaning, data, defect, range_defect=range_defect,
            fields=fields)

    def answer(name, meaning, defect=None, **fields):
        fields = {**dict(revision=1, first=0, refusal=0, policy=0, behind_for_ms=0,
                         behind_bytes_max=4 << 20, ranges_max=1 << 20), **fields}
        data = subscribed(**fields)
        fields.pop("reserved", None)
        fields["from"] = fields.pop("first")
        add(SUBSCRIBED, "subscribed_" + name, meaning, data, defect, fields=fields)

    def dropped(name, meaning, defect=None, count=1, reason=1, reserved=bytes(7)):
        add(GAP, "gap_" + name, meaning, gap(count, reason, reserved), defect,
            fields=dict(dropped=count, reason=reason))

    def ending(name, meaning, defect=None, reason=1, reserved=bytes(7)):
        add(ENDING, "ending_" + name, meaning, ending_of(reason, reserved), defect,
            fields=dict(reason=reason))

    def sizes(kind, name, data, good):
        for size in (0, 8, 16, 23, 24, 32, 39, 40, 41, 48):
            if size not in good:
                add(kind, f"{name}_of_{size}_bytes", "a size it cannot have",
                    (data + bytes(48))[:size], "size")

    change("whole", "a set of all tags, as a subscriber begins", flags=WHOLE | LAST,
           ranges=[EVERY_TAG])
    change("nothing", "a set of no tags", flags=WHOLE | LAST)
    change("add", "single tags, and a range over one of them", revision=2,
           ranges=[[5, 5], [0, 0], [3, 8], EVERY_TAG[1:] * 2])
    change("remove", "two ranges leave the set", revision=3, flags=REMOVE | LAST,
           ranges=[[10, 20], [15, 1 << 63]])
    change("part", "the change goes on in another frame", flags=WHOLE, ranges=[[1, 1]])
    change("disconnect", "all fields as large as they get", revision=(1 << 64) - 1, flags=0,
           policy=4, behind_for_ms=(1 << 32) - 1, behind_bytes_max=(1 << 64) - 1)
    change("revision_0", "revisions count from 1", "revision", revision=0)
    change("flag_unknown", "a flag that nobody defined", "flags", flags=LAST | 8)
    change("flag_unknown_high", "another one", "flags", flags=LAST | 1 << 15)
    change("whole_and_remove", "nothing to remove from an empty set", "exclude",
           flags=WHOLE | REMOVE | LAST)
    change("policy_unknown", "a policy that nobody defined", "policy", policy=5)
    change("reserved", "the reserved field is not zero", "reserved", reserved=1)
    change("range_backwards", "a range that ends before it begins", range_defect="begins",
           ranges=[[1, 2], [9, 8]])
    change("range_backwards_at_the_ends", "the last tag is not before the first",
           range_defect="begins", ranges=[EVERY_TAG[::-1]])
    sizes(SUBSCRIBE, "subscribe", subscribe(1, LAST), good=(24, 40))

    answer("granted", "as it was asked for", revision=7, first=1000)
    answer("less", "a lesser policy and a lesser bound", policy=1, behind_bytes_max=65536)
    answer("refused", "more ranges than the publisher takes", refusal=1, ranges_max=64)
    answer("largest", "all fields as large as they get", revision=(1 << 64) - 1,
           first=(1 << 57) - 1, policy=4, behind_for_ms=(1 << 32) - 1,
           behind_bytes_max=(1 << 64) - 1, ranges_max=(1 << 64) - 1)
    answer("revision_0", "revisions count from 1", "revision", revision=0)
    answer("from_too_high", "a number that no message can have", "number", first=1 << 57)
    answer("refusal_unknown", "a refusal that nobody defined", "refusal", refusal=2)
    answer("refusal_unknown_high", "another one", "refusal", refusal=256)
    answer("policy_unknown", "a policy that nobody defined", "policy", policy=5)
    answer("reserved", "the reserved field is not zero", "reserved", reserved=128)
    sizes(SUBSCRIBED, "subscribed", subscribed(1, 0), good=(40,))

    for reason, name in enumerate(("dropped_new", "dropped_old", "superseded", "not_sent"), 1):
        dropped(name, "one of the reasons", reason=reason, count=reason)
    dropped("none", "nothing was dropped so far", count=0)
    dropped("most", "as many as there can be", count=(1 << 56) - 1)
    dropped("too_many", "more messages than there can be", "number", count=1 << 56)
    dropped("reason_0", "no reason", "reason", reason=0)
    dropped("reason_unknown", "a reason that nobody defined", "reason", reason=5)
    dropped("reserved", "the first reserved byte is not zero", "reserved",
            reserved=b"\1" + bytes(6))
    dropped("reserved_last", "the last reserved byte is not zero", "reserved",
            reserved=bytes(6) + b"\1")
    sizes(GAP, "gap", gap(1, 1), good=(16,))

    ending("too_slow", "the only reason there is")
    ending("reason_0", "no reason", "reason", reason=0)
    ending("reason_unknown", "a reason that nobody defined", "reason", reason=2)
    ending("reserved", "the first reserved byte is not zero", "reserved",
           reserved=b"\1" + bytes(6))
    ending("reserved_last", "the last reserved byte is not zero", "reserved",
           reserved=bytes(6) + b"\1")
    sizes(ENDING, "ending", ending_of(1), good=(8,))

    def confirm(name, meaning, defect=None, **fields):
        fields = {**dict(nonce=1, following=0, next_expected=0, oldest_kept=0, missed=0),
                  **fields}
        data = confirm_of(**fields)
        fields["next"] = fields.pop("following")
        add(CONFIRM, "confirm_" + name, meaning, data, defect, fields=fields)

    most = (1 << 56) - 1
    confirm("new", "the beginning of a stream", nonce=(1 << 64) - 1)
    confirm("returning", "1000 messages were sent and 7 received; nothing can be sent again",
            following=1000, next_expected=7, oldest_kept=1000)
    confirm("keeping", "the last 100 messages can be sent again", following=1000, oldest_kept=900)
    confirm("missing", "of the 1000 messages before, 30 never came", next_expected=1000, missed=30)
    confirm("highest", "the highest positions there are", following=most, next_expected=most,
            oldest_kept=most, missed=most)
    confirm("next_too_high", "a position that no message can have", "position", following=most + 1)
    confirm("next_expected_too_high", "the same of the other direction", "position",
            next_expected=most + 1)
    confirm("keeps_what_was_never_sent", "it keeps what it has not sent", "never sent",
            following=5, oldest_kept=6)
    confirm("missed_too_many", "more never came than there were", "missed", next_expected=5,
            missed=6)
    sizes(CONFIRM, "confirm", confirm_of(1), good=(40,))
    return out


def table(sizes, number=None):
    """In front of segments: the size of each, and their number."""
    return struct.pack(f"<{len(sizes) + 1}Q", *sizes, len(sizes) if number is None else number)


def segments(*parts):
    """The payload of a message of segments: padding between two of them, none behind the last."""
    return (table([len(part) for part in parts]) + b"".join(padded(part) for part in parts[:-1]) +
            b"".join(parts[-1:]))


def frame_vectors():
    out = []

    def add(name, meaning, frames, defect=None, tail=b"", offered=0, segmented=None):
        """`segmented`: whether the tables are those of their segments, if frames have any."""
        data, fields = body(*frames)
        vector = dict(name=name, meaning=meaning, hex=(data + tail).hex(), frames=fields,
                      defect=defect)
        if offered:
            vector["offered"] = offered
        if segmented is not None:
            vector["segmented"] = segmented
        out.append(vector)

    def word(size, flags):
        return struct.pack("<II", size, flags)

    def ask(field, payload=b"", flags=0, number=0x0123456789abcdef, total=None, kind=0):
        return frame(payload, REQUEST | flags, number, total, kind, field)

    def cut(*parts, flags=0, **more):
        return frame(segments(*parts), SEGMENTED | flags, kind=len(parts), **more)

    def lie(name, meaning, payload, number):
        add(f"segments_{name}", meaning, [frame(payload, SEGMENTED, kind=number)],
            offered=SEGMENTS, segmented=False)

    most = (1 << 64) - 1

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
    add("subscribe", "a change of a set by one range",
        [frame(subscribe(1, WHOLE | LAST, ranges=[[7, 9]]), CONTROL, kind=SUBSCRIBE)])
    add("subscribed", "the answer", [frame(subscribed(1, 0), CONTROL, kind=SUBSCRIBED)])
    add("gap", "messages that were dropped", [frame(gap(3, 1), CONTROL, kind=GAP)])
    add("ending", "why the good-bye follows", [frame(ending_of(1), CONTROL, kind=ENDING)])
    add("confirm", "where a side stands", [frame(confirm_of(1), CONTROL, kind=CONFIRM)])
    add("later_controls", "those of abilities that nobody offers yet",
        [frame(bytes(8), CONTROL, kind=kind) for kind in (STAY, ASK, GRANT)])
    add("control_frames", "several control frames in one page",
        [frame(gap(3, 1), CONTROL, kind=GAP), frame(subscribed(1, 3), CONTROL, kind=SUBSCRIBED),
         frame(b"", CONTROL, kind=BYE)])
    add("cut_in_word", "a body that ends inside a word", [frame(b"x")], "cut short", bytes(4))
    add("cut_in_tag", "no room for the tag", [], "tag", word(0, TAGGED))
    add("cut_in_total", "no room for the total", [frame()], "total",
        word(0, TAGGED | MORE) + bytes(8))
    add("longer_than_page", "a payload that ends after the body", [frame(b"ok")], "longer",
        word(9, 0) + bytes(8))
    add("longest", "the largest size there is", [], "longer", word(0xffffffff, 0) + bytes(64))
    add("request", "a request, which nobody has offered to take", [], "request",
        word(8, REQUEST) + bytes(16))
    add("request_without_limit", "a request that has all the time there is", [ask(0, b"state?")],
        offered=REQUESTS)
    add("request_with_time", "a request that has 1 ms left, and one that has 4096 ms, rounded up to "
        "2049 shifted by 1", [ask(1, b"soon"), ask(0x1801, b"later", number=1)], offered=REQUESTS)
    add("request_with_most_time", "the longest time that can be said",
        [ask(0xffff, number=(1 << 64) - 1)], offered=REQUESTS)
    add("request_withdrawn", "it ended before it was sent again", [ask(0xf000, b"never mind")],
        offered=REQUESTS)
    add("request_first_part", "the id comes before the total", [ask(9, b"p" * 16, MORE, total=40)],
        offered=REQUESTS)
    add("request_last_part", "later parts have neither flag nor id", [frame(b"r" * 8, CONTINUED)],
        offered=REQUESTS)
    add("answer", "an answer, and one of no bytes", [ask(0, b"running"), ask(0, number=2)],
        offered=REQUESTS)
    add("not_answered", "the replier has given the request up", [ask(1)], offered=REQUESTS)
    add("cancel", "the answers to two requests are not wanted any more",
        [frame(struct.pack("<Q", number), CONTROL, kind=CANCEL) for number in (7, 1 << 63)],
        offered=REQUESTS)
    add("request_with_tag", "an id stands in the place of the tag", [], "tag",
        word(8, REQUEST | TAGGED) + bytes(24), offered=REQUESTS)
    add("request_in_later_part", "only the first part has the id", [], "later part",
        word(8, REQUEST | CONTINUED) + bytes(16), offered=REQUESTS)
    add("request_in_middle_part", "the same in the middle", [], "later part",
        word(8, REQUEST | MORE | CONTINUED) + bytes(16), offered=REQUESTS)
    add("request_cut_in_id", "no room for the id", [], "cut short", word(0, REQUEST),
        offered=REQUESTS)
    add("request_and_control", "a control frame is no request", [], "control",
        word(8, REQUEST | CONTROL | CANCEL << 8) + bytes(16), offered=REQUESTS)
    add("request_with_kind", "a request is no control frame", [], "control",
        word(8, REQUEST | CANCEL << 8) + bytes(16), offered=REQUESTS)
    add("time_without_request", "bits 16 to 31 belong to requests and answers", [], "flags",
        word(8, 1 << 16) + bytes(8), offered=REQUESTS)
    add("time_of_tagged", "the same with a tag", [], "flags",
        word(8, TAGGED | 0xf000 << 16) + bytes(16), offered=REQUESTS)
    add("time_in_later_part", "the same in a later part", [], "flags",
        word(8, CONTINUED | 5 << 16) + bytes(8), offered=REQUESTS)
    add("segmented", "segments, which nobody has offered to take", [], "segments",
        word(8, SEGMENTED) + bytes(8))
    add("segments_two", "a head and a body, with padding between them", [cut(b"head", b"body!")],
        offered=SEGMENTS, segmented=True)
    add("segments_tagged", "of one segment, of one that is empty, and of none, with tags",
        [cut(b"one", tag=5), cut(b"", tag=most), cut(tag=7)], offered=SEGMENTS, segmented=True)
    add("segments_beside_others", "between messages that have none",
        [frame(b"x"), cut(b"12345678", b"", b"1"), frame(b"y", tag=1)], offered=SEGMENTS,
        segmented=True)
    add("segments_most", "of 64 segments", [cut(*[b"s"] * 64)], offered=SEGMENTS, segmented=True)
    add("segments_of_request", "the id of a request stands in the place of the tag",
        [ask(1, segments(b"head", b"body"), SEGMENTED, kind=2)], offered=REQUESTS | SEGMENTS,
        segmented=True)
    add("segments_first_part", "the table may be cut; the number is in the first part",
        [frame(segments(b"p" * 40, b"q")[:16], SEGMENTED | MORE, kind=2, total=65)],
        offered=SEGMENTS)
    lie("other_number", "two in the flags, one in the table", table([8]) + bytes(8), 2)
    lie("other_number_in_table", "one in the flags, two in the table", table([8], 2) + bytes(8), 1)
    lie("too_many", "more than 64", table([0] * 65), 65)
    lie("table_cut", "a table that is longer than the payload", bytes(16), 2)
    lie("without_table", "no room for a table", bytes(7), 0)
    lie("size_largest", "a size of 2^64-1", table([most]) + bytes(8), 1)
    lie("sizes_that_wrap", "sizes whose sum is that of the payload", table([1 << 63, 1 << 63, 8]) +
        bytes(8), 3)
    lie("too_long", "a size above what is left", table([8, 9]) + bytes(16), 2)
    lie("rest", "bytes behind the last segment", table([8]) + bytes(9), 1)
    lie("padding_cut", "padding that passes the end", table([1, 0]) + bytes(7), 2)
    add("segments_in_later_part", "only the first part has the flag", [], "later part",
        word(8, SEGMENTED | CONTINUED | 1 << 8) + bytes(8), offered=SEGMENTS)
    add("segments_in_middle_part", "the same in the middle", [], "later part",
        word(8, SEGMENTED | MORE | CONTINUED) + bytes(8), offered=SEGMENTS)
    add("segments_and_control", "a control frame is no message of segments", [], "control",
        word(0, SEGMENTED | CONTROL | BYE << 8), offered=SEGMENTS)
    add("segments_without_flag", "a number of segments that are none", [], "control",
        word(8, 1 << 8) + bytes(8), offered=SEGMENTS)
    add("flag_unknown", "a flag that nobody defined", [], "flags", word(0, 64))
    add("flag_unknown_high", "another one", [], "flags", word(0, 1 << 31))
    add("kind_without_control", "a control kind, not in a control frame", [], "control",
        word(0, BYE << 8))
    for name, kind, size in (("subscribe", SUBSCRIBE, 40), ("subscribed", SUBSCRIBED, 40),
                             ("gap", GAP, 16), ("ending", ENDING, 8), ("confirm", CONFIRM, 40)):
        add(f"{name}_longer_than_page", "a control frame that ends after the body", [], "longer",
            word(size, CONTROL | kind << 8) + bytes(size - 8))
        add(f"{name}_without_control", "its kind, not in a control frame", [], "control",
            word(size, kind << 8) + bytes(size))
    add("bye_and_more", "a control frame of a message's", [], "control",
        word(0, CONTROL | MORE | BYE << 8) + bytes(8))
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


def control_page(sequence, kind, payload, acknowledged=0):
    return page(sequence, 0, frame(payload, CONTROL, kind=kind), flags=1,
                acknowledged=acknowledged)


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
        dict(name="beginning", page_bytes_max=80, messages=["61"], tags=[0],
             meaning="where it stands, and the first message of a new stream",
             pages=[control_page(0, CONFIRM, confirm_of(0x1122334455667788)),
                    page(0, 1, frame(b"a"))]),
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
        dict(name="documented_subscribe", page_bytes_max=80, messages=[], tags=[],
             meaning="the second example of docs/wire.md",
             pages=[control_page(0, SUBSCRIBE, subscribe(1, WHOLE | LAST, ranges=[[0, 255]]),
                                 acknowledged=7)]),
        dict(name="documented_subscribed", page_bytes_max=80, messages=[], tags=[],
             meaning="its answer",
             pages=[control_page(7, SUBSCRIBED, subscribed(1, 10, policy=1))]),
        dict(name="subscriber", page_bytes_max=128, messages=[], tags=[],
             meaning="a set in two frames, a tag less, an acknowledgement, and the end",
             pages=[control_page(0, SUBSCRIBE,
                                 subscribe(1, WHOLE, policy=3, ranges=[[1, 3], [5, 5], [9, 9]])),
                    control_page(0, SUBSCRIBE, subscribe(1, LAST, policy=3, ranges=[[20, 29]])),
                    control_page(0, SUBSCRIBE,
                                 subscribe(2, REMOVE | LAST, policy=3, ranges=[[5, 5]])),
                    page(0, 0, acknowledged=3),
                    control_page(0, BYE, b"", acknowledged=3)]),
        dict(name="publisher", page_bytes_max=128, messages=["61", "62", message.hex(), "63"],
             tags=[2, 5, 1, 3],
             meaning="numbers 100 and 101, the new set from 102 on, which goes in parts, a gap of "
                     "103 to 106, number 107, and the end",
             pages=[control_page(100, SUBSCRIBED, subscribed(1, 100, policy=3)),
                    page(100, 2, frame(b"a", tag=2), frame(b"b", tag=5)),
                    control_page(102, SUBSCRIBED, subscribed(2, 102, policy=3)),
                    *split(message, 128, 102, tag=1),
                    control_page(103, GAP, gap(4, 3)),
                    page(103, 1, frame(b"c", tag=3)),
                    control_page(104, BYE, b"")]),
    ]


def fabric_messages():
    """What a peer on a fabric may send behind the hello, right or wrong: a row of messages each."""
    def raw(frames=(), **header):
        data, _ = body(*frames)
        return page_bytes(page_fields(**{"bytes": len(data), **header})) + data

    def lent(size, sequence=0, tag=None, messages=1, flags=2, word_flags=0, place=(4096, 7),
             tail=b""):
        word_flags |= TAGGED if tag is not None else 0
        data = struct.pack("<II", size, word_flags)
        data += struct.pack("<Q", tag) if tag is not None else b""
        data += struct.pack(f"<{len(place)}Q", *place) + tail
        return page_bytes(page_fields(bytes=len(data), messages=messages, flags=flags,
                                      sequence=sequence)) + data

    one = raw([frame(b"hello")], messages=1)
    two = raw([frame(b"", tag=9), frame(b"x")], messages=2, sequence=1)
    bye = raw([frame(b"", CONTROL, kind=BYE)], flags=1, sequence=3)
    return dict(
        messages=[one, two, bye],
        back_to_back=[one + two],
        grants=[raw(credits=2), raw(credits=60, acknowledged=5) + raw()],
        grants_too_many=[raw(credits=960), raw(credits=1)],
        fetched=[raw(fetched=2), raw(fetched=62)],
        fetched_too_many=[raw(fetched=64), raw(fetched=1)],
        lent=[lent(100_000), lent(1, sequence=1, tag=5)],
        lent_before_parts=[lent(4096), raw([frame(b"p" * 16, MORE, total=32)], sequence=1),
                           raw([frame(b"q" * 16, CONTINUED)], messages=1, sequence=1)],
        lent_nothing=[lent(0)],
        lent_two=[lent(8, messages=2)],
        lent_no_key=[lent(8, place=(4096,))],
        lent_more_than_a_place=[lent(8, place=(1, 2, 3))],
        lent_part=[lent(8, word_flags=MORE)],
        lent_control=[lent(8, messages=0, flags=3)],
        lent_in_front=[lent(8) + two],
        lent_behind=[one + lent(8, sequence=1)],
        nothing=[b""],
        header_cut=[one + bytes(31)],
        body_cut=[one[:-8]],
        bytes_behind=[one + bytes(8)],
        longest=[raw(bytes=0xfffffff8)],
        flag_unknown=[raw(flags=4)],
        reserved=[raw(reserved=1)],
    )


def write_corpus(folder, vectors):
    (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    for name, data in vectors:
        (CORPUS / folder / name).write_bytes(data)


def main():
    vectors = dict(version=2, hello=hello_vectors(), page=page_vectors(), frame=frame_vectors(),
                   control=control_vectors(), stream=stream_vectors())
    text = json.dumps(vectors, indent=1, ensure_ascii=False)
    (HERE / "vectors.json").write_text(text + "\n", encoding="utf-8")
    for folder in ("hello", "frame"):
        write_corpus(folder, [(v["name"], bytes.fromhex(v["hex"])) for v in vectors[folder]])
    write_corpus("page", [(v["name"], bytes.fromhex(v["hex"])) for v in vectors["page"]])
    write_corpus("page", [("stream_" + v["name"],
                           b"".join(bytes.fromhex(p["hex"]) for p in v["pages"]))
                          for v in vectors["stream"]])
    controls = [(v["name"], frame(bytes.fromhex(v["hex"]), CONTROL, kind=v["kind"])[0])
                for v in vectors["control"]]
    write_corpus("control", controls)
    # To a pull, behind a good hello and confirm.
    write_corpus("connection", [
        (f"page_{v['name']}", b"\1" + page_bytes(page_fields(
            bytes=len(v["hex"]) // 2, messages=len(v["frames"]))) + bytes.fromhex(v["hex"]))
        for v in vectors["frame"] if "segmented" in v])
    # To a publisher (even) and to a subscriber (odd), behind a good hello.
    write_corpus("publish", [(f"{who}_{v['name']}", bytes([2 + who]) +
                              bytes.fromhex(control_page(0, v["kind"], bytes.fromhex(v["hex"]))["hex"]))
                             for v in vectors["control"] for who in (0, 1)])
    # Each message behind its length.
    write_corpus("fabric_message", [
        (name, b"".join(struct.pack("<H", len(message)) + message for message in messages))
        for name, messages in fabric_messages().items()])
    # One after the other, as far as the frame walker can go through them.
    write_corpus("control", [("all", b"".join(data for _, data in controls))])


if __name__ == "__main__":
    main()
