# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two documents are the same but for the names in them: each word of one has one word of the other in its
place, everywhere, and no two have the same. Addresses count as one word. Figures that are no part of a text must be
equal."""
import re

ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])|\[?[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,7}\]?")
NODE = re.compile(r"(?<![0-9A-Za-z])n\d+-(?=[0-9A-Za-z])")  # what a redacted node's name begins with
WORD = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")


def split(text):
    """Words and addresses, and what is between them."""
    parts = []
    at = 0
    for address in ADDRESS.finditer(text):
        parts += [("word", w) for w in WORD.findall(text[at : address.start()])]
        parts.append(("address", address.group().strip("[]")))
        at = address.end()
    parts += [("word", w) for w in WORD.findall(text[at:])]
    return parts, WORD.sub("w", ADDRESS.sub("a", text))


def figures(value):
    """All figures in a value, for sorting."""
    if isinstance(value, dict):
        return [f for v in value.values() for f in figures(v)]
    if isinstance(value, list):
        return [len(value)] + [f for v in value for f in figures(v)]
    return [value] if isinstance(value, (int, float)) else []


def order(value):
    return figures(value), split(NODE.sub("", str(value)))[1]


class Shape:
    def __init__(self):
        self.there = {}  # word -> word
        self.back = {}
        self.problems = []

    def meet(self, kind, a, b, where):
        if a == b:
            return  # a word of the program, or one that became itself
        if self.there.setdefault((kind, a), b) != b:
            self.problems.append(f"{where}: '{a}' is '{b}', and was '{self.there[(kind, a)]}'")
        elif self.back.setdefault((kind, b), a) != a:
            self.problems.append(f"{where}: '{b}' stands for '{a}', and for '{self.back[(kind, b)]}'")

    def compare_text(self, a, b, where):
        words_a, between_a = split(a)
        words_b, between_b = split(NODE.sub("", b))
        if between_a != between_b or [k for k, _ in words_a] != [k for k, _ in words_b]:
            self.problems.append(f"{where}: '{a}' and '{b}'")
            return
        for (kind, x), (_, y) in zip(words_a, words_b):
            self.meet(kind, x, y, where)

    def compare(self, a, b, where="", skip=()):
        if len(self.problems) > 20:
            return
        if type(a) is not type(b):
            self.problems.append(f"{where}: {a!r} and {b!r}")
        elif isinstance(a, dict):
            if list(a) != list(b):
                self.problems.append(f"{where}: keys {list(a)} and {list(b)}")
                return
            for key in a:
                if key not in skip:
                    self.compare(a[key], b[key], f"{where}.{key}", skip)
        elif isinstance(a, list):
            if len(a) != len(b):
                self.problems.append(f"{where}: {len(a)} and {len(b)} elements")
                return
            # rows that are equal but for their names come in the order of these: which is which is not known
            rows_a, rows_b = sorted(a, key=order), sorted(b, key=order)
            for i, (x, y) in enumerate(zip(rows_a, rows_b)):
                is_tied = any(0 <= k < len(rows_a) and order(rows_a[k]) == order(x) for k in (i - 1, i + 1))
                if not is_tied or order(x) != order(y):
                    self.compare(x, y, f"{where}[{i}]", skip)
        elif isinstance(a, str):
            self.compare_text(a, b, where)
        elif a != b:
            self.problems.append(f"{where}: {a} and {b}")
