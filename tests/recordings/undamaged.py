#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""No false alarm: what is not damaged is not called so. Every question to a recording that is whole ends with 0 and
`complete: true`, as a directory and packed, and warns of nothing but what is listed here, with the reason why it is
true. Without --node the bundle is read as it is; with it, each trace below the bundle is a bundle of its own.
usage: undamaged.py --program FILE --bundle DIR [--node FOLDER]..."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import truth

# (recording, what the warning says, why that is so)
TRUE = [
    ("B-nogro-small", r"\d+ of \d+ packets carry no headers \(receive offload off\)",
     "that is how it was recorded"),
    ("real", r"cannot align 'client' with 'db' directly: 3 messages, all from 'client' to 'db'",
     "the client never asks the database; three packets of the lab's start went one way"),
    ("vmhost", r"its virtual CPU was ready and did not run for \d+", "the lab's competitor for the guest's CPU"),
    ("vmhost-stock-kvmprobes", r"its virtual CPU was ready and did not run for \d+",
     "the lab's competitor for the guest's CPU"),
    ("synctraces", r"the trace has no (net events|system calls)",
     "LTTng 2.1, with inet_sock_local_out and _in in the place of net_dev_queue, and no system calls"),
    ("arm32", r"the trace has no sched_waking", "LTTng before 2.8 has none"),
    ("arm32", r"342 of 342 packets carry no headers", "LTTng before 2.8 has none"),
    ("many-threads", r"the trace has no (net|block) events", "the groups were not recorded"),
    ("flipping-endianness", r"the trace has no (wakeups|softirqs|net events|system calls)",
     "perf recorded switches and interrupts"),
    ("lttng-tracefile-rotation", r"the trace has no (interrupt events|net events|system calls)",
     "scheduling alone was recorded"),
]


seen = set()


def is_true(name, finding):
    found = [row for row in TRUE if row[0] == name and re.match(row[1], finding["text"])]
    seen.update(found)
    return bool(found)


def list_unseen(name):
    """What nobody warns of any more need not be excused."""
    for row in TRUE:
        if row[0] == name and row not in seen:
            yield f"{name}: nothing warns '{row[1]}' any more: drop the row"


def list_questions(answer):
    """The slowest request, or else the thread that used most of a CPU."""
    yield ["stats"]
    yield ["sync"]
    yield ["check"]
    yield ["top"]
    if answer.code == 0:
        slowest = max(answer.json["requests"], key=lambda request: request["duration_ns"])
        yield ["requests"]
        yield ["--request-id", slowest["id"]]


def find_thread(top):
    rows = [row for row in top["rows"] if row["tid"]] if top else []
    return ["--thread", f"{rows[0]['node']}:{rows[0]['tid']}"] if rows else None


def ask(options, name, question, where):
    answer = truth.ask(options.program, *question, "--format", "json", *where)
    what = f"{name}: {' '.join(question)}"
    if answer.code != 0 or not answer.json:
        yield f"{what}: exit {answer.code}: {answer.err.strip()[:200]}"
    if not answer.json:
        return
    if answer.json.get("complete") is not True:
        yield f"{what}: complete is {answer.json.get('complete')}"
    for finding in answer.json["findings"]:
        if finding["severity"] != "info" and not is_true(name, finding):
            yield f"{what}: {finding['severity']} {finding['code']}: {finding['node']}: {finding['text']}"


def examine(options, name, where):
    questions = list(list_questions(truth.ask(options.program, "requests", "--format", "json", *where)))
    thread = find_thread(truth.ask(options.program, "top", "--threads", "--format", "json", *where).json)
    for question in questions + ([thread] if thread else []):
        yield from ask(options, name, question, where)
    examine.count += len(questions) + bool(thread)
    yield from list_unseen(name)


examine.count = 0


def examine_packed(options, name):
    """Checksums that are right are not said to be wrong, in a file and in a directory with a manifest."""
    with tempfile.TemporaryDirectory() as scratch:
        for suffix in ("", ".dtcb"):
            out = os.path.join(scratch, "bundle" + suffix)
            done = subprocess.run([options.program, "bundle", "create", out, options.bundle], capture_output=True,
                                  check=False)
            if done.returncode != 0:
                yield f"{name}: bundle create ends with {done.returncode}: {done.stderr.decode()[:200]}"
            for question in (["stats"], ["check"], ["bundle", "check"]):
                examine.count += 1
                if question[0] == "bundle":
                    code = subprocess.run([options.program, *question, out], capture_output=True,
                                          check=False).returncode
                    if code != 0:
                        yield f"{name}: bundle check ends with {code}"
                else:
                    yield from ask(options, name, question, ["--bundle", out])


def main():
    parser = argparse.ArgumentParser(description="recordings that are whole")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--node", action="append", default=[], help="a trace below the bundle")
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    problems = []
    for folder in options.node:
        name = [part for part in folder.split("/") if part != "kernel"][-1]
        problems += examine(options, name, ["--node", f"{name}={os.path.join(options.bundle, folder)}"])
    if not options.node:
        name = os.path.basename(os.path.normpath(options.bundle))
        problems += examine(options, name, ["--bundle", options.bundle])
        problems += examine_packed(options, name)
    for problem in problems:
        print(problem)
    print(f"{examine.count} questions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
