#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same question gives the same bytes, however often it is asked and in whatever order the nodes are named.
usage: determinism.py --program FILE --bundle DIR --nodes a,b,c [--id ID]... [--thread NODE:TID]..."""
import argparse
import itertools
import sys

import truth


def main():
    parser = argparse.ArgumentParser(description="same question, same bytes")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--nodes", required=True)
    parser.add_argument("--id", action="append", default=[])
    parser.add_argument("--thread", action="append", default=[])
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    nodes = options.nodes.split(",")
    orders = [",".join(order) for order in itertools.islice(itertools.permutations(nodes), 6)]

    questions = [["stats"], ["sync"]]
    questions += [["--request-id", name] for name in options.id]
    questions += [["--thread", name] for name in options.thread]
    failed = 0
    asked = 0
    for question in questions:
        for output in ("text", "json"):
            answers = {}
            for order in [orders[0]] + orders[:1] + orders[-2:]:
                answer = truth.ask(options.program, *question, "--bundle", options.bundle, "--nodes", order,
                                   "--format", output)
                asked += 1
                answers.setdefault((answer.code, answer.out), order)
                if answer.code not in (0, 3) or not answer.out:
                    print(f"{' '.join(question)} --format {output}: exit {answer.code}: {answer.err.strip()[:200]}")
                    failed += 1
            if len(answers) > 1:
                print(f"{' '.join(question)} --format {output}: {len(answers)} different answers, "
                      f"for example with --nodes {' and '.join(answers.values())}")
                failed += 1
    print(f"{asked} answers, {failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
