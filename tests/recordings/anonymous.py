#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording whose headers have no id: the ids of a bundle are made unreadable in its captures, and its requests must
be found all the same: each with its span, and nearly all with the same largest part.
usage: anonymous.py --program FILE --bundle DIR"""
import argparse
import os
import re
import sys
import tempfile

import truth

ID_HEADERS = re.compile(rb"x-request-id|x-correlation-id|traceparent", re.I)
EXTRA = 0.02  # exchanges that a server asked others, and that cannot be followed back: requests of their own


def hide_ids(bundle, folder):
    """Links to what is in the bundle, and captures in which the names of the headers are others of the same length."""
    for name in os.listdir(bundle):
        path = os.path.join(os.path.abspath(bundle), name)
        if not name.endswith(".pcap"):
            os.symlink(path, os.path.join(folder, name))
            continue
        with open(path, "rb") as capture, open(os.path.join(folder, name), "wb") as hidden:
            hidden.write(ID_HEADERS.sub(lambda found: b"q" * len(found[0]), capture.read()))


def ask(program, bundle):
    answer = truth.ask(program, "requests", bundle, "--format", "json")
    if answer.code:
        raise SystemExit(f"exit {answer.code}: {answer.err}")
    return answer.json


def index(document):
    return {(row["start_ns"], row["duration_ns"]): row for row in document["requests"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    with tempfile.TemporaryDirectory() as folder:
        hide_ids(options.bundle, folder)
        known, found = ask(options.program, options.bundle), ask(options.program, folder)
    known_rows, found_rows = index(known), index(found)
    lost = [row["id"] for span, row in known_rows.items() if span not in found_rows]
    extra = [row["id"] for span, row in found_rows.items() if span not in known_rows]
    named = [row["id"] for row in found["requests"] if not row["anonymous"]]
    part = lambda row: (row["dominant"]["tier"], row["dominant"]["cause"])
    differ = [row["id"] for span, row in known_rows.items()
              if span in found_rows and part(row) != part(found_rows[span])]
    print(f"{len(known_rows)} requests with ids; without: {len(found_rows)}, {len(lost)} lost, {len(extra)} extra, "
          f"{len(differ)} with another largest part; {found['summary']['parts']} exchanges are parts of these")
    for what, ids in (("lost", lost), ("extra", extra), ("differ", differ), ("have an id", named)):
        for name in ids[:10]:
            print(f"{what}: {name}")
    if lost or named or len(extra) > EXTRA * len(known_rows) or len(differ) > EXTRA * len(known_rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
