# SPDX-License-Identifier: GPL-3.0-or-later
"""Random traces of both versions of CTF, and what is in them: layouts, events and the text that print_events prints.

All comes from the seed. Fields that tell lengths and options lie before the fields that depend on them: beside them,
around them or in an earlier part of the packet.
"""
import json
import random
import struct
import uuid

MAGIC = 0xC1FC1FC1
SCOPES = {  # name -> (TSDL, CTF 2)
    "packet-context": ("stream.packet.context", "packet-context"),
    "common": ("stream.event.context", "event-record-common-context"),
    "context": ("event.context", "event-record-specific-context"),
    "fields": ("event.fields", "event-record-payload"),
    "event-header": ("stream.event.header", "event-record-header"),
}
UNITS = {"utf-8": 1, "utf-16le": 2, "utf-16be": 2, "utf-32le": 4, "utf-32be": 4}


class Bits:
    """Bits of a packet: the lowest come first in little endian, the highest in big endian."""

    def __init__(self):
        self.bytes = bytearray()
        self.at = 0

    def align(self, align):
        self.at = (self.at + align - 1) & -align
        self.grow()

    def grow(self):
        self.bytes.extend(bytes(max(0, (self.at + 7) // 8 - len(self.bytes))))

    def set(self, at, value, bits, is_big, is_reversed=False):
        for i in range(bits):
            bit = value >> (bits - 1 - i if is_big else i) & 1
            byte, offset = divmod(at + i, 8)
            self.bytes[byte] |= bit << (7 - offset if is_big != is_reversed else offset)

    def put(self, value, bits, is_big, is_reversed=False):
        at = self.at
        self.at += bits
        self.grow()
        self.set(at, value & ((1 << bits) - 1), bits, is_big, is_reversed)

    def put_bytes(self, data):
        self.at += 8 * len(data)
        self.bytes.extend(data)


def escape(data):
    text = ""
    for byte in data:
        char = chr(byte)
        text += "\\" + char if char in '"\\' else char if 32 <= byte < 127 else f"\\x{byte:02x}"
    return f'"{text}"'


def align_of(kind):
    if kind["kind"] == "struct":
        return max([kind["align"]] + [align_of(member) for _, member in kind["members"]])
    if kind["kind"] in ("array", "sequence"):
        return max(kind.get("align", 1), align_of(kind["element"]))
    if kind["kind"] in ("variant", "option"):
        return 1
    return kind["align"]


class Trace:
    def __init__(self, seed, version):
        self.random = random.Random(seed)
        self.version = version
        self.is_big = self.random.random() < 0.5
        self.names = 0
        self.uuid = uuid.UUID(int=self.random.getrandbits(128))
        self.frequency = self.random.choice([10**9, 10**9, 10**9, 1000, 3579545, 2399999999])
        self.offset_s = self.random.randrange(0, 2 * 10**9)
        self.offset = self.random.randrange(0, self.frequency * 3)
        self.is_odd = False  # babeltrace2 does not know what is in it
        self.values = {}  # what references need, by the name of the field
        self.lines = {}
        self.streams = [self.make_stream(i) for i in range(self.random.choice([1, 1, 2]))]

    # ---- layouts ----

    def make_name(self):
        self.names += 1
        return ("_" if self.random.random() < 0.2 else "") + f"f{self.names}"

    def make_integer(self, **fixed):
        r = self.random
        bits = r.choice([8, 16, 32, 64, r.randint(1, 64)])
        align = r.choice([1, 1, 8, 8, 16, 32, 64])
        is_big, is_reversed = self.is_big, False
        if bits % 8 == 0 and align % 8 == 0 and r.random() < 0.3:
            is_big = not is_big
        if self.version == 2 and bits % 8 == 0 and align % 8 == 0 and r.random() < 0.2:
            is_reversed = True
        kind = {"kind": "integer", "bits": bits, "align": align, "signed": r.random() < 0.4, "big": is_big,
                "reversed": is_reversed, "labels": [], "look": "integer"}
        kind.update(fixed)
        if kind["bits"] % 8 or kind["align"] % 8:
            kind["big"], kind["reversed"] = self.is_big, False
        return kind

    def make_enum(self):
        kind = self.make_integer()
        low = -(1 << kind["bits"] - 1) if kind["signed"] else 0
        high = low + (1 << kind["bits"]) - 1
        for i in range(self.random.randint(1, 5)):
            a, b = sorted(self.random.choice([self.random.randint(low, high), max(low, min(high, i))])
                          for _ in range(2))
            kind["labels"].append((f"L{i}", a, b))
        return kind

    def make_varint(self):
        return {"kind": "varint", "align": 8, "signed": self.random.random() < 0.5, "labels": []}

    def make_float(self):
        bits = self.random.choice([32, 64, 16] if self.version == 2 else [32, 64])
        return {"kind": "float", "bits": bits, "align": self.random.choice([8, 32]),
                "big": self.random.random() < 0.5}

    def make_text_array(self):
        element = self.make_integer(bits=8, align=8, signed=False, text=True)
        return {"kind": "array", "length": self.random.randint(0, 9), "element": element}

    def make_string(self):
        encoding = self.random.choice(list(UNITS)) if self.version == 2 else "utf-8"
        return {"kind": "string", "align": 8, "encoding": encoding}

    # seen: fields that may be referred to; place: the innermost structure, its path and the members it has so far

    def make_bytes(self, seen, place):
        """CTF 2's texts and BLOBs of told length."""
        kind = {"kind": self.random.choice(["text", "blob"]), "align": 8, "encoding": self.random.choice(list(UNITS))}
        if self.random.random() < 0.5:
            kind["length"] = self.random.randint(0, 3) * UNITS[kind["encoding"]]
        else:
            kind["reference"] = self.make_length(seen, place)
        return kind

    def make_length(self, seen, place):
        far = 0.1 if self.version == 1 else 1
        known = [entry for entry in seen if entry["is_length"] and
                 (entry["scope"] == self.scope or self.random.random() < far)]
        if known and self.random.random() < 0.6:
            return self.random.choice(known)
        kind = self.make_integer(signed=False, cap=5)
        if kind["bits"] < 3:
            kind["bits"], kind["align"] = 8, 8
        if self.version == 2 and self.random.random() < 0.3:
            kind = self.make_varint() | {"signed": False, "cap": 5}
        return self.add_field(kind, seen, place, True)

    def add_field(self, kind, seen, place, is_length=False):
        name = self.make_name()
        entry = {"name": name, "path": place["path"] + [name], "scope": self.scope, "is_length": is_length,
                 "is_plain": place["is_plain"]}
        place["members"].append((name, kind))
        seen.append(entry)
        return entry

    def make_selector(self, seen, place):
        """CTF 2's options: a boolean, or a number with ranges."""
        if self.random.random() < 0.5:
            return self.add_field(self.make_integer(signed=False, look="bool"), seen, place), None
        kind = self.make_integer(values=[0, 1, 2])
        if kind["bits"] < 3:
            kind["bits"], kind["align"] = 8, 8
        return self.add_field(kind, seen, place), [[1, 1], [2, 5]]

    def make_variant(self, depth, seen, place, name):
        count = self.random.randint(1, 3)
        kind = self.make_integer(values=list(range(count)))
        if kind["bits"] < 4:
            kind["bits"], kind["align"] = 8, 8
        kind["labels"] = [(f"O{i}", i, i) for i in range(count)]
        if self.random.random() < 0.3 and kind["signed"]:
            kind["values"].append(-3)
            kind["labels"][0] = ("O0", -3, 0)
        entry = self.add_field(kind, seen, place)
        options = [(label, self.make_kind(depth + 1, seen, place, name, False)) for label, _, _ in kind["labels"]]
        return {"kind": "variant", "reference": entry, "options": options, "ranges": kind["labels"]}

    def make_kind(self, depth, seen, place, name, is_plain):
        r = self.random
        choices = ["integer"] * 4 + ["enum", "float", "string", "text-array", "array", "sequence", "struct", "variant"]
        if self.version == 2:
            choices += ["varint", "varint", "bool", "map", "option", "bytes", "bytes"]
        choice = r.choice(choices)
        if depth > 3 and choice in ("array", "sequence", "struct", "variant", "option"):
            choice = "integer"
        if choice == "array":
            return {"kind": "array", "length": r.randint(0, 4),
                    "element": self.make_kind(depth + 1, seen, place, name, False)}
        if choice == "sequence":
            reference = self.make_length(seen, place)
            return {"kind": "sequence", "reference": reference,
                    "element": self.make_kind(depth + 1, seen, place, name, False)}
        if choice == "struct":
            is_plain = is_plain and place["is_plain"]
            return self.make_struct(depth + 1, seen if is_plain else list(seen), place["path"] + [name], is_plain)
        if choice == "variant":
            return self.make_variant(depth, seen, place, name)
        if choice == "option":
            reference, ranges = self.make_selector(seen, place)
            return {"kind": "option", "reference": reference, "ranges": ranges,
                    "element": self.make_kind(depth + 1, seen, place, name, False)}
        if choice == "bytes":
            return self.make_bytes(seen, place)
        if choice == "text-array" and self.version == 1:
            return self.make_text_array()
        if choice == "bool":
            return self.make_integer(signed=False, look="bool")
        if choice == "map":
            kind = self.make_integer(signed=False, look="map")
            kind["labels"] = [(f"B{i}", i, min(i + r.randint(0, 2), kind["bits"] - 1))
                              for i in range(min(3, kind["bits"]))]
            return kind
        return {"enum": self.make_enum, "float": self.make_float, "varint": self.make_varint,
                "string": self.make_string}.get(choice, self.make_integer)()

    def make_struct(self, depth, seen, path, is_plain):
        place = {"path": path, "members": [], "is_plain": is_plain}
        for _ in range(self.random.randint(0, 4)):
            name = self.make_name()
            kind = self.make_kind(depth, seen, place, name, True)
            place["members"].append((name, kind))
        return {"kind": "struct", "align": self.random.choice([1, 1, 1, 8, 16, 64]), "members": place["members"]}

    def make_scope(self, scope, seen):
        self.scope = scope
        return self.make_struct(0, seen, [], True)

    def make_stream(self, index):
        r = self.random
        seen = []
        stream = {"id": index, "files": r.randint(1, 2), "packets": r.randint(1, 4)}
        stream["parts"] = [part for part in ("timestamp_begin", "timestamp_end", "packet_seq_num",
                                             "events_discarded", "cpu_id") if r.random() < 0.7]
        if "timestamp_end" in stream["parts"] and "timestamp_begin" not in stream["parts"]:
            stream["parts"].remove("timestamp_end")
        if "events_discarded" in stream["parts"] and "timestamp_end" not in stream["parts"]:
            stream["parts"].remove("events_discarded")
        stream["part_bits"] = r.choice([32, 64])
        stream["packet-context"] = self.make_scope("packet-context", seen)
        stream["common"] = self.make_scope("common", seen) if r.random() < 0.4 else None
        stream["header"] = r.choice(["compact", "large", "plain", "odd"])
        stream["time_bits"] = {"compact": 27, "large": 32}.get(stream["header"], r.choice([64, 32, r.randint(8, 64)]))
        stream["events"] = []
        for number in range(r.randint(1, 4)):
            inner = list(seen)
            event = {"id": number if stream["header"] != "compact" or number < 2 else 31 + number,
                     "name": f"event{number}"}
            event["context"] = self.make_scope("context", inner) if r.random() < 0.3 else None
            event["fields"] = self.make_scope("fields", inner)
            stream["events"].append(event)
        return stream


    # ---- metadata: TSDL ----

    def tell_reference(self, reference, scope, path, is_tag):
        """Absolute, or from the structure that both are in; babeltrace2 2.0 parses no absolute paths."""
        is_own = reference["scope"] == scope
        if not is_own or (is_tag and reference["is_plain"] and self.random.random() < 0.1):
            self.is_odd = True
            return SCOPES[reference["scope"]][0] + "." + ".".join(reference["path"])
        shared = 0
        while shared < len(path) and reference["path"][shared] == path[shared]:
            shared += 1
        return ".".join(reference["path"][shared:])

    def declare_integer(self, kind):
        order = "be" if kind["big"] else "le"
        encoding = " encoding = UTF8;" if kind.get("text") else ""
        clock = " map = clock.c.value;" if kind.get("clock") else ""
        text = (f"integer {{ size = {kind['bits']}; align = {kind['align']}; signed = {str(kind['signed']).lower()};"
                f" byte_order = {order};{encoding}{clock} }}")
        if kind["labels"]:
            labels = ", ".join(f"{name} = {low} ... {high}" for name, low, high in kind["labels"])
            text = f"enum : {text} {{ {labels} }}"
        return text

    def declare(self, kind, name, scope, path, is_option=False):
        """A member of the structure with that path, in TSDL."""
        suffix = ""
        while kind["kind"] in ("array", "sequence"):
            is_fixed = kind["kind"] == "array"
            suffix += f"[{kind['length'] if is_fixed else self.tell_reference(kind['reference'], scope, path, False)}]"
            kind = kind["element"]
        if kind["kind"] == "integer":
            text = self.declare_integer(kind)
        elif kind["kind"] == "float":
            digits = (8, 24) if kind["bits"] == 32 else (11, 53)
            text = (f"floating_point {{ exp_dig = {digits[0]}; mant_dig = {digits[1]}; align = {kind['align']};"
                    f" byte_order = {'be' if kind['big'] else 'le'}; }}")
        elif kind["kind"] == "string":
            text = self.random.choice(["string", "string { encoding = UTF8; }"])
        elif kind["kind"] == "struct":
            text = self.declare_struct(kind, scope, path if is_option else path + [name])
        else:
            options = "".join(self.declare(option, label, scope, path + [name], True)
                              for label, option in kind["options"])
            text = f"variant <{self.tell_reference(kind['reference'], scope, path, True)}> {{ {options} }}"
        return f"{text} {name}{suffix};\n"

    def declare_struct(self, kind, scope, path=()):
        members = "".join(self.declare(member, name, scope, list(path)) for name, member in kind["members"])
        align = f" align({kind['align']})" if kind["align"] > 1 else ""
        return f"struct {{\n{members}}}{align}"

    # ---- metadata: CTF 2 ----

    def locate(self, reference):
        return {"origin": SCOPES[reference["scope"]][1], "path": reference["path"]}

    def describe_integer(self, kind):
        look = kind["look"] if kind["kind"] == "integer" else "varint"
        sign = "signed" if kind["signed"] else "unsigned"
        labels = {name: [[low, high]] for name, low, high in kind["labels"]}
        if look == "varint":
            about = {"type": f"variable-length-{sign}-integer"}
        else:
            name = {"integer": f"{sign}-integer", "bool": "boolean", "map": "bit-map"}[look]
            about = {"type": f"fixed-length-{name}", "length": kind["bits"], "alignment": kind["align"],
                     "byte-order": "big-endian" if kind["big"] else "little-endian"}
            if kind["reversed"]:
                about["bit-order"] = "first-to-last" if kind["big"] else "last-to-first"
        if labels:
            about["flags" if look == "map" else "mappings"] = labels
        if kind.get("roles"):
            about["roles"] = kind["roles"]
        return about

    def describe(self, kind):
        name = kind["kind"]
        if name in ("integer", "varint"):
            return self.describe_integer(kind)
        if name == "float":
            return {"type": "fixed-length-floating-point-number", "length": kind["bits"], "alignment": kind["align"],
                    "byte-order": "big-endian" if kind["big"] else "little-endian"}
        if name == "string":
            return {"type": "null-terminated-string", "encoding": kind["encoding"]}
        if name == "struct":
            return {"type": "structure", "minimum-alignment": kind["align"],
                    "member-classes": [{"name": member, "field-class": self.describe(inner)}
                                       for member, inner in kind["members"]]}
        length = ({"length": kind["length"]} if "length" in kind
                  else {"length-field-location": self.locate(kind["reference"])})
        how = "static" if "length" in kind else "dynamic"
        if name in ("array", "sequence"):
            return {"type": f"{how}-length-array", "element-field-class": self.describe(kind["element"])} | length
        if name == "text":
            return {"type": f"{how}-length-string", "encoding": kind["encoding"]} | length
        if name == "blob":
            return {"type": f"{how}-length-blob"} | length
        selector = {"selector-field-location": self.locate(kind["reference"])}
        if name == "option":
            ranges = {"selector-field-ranges": kind["ranges"]} if kind["ranges"] else {}
            return {"type": "optional", "field-class": self.describe(kind["element"])} | selector | ranges
        return selector | {"type": "variant", "options": [
            {"name": label, "field-class": self.describe(option), "selector-field-ranges": [[low, high]]}
            for (label, option), (_, low, high) in zip(kind["options"], kind["ranges"])]}

    # ---- values ----

    def pick(self, kind):
        bits = kind.get("bits", 64)
        low = -(1 << bits - 1) if kind["signed"] else 0
        high = low + (1 << bits) - 1
        if "cap" in kind:
            return self.random.randint(0, kind["cap"])
        if "values" in kind:
            return self.random.choice([value for value in kind["values"] if low <= value <= high])
        return self.random.choice([low, high, 0, self.random.randint(low, high), min(high, self.random.randint(0, 9))])

    def tell(self, kind, value):
        if kind.get("look") == "bool":
            return "true" if value else "false"
        if kind.get("look") == "map":
            names = [name for name, low, high in kind["labels"]
                     if any(value >> bit & 1 for bit in range(low, high + 1))]
        else:
            names = [name for name, low, high in kind["labels"] if low <= value <= high]
        return str(value) + (":" + ",".join(f'"{name}"' for name in names) if names else "")

    def put_varint(self, bits, value, signed):
        while True:
            byte, value = value & 0x7F, value >> 7
            is_last = value == 0 if not signed else (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40)
            bits.put_bytes(bytes([byte | (0 if is_last else 0x80)]))
            if is_last:
                return

    def put_float(self, bits, kind):
        code = {16: "e", 32: "f", 64: "d"}[kind["bits"]]
        value = self.random.choice([0.0, -1.5, 3.1415, 1e-5, 65504.0, -0.0, self.random.uniform(-100, 100)])
        data = struct.pack(("<") + code, value)
        bits.put(int.from_bytes(data, "little"), kind["bits"], kind["big"])
        return "%.17g" % struct.unpack("<" + code, data)[0]

    def pick_text(self, count):
        return "".join(self.random.choice(["a", "Z", " ", '"', "\\", "\n", "\u00e4", "\u20ac", "\U0001f600"])
                       for _ in range(count))

    def put_bytes(self, bits, kind):
        length = kind["length"] if "length" in kind else self.values[kind["reference"]["name"]]
        data = bytes(self.random.randrange(256) for _ in range(length))
        if kind["kind"] == "blob":
            bits.put_bytes(data)
            return "0x" + data.hex()
        unit = UNITS[kind["encoding"]]
        text = "".join(self.random.choice("ab\"~") for _ in range(length // unit))
        data = text.encode(kind["encoding"])
        bits.put_bytes(data + bytes(length - len(data)))
        if length % unit:  # what is left over is no text: all of it is shown as it is
            data += bytes(length - len(data))
            return escape(data if unit > 1 else data.split(b"\0")[0])
        return escape(text.encode())

    def put(self, bits, kind, name):
        """Encodes a value, and says how print_events shows it."""
        bits.align(align_of(kind))
        what = kind["kind"]
        if what in ("integer", "varint"):
            value = self.values[name] = self.pick(kind)
            if what == "varint":
                self.put_varint(bits, value, kind["signed"])
            else:
                bits.put(value, kind["bits"], kind["big"], kind["reversed"])
            return self.tell(kind, value)
        if what == "float":
            return self.put_float(bits, kind)
        if what == "string":
            text = self.pick_text(self.random.randint(0, 6))
            bits.put_bytes(text.encode(kind["encoding"]) + bytes(UNITS[kind["encoding"]]))
            return escape(text.encode())
        if what in ("text", "blob"):
            return self.put_bytes(bits, kind)
        if what == "struct":
            return self.put_struct(bits, kind)
        if what in ("array", "sequence"):
            return self.put_list(bits, kind, name)
        if what == "option":
            value, ranges = self.values[kind["reference"]["name"]], kind["ranges"]
            is_there = any(low <= value <= high for low, high in ranges) if ranges else value != 0
            return "<>" + self.put(bits, kind["element"], name) if is_there else "none"
        value = self.values[kind["reference"]["name"]]
        for (label, option), (_, low, high) in zip(kind["options"], kind["ranges"]):
            if low <= value <= high:
                return f"<{label}>" + self.put(bits, option, name)
        raise AssertionError

    def put_list(self, bits, kind, name):
        length = kind["length"] if kind["kind"] == "array" else self.values[kind["reference"]["name"]]
        if kind["element"].get("text"):
            data = bytes(self.random.choice([0, 65, 66, 200]) for _ in range(length))
            bits.put_bytes(data)
            return escape(data.split(b"\0")[0])
        return "[" + ", ".join(self.put(bits, kind["element"], name) for _ in range(length)) + "]"

    def put_struct(self, bits, kind, hidden=()):
        shown = []
        for name, member in kind["members"]:
            text = self.put(bits, member, name)
            if name not in hidden:
                shown.append(f"{self.plain(name)}={text}")
        return "{" + ", ".join(shown) + "}"

    def plain(self, name):
        return name[1:] if self.version == 1 and name.startswith("_") else name

    # ---- packets ----

    def number(self, bits, align=8, **more):
        return {"kind": "integer", "bits": bits, "align": align, "signed": False, "big": self.is_big, "reversed": False,
                "labels": [], "look": "integer"} | more

    def packet_header(self, stream):
        roles = {"magic": "packet-magic-number", "stream_id": "data-stream-class-id"}
        members = [("magic", self.number(32, roles=[roles["magic"]])),
                   ("uuid", {"kind": "array", "length": 16, "element": self.number(8), "uuid": True}),
                   ("stream_id", self.number(8, roles=[roles["stream_id"]]))]
        return {"kind": "struct", "align": 8, "members": members}

    def packet_context(self, stream):
        """The numbers of the packet, then fields of all kinds."""
        roles = {"packet_size": "packet-total-length", "content_size": "packet-content-length",
                 "timestamp_begin": "default-clock-timestamp", "timestamp_end": "packet-end-default-clock-timestamp",
                 "packet_seq_num": "packet-sequence-number",
                 "events_discarded": "discarded-event-record-counter-snapshot"}
        names = ["packet_size", "content_size"] + stream["parts"]
        members = []
        for name in names:
            bits = 64 if name.startswith("timestamp") else stream["part_bits"]
            more = {"roles": [roles[name]]} if name in roles else {}
            members.append((name, self.number(bits, clock=name.startswith("timestamp"), **more)))
        own = stream["packet-context"]
        return {"kind": "struct", "align": max(8, own["align"]), "members": members + own["members"]}

    def event_header(self, stream):
        def stamp(bits, align=1):
            return ("timestamp", self.number(bits, align, clock=True, roles=["default-clock-timestamp"]))

        def identity(bits, align=1, **more):
            return ("id", self.number(bits, align, roles=["event-record-class-id"], **more))

        bits = stream["time_bits"]
        if stream["header"] in ("compact", "large"):
            is_compact = stream["header"] == "compact"
            last = 31 if is_compact else 65535
            align = 1 if is_compact else 8
            labels = [("compact", 0, last - 1), ("extended", last, last)]
            entry = {"name": "id", "path": ["id"], "scope": "event-header", "is_length": False, "is_plain": False}
            options = [("compact", {"kind": "struct", "align": 1, "members": [stamp(bits, align)]}),
                       ("extended", {"kind": "struct", "align": 8, "members": [identity(32, 8), stamp(64, 8)]})]
            return {"kind": "struct", "align": 8, "members": [
                identity(5 if is_compact else 16, align, labels=labels, look="integer"),
                ("v", {"kind": "variant", "reference": entry, "options": options, "ranges": labels})]}
        members = [identity(stream.setdefault("id_bits", self.random.choice([8, 16, 6]))),
                   stamp(bits, stream.setdefault("time_align", self.random.choice([1, 8, 64])))]
        if stream["header"] == "odd":
            members.reverse()
        return {"kind": "struct", "align": 1, "members": members}

    def put_event_header(self, bits, stream, event, ticks):
        """Wide forms where the narrow ones do not reach."""
        kind = self.event_header(stream)
        bits.align(align_of(kind))
        if stream["header"] not in ("compact", "large"):
            values = {"id": event["id"], "timestamp": ticks}
            for name, member in kind["members"]:
                bits.align(member["align"])
                bits.put(values[name], member["bits"], self.is_big)
            return
        first, last = kind["members"][0][1], 31 if stream["header"] == "compact" else 65535
        is_wide = event["id"] >= last or self.random.random() < 0.2
        bits.put(last if is_wide else event["id"], first["bits"], self.is_big)
        option = kind["members"][1][1]["options"][is_wide][1]
        bits.align(align_of(option))
        for name, member in option["members"]:
            bits.align(member["align"])
            bits.put(event["id"] if name == "id" else ticks, member["bits"], self.is_big)

    def tell_time(self, ticks):
        def scale(value):
            return value if self.frequency == 10**9 else int(1e9 * float(value) / float(self.frequency))

        seconds, rest = divmod(self.offset, self.frequency)
        return (self.offset_s + seconds) * 10**9 + scale(rest) + scale(ticks)

    def put_packet(self, stream, state, lines, label):
        r, bits, patches = self.random, Bits(), {}
        parts = stream["parts"]
        bits.put(MAGIC, 32, self.is_big)
        bits.put_bytes(self.uuid.bytes)
        bits.put(stream["id"], 8, self.is_big)
        state["sequence"] += r.choice([1, 1, 1, 3])
        lost = r.choice([0, 0, 4])
        state["discarded"] += lost
        begin = state["clock"] + r.randrange(0, 5)
        numbers = {"timestamp_begin": begin, "packet_seq_num": state["sequence"], "cpu_id": 3,
                   "events_discarded": state["discarded"], "timestamp_end": 0, "packet_size": 0, "content_size": 0}
        context = self.packet_context(stream)
        bits.align(align_of(context))
        shown = []
        for name, member in context["members"]:
            if name in numbers:
                bits.align(member["align"])
                patches[name] = (bits.at, member["bits"])
                bits.put(numbers[name], member["bits"], self.is_big)
                if name == "cpu_id":
                    shown.append("cpu_id=3")
            else:
                shown.append(f"{self.plain(name)}={self.put(bits, member, name)}")
        if "timestamp_begin" in parts:
            state["clock"] = begin
        events = []
        for _ in range(r.randint(0, 5)):
            step = r.choice([0, 1, 7, r.randrange(0, 1 << stream["time_bits"] - 1)])
            state["clock"] += min(step, 1 << 40)
            event = r.choice(stream["events"])
            self.put_event_header(bits, stream, event, state["clock"])
            text = f"{label} event {self.tell_time(state['clock'])} {event['name']}"
            for scope, kind in (("common", stream["common"]), ("context", event["context"]),
                                ("fields", event["fields"])):
                if kind:
                    bits.align(align_of(kind))
                    text += f" {scope}{self.put_struct(bits, kind)}"
            events.append(text)
        end = state["clock"] + r.randrange(0, 3)
        content = bits.at
        bits.align(8)
        bits.put_bytes(bytes(r.randrange(0, 20)))
        for name, value in (("timestamp_end", end), ("packet_size", len(bits.bytes) * 8), ("content_size", content)):
            if name in patches:
                bits.set(patches[name][0], value, patches[name][1], self.is_big)
        has_both = "timestamp_begin" in parts and "timestamp_end" in parts
        self.tell_gaps(stream, state, lines, label, (begin, end) if has_both else None)
        at = self.tell_time(begin) if "timestamp_begin" in parts else "-"
        has_context = shown or not context["members"]
        lines.append(f"{label} packet {at}" + (f" context{{{', '.join(shown)}}}" if has_context else ""))
        lines += events
        lines.append(f"{label} end {self.tell_time(end) if 'timestamp_end' in parts else '-'}")
        if "timestamp_end" in parts:
            state["clock"] = max(state["clock"], end) if "timestamp_begin" in parts else state["clock"]
        state["end"] = end
        state["is_first"] = False
        return bytes(bits.bytes)

    def tell_gaps(self, stream, state, lines, label, times):
        def tell(begin, end):
            return f"{self.tell_time(begin)} {self.tell_time(end)}" if times else "- -"

        begin, end = times or (0, 0)
        told = 0 if state["is_first"] else state["told_discarded"]
        if "events_discarded" in stream["parts"] and state["discarded"] != told:
            count = "?" if state["is_first"] else state["discarded"] - told
            lines.append(f"{label} lost-events {tell(begin if state['is_first'] else state['end'], end)} {count}")
        missing = state["sequence"] - state["told_sequence"] - 1
        if "packet_seq_num" in stream["parts"] and not state["is_first"] and missing > 0:
            lines.append(f"{label} lost-packets {tell(state['end'], begin)} {missing}")
        state["told_discarded"], state["told_sequence"] = state["discarded"], state["sequence"]

    # ---- files ----

    def write(self, folder):
        folder.mkdir(parents=True)
        files = []
        for stream in self.streams:
            for number in range(stream["files"]):
                label, lines = f"s{stream['id']}_{number}", []
                state = {"clock": self.random.randrange(0, 200), "sequence": 5, "discarded": 0, "is_first": True,
                         "told_sequence": 0, "told_discarded": 0}
                data = b"".join(self.put_packet(stream, state, lines, label) for _ in range(stream["packets"]))
                (folder / label).write_bytes(data)
                files.append((label, lines))
        (folder / "metadata").write_text(self.make_tsdl() if self.version == 1 else self.make_ctf2())
        return "".join(f"{line}\n" for _, lines in sorted(files) for line in lines)

    def make_tsdl(self):
        order = "be" if self.is_big else "le"
        text = (f'/* CTF 1.8 */\ntrace {{ major = 1; minor = 8; byte_order = {order}; uuid = "{self.uuid}";\n'
                f"packet.header := {self.declare_struct(self.packet_header(None), 'packet-header')}; }};\n"
                f"clock {{ name = c; freq = {self.frequency}; offset_s = {self.offset_s};"
                f" offset = {self.offset}; }};\n")
        for stream in self.streams:
            text += f"stream {{ id = {stream['id']};\n"
            text += f"packet.context := {self.declare_struct(self.packet_context(stream), 'packet-context')};\n"
            text += f"event.header := {self.declare_struct(self.event_header(stream), 'event-header')};\n"
            if stream["common"]:
                text += f"event.context := {self.declare_struct(stream['common'], 'common')};\n"
            text += "};\n"
            for event in stream["events"]:
                text += f"event {{ name = \"{event['name']}\"; id = {event['id']}; stream_id = {stream['id']};\n"
                if event["context"]:
                    text += f"context := {self.declare_struct(event['context'], 'context')};\n"
                text += f"fields := {self.declare_struct(event['fields'], 'fields')};\n}};\n"
        return text

    def make_ctf2(self):
        header = self.describe(self.packet_header(None))
        header["member-classes"][1]["field-class"] = {"type": "static-length-blob", "length": 16,
                                                      "roles": ["metadata-stream-uuid"]}
        fragments = [{"type": "preamble", "version": 2, "uuid": list(self.uuid.bytes)},
                     {"type": "trace-class", "packet-header-field-class": header, "environment": {"a": "b", "c": -3}},
                     {"type": "clock-class", "id": "c", "frequency": self.frequency,
                      "offset-from-origin": {"seconds": self.offset_s, "cycles": self.offset}}]
        for stream in self.streams:
            fragment = {"type": "data-stream-class", "id": stream["id"], "default-clock-class-id": "c",
                        "packet-context-field-class": self.describe(self.packet_context(stream)),
                        "event-record-header-field-class": self.describe(self.event_header(stream))}
            if stream["common"]:
                fragment["event-record-common-context-field-class"] = self.describe(stream["common"])
            fragments.append(fragment)
            for event in stream["events"]:
                fragment = {"type": "event-record-class", "id": event["id"], "data-stream-class-id": stream["id"],
                            "name": event["name"], "payload-field-class": self.describe(event["fields"])}
                if event["context"]:
                    fragment["specific-context-field-class"] = self.describe(event["context"])
                fragments.append(fragment)
        return "".join(f"\x1e{json.dumps(fragment)}\n" for fragment in fragments)
