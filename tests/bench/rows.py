# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured: a row is a figure with the recording, the commands, and what it should reach."""
import dataclasses
import json
import os
import re
import shutil
import subprocess

import instructions
import made
import measure


class Missing(Exception):
    """What a row needs is not there."""


@dataclasses.dataclass
class Row:
    name: str
    on: str  # the recording
    work: str
    unit: str  # "x": times as fast as babeltrace2's dummy sink
    reach: float
    best: float | None
    today: str  # where the work of both issues began
    take: object  # function of a Bench: list of values, or {"values": ..., more}
    command: str = ""

    def is_reached(self, value):
        return value >= self.reach if self.unit == "x" or self.name == "cores" else value <= self.reach


class Bench:
    """Where programs and recordings are, and how often everything is measured."""

    def __init__(self, options):
        self.runs = options.runs
        self.build = options.build
        self.recordings = options.recordings
        self.work = options.work
        self.is_quick = options.quick
        self.program = os.path.join(self.build, "dtrace-chain")
        self.shown = []  # commands of the row that is being measured
        self.counts = {}
        os.makedirs(os.path.join(self.work, "tmp"), exist_ok=True)
        # on a file system, so that what is written can be counted
        self.environment = {**os.environ, "TMPDIR": os.path.join(self.work, "tmp"),
                            "XDG_CACHE_HOME": os.path.join(self.work, "cache"), "DTRACE_CHAIN_CACHE": "none",
                            "NO_COLOR": "1", "COLUMNS": "80"}
        help_text = subprocess.run([self.program, "analyze", "--help"], capture_output=True, text=True, check=True)
        self.has_cache = "--cache" in help_text.stdout

    def get_tool(self, *path):
        tool = os.path.join(self.build, *path)
        if not os.path.exists(tool):
            raise Missing(f"no {os.path.basename(tool)} in the build")
        return tool

    def find_recording(self, name):
        if name == "demo":
            return os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../clusters/demo")
        unpacked = os.path.join(self.work, "unpacked")
        for place in (self.recordings, os.path.join(self.build, "recordings"), unpacked):
            if os.path.isdir(os.path.join(place, name)):
                return os.path.join(place, name)
        for ending in (".tar.xz", ".tar.zst"):
            archive = os.path.join(self.recordings, name + ending)
            if os.path.exists(archive):
                part = os.path.join(unpacked, name + ".part")
                os.makedirs(part, exist_ok=True)
                subprocess.run(["tar", "-C", part, "-xf", archive], check=True)
                os.rename(os.path.join(part, name), os.path.join(unpacked, name))
                os.rmdir(part)
                return os.path.join(unpacked, name)
        raise Missing(f"no recording {name}")

    def make(self, name, maker):
        """A made input, which is kept in the work folder."""
        path = os.path.join(self.work, name)
        if not os.path.exists(path):
            part = path + ".part"
            shutil.rmtree(part, ignore_errors=True)
            maker(part)
            os.rename(part, path)
        return path

    def chain(self, *arguments, cache="none"):
        """A command of the program; nothing is kept from it for the next unless the row is about that."""
        extra = [] if not self.has_cache else ["--cache", cache if cache == "none" else self.environment[
            "XDG_CACHE_HOME"]]
        return [self.program, *arguments, *extra]

    def dummy(self, bundle):
        return [["babeltrace2", trace, "-o", "dummy"] for trace in made.find_traces(bundle)]

    def run(self, commands, watched=False):
        """The costs of commands one after the other, added up; memory is that of the largest."""
        results = [measure.run(command, self.environment, watched) for command in commands]
        self.shown = commands
        return {key: sum(each[key] for each in results) if key in ("cpu_s", "wall_s", "written_mb")
                else max(each[key] for each in results) for key in results[0]}

    def count_events(self, bundle):
        if bundle not in self.counts:
            text = subprocess.run(self.chain("stats", bundle, "--format", "json"), capture_output=True,
                                  env=self.environment, check=False).stdout
            self.counts[bundle] = json.loads(text)["events"]
        return self.counts[bundle]

    def compare(self, ours, theirs):
        """Pairs of CPU times, in turns."""
        for _ in range(self.runs):
            yield self.run(theirs)["cpu_s"], self.run(ours)["cpu_s"]


def times_dummy(recording, find_commands):
    """How many times as fast as babeltrace2 reads the same kernel traces."""
    def take(bench):
        bundle = bench.find_recording(recording)
        pairs = list(bench.compare(find_commands(bench, bundle), bench.dummy(bundle)))
        return {"values": [theirs / ours for theirs, ours in pairs],
                "cpu_s": measure.sum_up([ours for _, ours in pairs])[0],
                "dummy_s": measure.sum_up([theirs for theirs, _ in pairs])[0]}
    return take


def seconds(recording, arguments, cache="none"):
    """CPU seconds of a question; with a cache, of the second time that something is asked."""
    def take(bench):
        bundle = bench.find_recording(recording)
        command = bench.chain(*(each.replace("BUNDLE", bundle) for each in arguments), cache=cache)
        if cache != "none":
            shutil.rmtree(bench.environment["XDG_CACHE_HOME"], ignore_errors=True)
            bench.run([command])
        return {"values": [bench.run([command])["cpu_s"] for _ in range(bench.runs)]}
    return take


def memory(recording, arguments, key="anonymous_mib"):
    def take(bench):
        bundle = bench.find_recording(recording)
        command = bench.chain(*(each.replace("BUNDLE", bundle) for each in arguments))
        results = [bench.run([command], watched=True) for _ in range(1 if bench.is_quick else min(bench.runs, 3))]
        return {"values": [each[key] for each in results],
                "file_mib": measure.sum_up([each["file_mib"] for each in results])[0]}
    return take


def written(bench):
    bundle = bench.find_recording("B")
    command = bench.chain("top", bundle, cache="kept")
    shutil.rmtree(bench.environment["XDG_CACHE_HOME"], ignore_errors=True)
    return {"values": [bench.run([command], watched=True)["written_mb"]]}


def take_metadata(bench):
    tool = bench.get_tool("tests/bench/read/bench-read")
    trace = made.find_traces(bench.find_recording("B"))[0]
    count = 20
    bench.shown = [[tool, "metadata", str(count), trace]]
    texts = [subprocess.run(bench.shown[0], capture_output=True, text=True, check=True).stdout
             for _ in range(bench.runs)]
    return {"values": [float(re.match(r"([\d.]+) ms CPU each", text)[1]) for text in texts]}


def take_metadata_lock(bench):
    """Wall time of two at once over that of one."""
    tool = bench.get_tool("tests/bench/read/bench-read")
    trace = made.find_traces(bench.find_recording("B"))[0]
    values = []
    for _ in range(bench.runs):
        wall = []
        for threads in ("1", "2"):
            bench.shown = [[tool, "metadata", "50", threads, trace]]
            text = subprocess.run(bench.shown[0], capture_output=True, text=True, check=True).stdout
            wall.append(float(re.search(r", ([\d.]+) ms until", text)[1]))
        values.append(wall[1] / wall[0])
    return {"values": values}


def take_streams(bench):
    events = 500_000 if bench.is_quick else 2_000_000
    reader, maker = (bench.get_tool("tests/bench", *path) for path in (("read", "bench-read"),
                                                                       ("streams", "make-streams")))
    few, many = (bench.make(f"streams-{count}-{events}", lambda path, count=count: made.make_streams(
        maker, path, count, events)) for count in (16, 512))
    pairs = list(bench.compare([[reader, "events", many]], [[reader, "events", few]]))
    smaller = {"work": f"512 streams over 16, only {events} events", "reached": None} if bench.is_quick else {}
    return {**smaller, "values": [ours / theirs for theirs, ours in pairs],
            "ns_per_event": [measure.sum_up([pair[i] for pair in pairs])[0] * 1e9 / events for i in (0, 1)]}


def take_messages(bench):
    path = bench.make("messages-2000", made.make_messages)
    return {"values": [bench.run([bench.chain("sync", "--messages", path)])["cpu_s"] for _ in range(bench.runs)]}


def make_cluster(bench, nodes, requests, events):
    tool = bench.get_tool("tests/sim/sim")
    return bench.make(f"sim-{nodes}-{requests}-{events}", lambda path: subprocess.run(
        [tool, "--nodes", str(nodes), "--requests", str(requests), "--events", str(events), path], check=True))


def take_cluster(key):
    def take(bench):
        nodes, requests, events = (20, 1300, 1_600_000) if bench.is_quick else (200, 13_000, 16_000_000)
        bundle = make_cluster(bench, nodes, requests, events)
        command = bench.chain("requests", bundle)
        results = [bench.run([command], watched=key != "cpu_s") for _ in range(min(bench.runs, 3))]
        smaller = {"work": f"requests, {nodes} nodes: not the row's cluster", "reached": None} if bench.is_quick else {}
        return {"values": [each[key] for each in results], **smaller}
    return take


def take_cores(bench):
    """Wall time on one core over that on all of them."""
    if not shutil.which("taskset"):
        raise Missing("no taskset")
    command = bench.chain("top", bench.find_recording("B"))
    values = []
    for _ in range(bench.runs):
        one = bench.run([["taskset", "-c", "0", *command]])["wall_s"]
        values.append(one / bench.run([command])["wall_s"])
    return {"values": values}


def take_length(command, key):
    """The same of all of B over that of its first sixteenth; of CPU time per event."""
    def take(bench):
        whole = bench.find_recording("B")
        parts = [bench.make(f"B-{share}", lambda path, share=share: made.cut_bundle(whole, path, 1 / share))
                 for share in (16, 4)]
        costs = {part: [] for part in (*parts, whole)}
        for _ in range(bench.runs):
            for part, values in costs.items():
                events = bench.count_events(part) if key == "cpu_s" else 1
                arguments = [each.replace("BUNDLE", part) for each in command]
                values.append(bench.run([bench.chain(*arguments)], key != "cpu_s")[key] / events)
        first, middle, last = ([value for value in costs[part]] for part in (*parts, whole))
        return {"values": [b / a for a, b in zip(first, last)],
                "middle": measure.sum_up([b / a for a, b in zip(first, middle)])[0]}
    return take


def open_traces(bench, bundle):
    """Options that give the kernel traces alone."""
    pairs = [f"{os.path.basename(os.path.dirname(trace))}={trace}" for trace in made.find_traces(bundle)]
    return [word for pair in pairs for word in ("--node", pair)]


THREAD = ("analyze", "BUNDLE", "--thread", "backend:203")
WINDOW = (*THREAD, "--from", "+118s", "--to", "+119s")
COMMANDS = [("stats",), ("sync",), ("top",), ("usage",), ("states",), ("blockings", "--thread", "backend:203"),
            ("edges",), ("events",), ("check",), ("analyze", "--thread", "backend:203")]


def list_rows():
    """All rows, in the order of the two tables."""
    def on_traces(tool, *words):
        return lambda bench, bundle: [[bench.get_tool(*tool), *words, *made.find_traces(bundle)]]

    def of_chain(*arguments):
        return lambda bench, bundle: [bench.chain(*(each.replace("BUNDLE", bundle) for each in arguments))]

    rows = [
        Row("decode", "B", "decode and merge", "x", 15, 20, "1x",
            times_dummy("B", on_traces(("tests/bench/read/bench-read",), "events"))),
        Row("stats", "B", "stats, kernel traces alone", "x", 12, 18, "1.0x",
            times_dummy("B", lambda bench, bundle: [bench.chain("stats", *open_traces(bench, bundle))])),
        Row("metadata", "B", "metadata of a node", "ms", 3, None, "20-28 ms", take_metadata),
        Row("metadata-lock", "B", "metadata, wall: two threads at once over one", "times", 1.2, None, "2 times",
            take_metadata_lock),
        Row("streams", "made", "512 streams over 16, per event", "times", 1.5, None, "", take_streams),
        Row("history", "B", "kernel history", "x", 8, 12, "0.8x",
            times_dummy("B", on_traces(("tests/bench/history/bench-history",)))),
        Row("top", "B", "top", "x", 4, 6, "0.7x", times_dummy("B", of_chain("top", "BUNDLE"))),
        Row("check", "B", "check", "x", 2, 4, "0.11x", times_dummy("B", of_chain("check", "BUNDLE"))),
        Row("thread", "B", "a thread's whole span", "x", 2, 4, "0.36x", times_dummy("B", of_chain(*THREAD))),
        Row("requests", "A", "requests (206)", "x", 4, 8, "0.63x", times_dummy("A", of_chain("requests", "BUNDLE"))),
        Row("next-demo", "demo", "another question", "s", 0.02, 0.01, "0.13 s",
            seconds("demo", ("analyze", "BUNDLE", "--request-id", "req-0069"), "kept")),
        Row("next-window", "B", "another question, a second of a thread", "s", 0.1, 0.03, "2.2 s",
            seconds("B", WINDOW, "kept")),
        Row("next-thread", "B", "another question, a thread's whole span", "s", 1, 0.5, "5.2 s",
            seconds("B", THREAD, "kept")),
        Row("first-window", "B", "first question, a second at the end", "s", 0.6, 0.2, "2.2 s",
            seconds("B", WINDOW)),
        Row("first-window-lead", "B", "the same with --lead 2s", "s", 0.6, 0.2, "2.2 s",
            seconds("B", (*WINDOW, "--lead", "2s"))),
    ]
    rows += [Row(f"memory-{command[0]}", "B", f"anonymous memory: {' '.join(command)}", "MiB", 64, 32, "91-233 MiB",
                 memory("B", (command[0], "BUNDLE", *command[1:]))) for command in COMMANDS]
    rows += [
        Row("written", "B", "bytes written, top", "MB", 120, 80, "373 MB", written),
        Row("cluster", "sim", "requests, 200 nodes", "s", 4, 2, "26 s", take_cluster("cpu_s")),
        Row("cluster-memory", "sim", "the same, anonymous memory", "MiB", 300, None, "771 MB",
            take_cluster("anonymous_mib")),
        Row("messages", "made", "sync --messages, 2,000 nodes, 10,000 pairs", "s", 1, 0.5, "16 s", take_messages),
        Row("cores", "B", "top, wall: one core over all", "times", 1.8, 1.9, "1.5 times", take_cores),
    ]
    for name, command in (("top", ("top", "BUNDLE")), ("check", ("check", "BUNDLE")), ("thread", THREAD)):
        rows.append(Row(f"length-{name}", "B", f"{name}, 16 times as long, CPU per event", "times", 1.1, None, "",
                        take_length(command, "cpu_s")))
        rows.append(Row(f"length-{name}-memory", "B", f"{name}, 16 times as long, anonymous memory", "times", 1.1,
                        None, "", take_length(command, "anonymous_mib")))
    return rows


# Small recordings: an instruction takes callgrind fifty times as long.
STAGES = [("stats", "A", ("stats", "BUNDLE")), ("top", "A", ("top", "BUNDLE")), ("check", "A", ("check", "BUNDLE")),
          ("requests", "A", ("requests", "BUNDLE")),
          ("thread", "A", ("analyze", "BUNDLE", "--thread", "backend:138"))]


def count_stages(bench, recording, arguments):
    """{stage: instructions per event}"""
    bundle = bench.find_recording(recording)
    command = bench.chain(*(each.replace("BUNDLE", bundle) for each in arguments))
    counts = instructions.count(command, bench.work, bench.environment)
    if counts is None:
        raise Missing("no valgrind")
    events = bench.count_events(bundle)
    return {stage: counts[stage] / events for stage in [name for name, _ in instructions.STAGES] + [
        instructions.OUTSIDE]}
