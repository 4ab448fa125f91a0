#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""All figures of docs/clock-alignment.md: every row with the generator of tests/support (bench-sync), and with the
inputs of another one, gen.py (its README.md has the format), through `dtrace-chain sync --messages FILE --format json`.

Per row: the largest error over nodes and instants (median and worst of the seeds), instants at which the truth was
outside the certified interval, half-width over the physical limit (d1 + d2) / 2 (median of the median, largest), CPU
time and peak memory of the program, with reading the file. Memory below that of this script (about 18 MiB) cannot be
told.
Exits 1 if the truth was outside or a figure is missed, 77 if gen.py was asked for and is not there.
usage: sync.py --program DTRACE-CHAIN --bench BENCH-SYNC [--gen FILE] [--seeds N] [--rows 0,1,...] [--only own|gen]"""
import argparse
import bisect
import concurrent.futures
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

NS = 10**9
STEP_S, STEP_NS = 300, 1_000_000
# The first and last knot may lie a delay inside a node's first and last stamp; further in the map has ended early. What
# lies beyond them is compared with the bounds carried on straight, not widened.
BEYOND_NS = 10_000_000
MESH = "--asym-rand-us 50"
WANDER = "-d 1800 --rw-ppb 5 --sin-ppb 100 --sin-period 900"
# gen.py's options, error to reach in ns, what is asked for beyond it
ROWS = [
    ("-n 2 -m 1000", 300, {}),
    ("-n 2 -m 10000", 40, {}),
    ("-n 10 -m 2000", 150, {}),
    ("-n 10 -m 2000 --topology line", 900, {}),
    ("-n 2 -m 20000", None, {"width": (1.15, 1.15)}),
    ("-n 2 -m 20000 --sin-ppb 1000", 2000, {"width": (1.15, 1.5)}),
    ("-n 2 -m 20000 -d 3600 --rw-ppb 5", 2000, {"width": (1.15, 1.5)}),
    (f"-n 2 -m 20000 --step 1,{STEP_S},0.001", 2000, {"width": (1.15, 1.5), "step": True}),
    ("-n 2 -m 20000 --outlier 0.0005,200", 100, {"width": (1.15, 1.5), "wrong": True}),
    (f"-n 100 -m 100 {MESH}", 5000, {}),
    (f"-n 100 -m 1000 --topology random:500 {MESH} {WANDER}", 20000, {}),
    ("-n 2 -m 10000 --base 1.7e9", 40, {}),
    ("-n 2 -m 10000 --base 1e7", 40, {}),
    ("-n 2 -m 1000000", 40, {"cpu_s": 1, "seeds": 3}),
    ("-n 100 -m 400 --topology random:500", None, {"cpu_s": 5}),
]


def measure(command, output):
    """CPU seconds and peak MiB of a program, and its exit code."""
    with open(output, "wb") as file:
        child = subprocess.Popen(command, stdout=file)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, child.returncode


def read_clock(clock, at):
    """What gen.py's clock shows at a true time: the floor, as its stamps are."""
    k = max(bisect.bisect_right(clock["knots_true_ns"], at) - 1, 0)
    since = at - clock["knots_true_ns"][k]
    return clock["offset_ns"] + math.floor(clock["reading_ns"][k] + since + since * clock["rate_minus_1"][k])


def find_true_time(clock, shown):
    k = max(bisect.bisect_right(clock["reading_ns"], shown - clock["offset_ns"]) - 1, 0)
    since = shown - clock["offset_ns"] - clock["reading_ns"][k]
    return clock["knots_true_ns"][k] + since / (1 + clock["rate_minus_1"][k])


def read_messages(path):
    with open(path) as file:
        lines = (line.split() for line in file if not line.startswith("#"))
        next(lines)
        for sender, receiver, sent, received in lines:
            yield int(sender), int(receiver), int(sent.replace(".", "")), int(received.replace(".", ""))


def interpolate(left, right, x, key):
    span = right["node_ns"] - left["node_ns"]
    return left[key] + (right[key] - left[key]) * (x - left["node_ns"]) // span if span else left[key]


def get_hull(points, sign):
    """The vertices of the lower (sign 1) or upper (-1) hull of points sorted by x."""
    hull = []
    for x, y in points:
        while len(hull) > 1 and sign * ((hull[-1][0] - hull[-2][0]) * (y - hull[-2][1]) -
                                        (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0])) <= 0:
            hull.pop()
        hull.append((x, y))
    return hull


def is_beyond(hull, point, sign):
    """Whether the point is on the other cloud's side of a hull (above its upper, below its lower one)."""
    k = bisect.bisect_right(hull, (point[0], math.inf)) - 1
    if k < 0 or k + 1 >= len(hull):
        return False
    (x0, y0), (x1, y1) = hull[k], hull[k + 1]
    return sign * ((point[1] - y0) * (x1 - x0) - (y1 - y0) * (point[0] - x0)) > 0


def count_wrong(truth, messages, document):
    """Of the stamps that contradict the hull of the right messages of the other direction: (named, all)."""
    clocks, pair, shown = truth["clocks"], truth["pairs"][0], document["pairs"][0]["trimmed"]
    named = {(int(each["from"]), each["sent_ns"], each["received_ns"]) for each in shown}
    right, wrong = ([], []), []
    for sender, _, sent, received in messages:
        least = pair["min_delay_ns"]["high_to_low" if sender else "low_to_high"]
        delay = find_true_time(clocks[1 - sender], received) - find_true_time(clocks[sender], sent)
        point = (received, sent - received) if sender else (sent, received - sent)
        if delay < least - 10:  # ns: both stamps are floors
            wrong.append((sender, point, (sender, sent, received)))
        else:
            right[sender].append(point)
    # from 0 to 1: upper points, contradicted by the upper hull of the lower points, and the other way
    hulls = (get_hull(sorted(right[1]), -1), get_hull(sorted(right[0]), 1))
    contradicting = [key for sender, point, key in wrong if is_beyond(hulls[sender], point, 1 if sender else -1)]
    return sum(key in named for key in contradicting), len(contradicting), len(named), len(wrong)


def compare(paths, extra):
    """What the program said about one input against the truth."""
    with open(paths["truth"]) as file:
        truth = json.load(file)
    with open(paths["json"]) as file:
        document = json.load(file)
    if not document["complete"]:
        return {"failed": [each["text"] for each in document["findings"]][:2]}
    clocks, reference = truth["clocks"], int(document["reference"])
    first, last = {}, {}
    for sender, receiver, sent, received in read_messages(paths["messages"]):
        for node, stamp in ((sender, sent), (receiver, received)):
            first[node] = min(first.get(node, stamp), stamp)
            last[node] = max(last.get(node, stamp), stamp)
    limit = sum(truth["pairs"][0]["min_delay_ns"].values()) / 2
    result = {"error": 0, "outside": 0, "failed": []}
    widths, points = [], 2000 if len(clocks) <= 10 else 200
    for each in document["nodes"]:
        node, knots = int(each["node"]), each["knots"]
        if node == reference:
            continue
        begin, end = (find_true_time(clocks[node], stamp) for stamp in (first[node], last[node]))
        shown = [knot["node_ns"] for knot in knots]
        for at in sorted({begin + (end - begin) * i / points for i in range(points + 1)}
                         | {min(max(find_true_time(clocks[node], x), begin), end) for x in shown}):
            x, true = read_clock(clocks[node], at), read_clock(clocks[reference], at)
            if not shown[0] - BEYOND_NS <= x <= shown[-1] + BEYOND_NS:
                result["outside"] += 1
                continue
            k = min(max(bisect.bisect_right(shown, x) - 1, 0), max(len(knots) - 2, 0))
            ends = knots[k], knots[min(k + 1, len(knots) - 1)]
            lo, hi, y = (interpolate(*ends, x, key) for key in ("lo_ns", "hi_ns", "cluster_ns"))
            result["outside"] += not lo - 1 <= true <= hi + 1  # stamps are floors
            if extra.get("step") and abs(at - STEP_S * NS) < NS:
                continue
            widths.append((hi - lo) / 2 / limit)
            result["error"] = max(result["error"], abs(y - true))
    result["width"], result["most"] = statistics.median(widths), max(widths)
    if extra.get("step"):
        steps = document["pairs"][0]["steps"]
        a = int(document["pairs"][0]["a"])
        result["steps"] = [(abs(step["a_ns"] - read_clock(clocks[a], STEP_S * NS)) / NS,
                            abs(step["change_ns"] - (STEP_NS if a == 0 else -STEP_NS))) for step in steps]
        if len(steps) != 1 or result["steps"][0][0] > 1 or result["steps"][0][1] > 5000:
            result["failed"].append(f"{len(steps)} steps {result['steps']}")
    if extra.get("wrong"):
        result["wrong"] = count_wrong(truth, read_messages(paths["messages"]), document)
        if result["wrong"][0] < result["wrong"][1]:
            result["failed"].append("a contradicting message is not named")
    return result


def run_seed(options, arguments, extra, seed, pool):
    with tempfile.TemporaryDirectory() as scratch:
        paths = {name: os.path.join(scratch, name) for name in ("messages", "truth", "json", "parse")}
        subprocess.run([sys.executable, options.gen, *arguments.split(), "-s", str(seed), "-o", paths["messages"],
                        "-t", paths["truth"]], check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        cpu, peak, code = measure([options.program, "sync", "--messages", paths["messages"], "--format", "json"],
                                  paths["json"])
        if code not in (0, 3):
            return {"failed": [f"exit {code}"], "cpu": cpu, "peak": peak}
        parts = None
        if extra.get("cpu_s") and options.bench:
            measure([options.bench, "--messages", paths["messages"]], paths["parse"])
            with open(paths["parse"]) as file:
                parts = [float(word) for word in file.read().split()]
        # in a process of its own: a program's peak counts what its parent had when it was started
        return {**pool.submit(compare, paths, extra).result(), "cpu": cpu, "peak": peak, "parts": parts}


def run_row(options, row, pool):
    arguments, reach, extra = row
    seeds = min(options.seeds, extra.get("seeds", options.seeds))
    results = [run_seed(options, arguments, extra, seed, pool) for seed in range(1, seeds + 1)]
    failed = [text for result in results for text in result["failed"]]
    done = [result for result in results if "error" in result]
    if not done:
        print(f"{arguments}\n  FAILED: {'; '.join(failed)}", flush=True)
        return False
    error = statistics.median(result["error"] for result in done)
    width = statistics.median(result["width"] for result in done)
    most, outside = max(result["most"] for result in done), sum(result["outside"] for result in done)
    cpu, peak = (statistics.median(result[key] for result in results) for key in ("cpu", "peak"))
    if reach and error > reach:
        failed.append(f"error above {reach} ns")
    if outside:
        failed.append("truth outside")
    if "width" in extra and (width > extra["width"][0] or most > extra["width"][1]):
        failed.append(f"width above {extra['width'][0]} or {extra['width'][1]}")
    print(f"{arguments}\n  {error:>9.0f} {max(result['error'] for result in done):>9.0f} {reach or '':>9} {outside:>8} "
          + (f"{width:>6.3f} {most:>6.3f}" if "-n 2 " in arguments else f"{'':>6} {'':>6}")
          + f" {cpu:>7.2f} {peak:>6.0f}", end="")
    if extra.get("step"):
        found = [step for result in done for step in result["steps"]]
        print(f"  step found within {max(step[0] for step in found):.3f} s and {max(step[1] for step in found)} ns"
              if found else "  no step found", end="")
    if extra.get("wrong"):
        counts = [sum(each) for each in zip(*(result["wrong"] for result in done))]
        print(f"  named {counts[0]} of {counts[1]} that contradict; left out {counts[2]}, wrong {counts[3]}", end="")
    if results[0]["parts"]:
        parse, fit = (statistics.median(result["parts"][i] for result in results) for i in range(2))
        print(f"  of that reading the file {parse:.2f} s, the fit {fit:.2f} s", end="")
        if fit > extra["cpu_s"]:
            failed.append(f"fit takes more than {extra['cpu_s']} s")
    print(f"  MISSED: {'; '.join(failed)}" if failed else "  ok", flush=True)
    return not failed


def run_own(options):
    """The rows of bench-sync, a process each, so that the memory is the row's (with that of the made-up messages)."""
    ok, case = True, 0
    with tempfile.TemporaryDirectory() as scratch:
        output = os.path.join(scratch, "row")
        while True:
            _, peak, code = measure([options.bench, str(options.seeds), str(case)], output)
            with open(output) as file:
                lines = file.read().splitlines()
            if code not in (0, 1) or (code == 1 and len(lines) < 2):
                sys.exit(f"bench-sync ended with {code}")
            if case == 0:
                print(f"{lines[0]} {'MiB':>5}")
            if len(lines) < 2:
                return ok
            print(f"{lines[1]}  {peak:.0f} MiB", flush=True)
            ok, case = ok and code == 0, case + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--bench")
    parser.add_argument("--gen", default=os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                      "../../../../shared/syncgen/gen.py"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", help="of gen.py's, from 0")
    parser.add_argument("--only", choices=["own", "gen"])
    options = parser.parse_args()
    ok = True
    if options.only != "gen":
        if not options.bench:
            parser.error("--bench is needed for the rows of our own generator")
        ok = run_own(options)
    if options.only != "own":
        if not os.path.exists(options.gen):
            print(f"SKIPPED: no rows of gen.py, {options.gen} is not there")
            sys.exit(77 if ok else 1)
        print(f"{'':2}{'error ns':>9} {'worst':>9} {'to reach':>9} {'outside':>8} {'width':>6} {'most':>6} "
              f"{'CPU s':>7} {'MiB':>6}")
        rows = [ROWS[int(i)] for i in options.rows.split(",")] if options.rows else ROWS
        with concurrent.futures.ProcessPoolExecutor(max_workers=1) as pool:
            for row in rows:
                ok = run_row(options, row, pool) and ok
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
