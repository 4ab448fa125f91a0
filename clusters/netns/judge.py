# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds answers against the truth. Every judgement is a row: what, how much of it, what was demanded, is it so."""
import collections
import json
import statistics
import subprocess

DURATION_NS = 1_000_000
CLOCK_NS = 10_000
# Of a kind, this share must name the injected cause first. The rest is the machine's: a flush of the whole disk, a CPU
# that was taken from the machine itself.
DOMINANT = 0.9


class Verdict:
    def __init__(self):
        self.rows = []

    def add(self, what, figure, demanded, is_met):
        self.rows.append((what, figure, demanded, is_met))

    def is_good(self):
        return all(row[3] for row in self.rows)

    def print(self, title):
        print(f"\n{title}")
        widths = [max(len(str(row[i])) for row in self.rows) for i in range(3)]
        for row in self.rows:
            columns = "  ".join(str(row[i]).ljust(widths[i]) for i in range(3))
            print(f"  {columns}  {'ok' if row[3] else 'WRONG'}")


def ask(program, *arguments):
    """What dtrace-chain says, as JSON; 3 is 'done but incomplete'."""
    done = subprocess.run([program, *arguments, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"dtrace-chain {' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def matches(row, injected, is_split):
    return (row["cause"] in injected["causes"] and injected["process"] in (None, row["process"])
            and (not is_split or injected["node"] in (None, row["node"])))


def judge_cause(one, answer, is_split):
    """(the injected cause comes first, enough of the injected time is told to be it, what came first instead)."""
    injected = one["injected"]
    sums = collections.Counter()
    for row in answer["breakdown"]:
        key = "injected" if matches(row, injected, is_split) else f"{row['cause']} of {row['tier']}"
        sums[key] += row["ns"]
    first = max(sums, key=sums.get)
    is_told = sums["injected"] >= injected["share"] * (injected["end_ns"] - injected["begin_ns"])
    return first == "injected", is_told, f"{first} {sums[first] / 1e6:.1f} ms of {answer['duration_ns'] / 1e6:.1f}"


def judge_requests(verdict, truth, answers, is_split, complain):
    found = {one["id"]: one for one in answers["requests"]}
    missing = [one["id"] for one in truth if one["id"] not in found]
    verdict.add("requests found", f"{len(truth) - len(missing)} of {len(truth)}", "all", not missing)
    for name in missing[:5]:
        complain(f"{name} is not among the requests")
    differences = {}
    for one in truth:
        if one["id"] in found:
            differences[one["id"]] = found[one["id"]]["duration_ns"] - (one["end_ns"] - one["begin_ns"])
    far = {name: ns for name, ns in differences.items() if abs(ns) > DURATION_NS}
    worst = max(map(abs, differences.values()), default=0)
    usual = statistics.median(map(abs, differences.values())) if differences else 0
    verdict.add("duration against the client's own", f"median {usual / 1000:.1f} us, most {worst / 1000:.1f} us",
                "1 ms", not far)
    for name, ns in list(far.items())[:5]:
        complain(f"{name}: {ns / 1e6:+.3f} ms against the client's stopwatch")
    judge_kinds(verdict, [one for one in truth if one["id"] in found and "injected" in one], found, is_split, complain)


def judge_kinds(verdict, truth, found, is_split, complain):
    kinds = collections.defaultdict(list)
    for one in truth:
        is_first, is_told, instead = judge_cause(one, found[one["id"]], is_split)
        kinds[one["kind"]].append((is_first, is_told))
        if not is_first or not is_told:
            complain(f"{one['id']}: {instead}{'' if is_told else ', and too little is told to be the injected cause'}")
    for kind, judged in sorted(kinds.items()):
        first = sum(row[0] for row in judged) / len(judged)
        told = sum(row[1] for row in judged) / len(judged)
        verdict.add(f"{kind}: the injected cause", f"first in {first:.0%}, told in {told:.0%} of {len(judged)}",
                    f"{DOMINANT:.0%}", min(first, told) >= DOMINANT)


def judge_clocks(verdict, answer, begin_ns, end_ns):
    """Both nodes have one clock. begin_ns, end_ns: of the load, on that clock as a trace tells it (with its offset)."""
    lows, highs = [], []
    for node in answer["nodes"]:
        if node["node"] == answer["reference"]:
            continue
        for knot in node["knots"]:
            if begin_ns <= knot["node_ns"] <= end_ns:
                lows.append(knot["lo_ns"] - knot["node_ns"])
                highs.append(knot["hi_ns"] - knot["node_ns"])
    half = max(((high - low) / 2 for low, high in zip(lows, highs)), default=float("inf"))
    verdict.add("difference of the clocks", f"{max(lows, default=0)} to {min(highs, default=0)} ns", "contains 0",
                bool(lows) and max(lows) <= 0 <= min(highs))
    verdict.add("certified within", f"{half / 1000:.1f} us", f"{CLOCK_NS / 1000:.0f} us", half <= CLOCK_NS)


def judge_checks(verdict, program, bundle, exits):
    """Exit 3 is right where something is missing: half a machine names CPUs that it does not have."""
    done = subprocess.run([program, "check", bundle], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    last = [line for line in done.stdout.splitlines() if line.startswith("all ")]
    verdict.add("dtrace-chain check", f"{last[-1] if last else 'not OK'}, exit {done.returncode}",
                "exit " + " or ".join(map(str, exits)), bool(last) and done.returncode in exits)
