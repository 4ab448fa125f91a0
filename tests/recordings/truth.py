# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about a recording (its ground-truth.json), and how to ask the program about it. Times are integers in
nanoseconds: a trace time near 1.8e18 does not fit into a double."""
import json
import os
import re
import subprocess
import sys

SKIPPED = 77
# How well the truth itself is known: the probes read two clocks through shared memory.
TRUTH_ERROR_NS = 300
TIMEOUT_S = 600


class Answer:
    """The exit code, bytes and, if it is that, the JSON document that the program gave."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err.decode("utf-8", "replace")
        try:
            self.json = json.loads(out)
        except ValueError:
            self.json = None


def ask(program, *arguments, timeout_s=TIMEOUT_S):
    """Runs the program; a time-out is exit code None, death by a signal a negative one."""
    try:
        done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return Answer(None, b"", b"time-out after %d s" % timeout_s)
    return Answer(done.returncode, done.stdout, done.stderr)


def skip_unless_there(bundle):
    """Recordings outside of the repository may be missing: say so, and let ctest count the test as skipped."""
    if not os.path.isdir(bundle):
        print(f"SKIPPED: no recording at {bundle}")
        sys.exit(SKIPPED)


class Truth:
    def __init__(self, bundle):
        self.bundle = bundle
        with open(os.path.join(bundle, "ground-truth.json"), encoding="utf-8") as file:
            self.data = json.load(file)
        # as the lab started them: who asks, the proxy, the server behind it
        self.tiers = list(self.data["nodes"])
        self.nodes = sorted(self.data["nodes"])
        self.requests = self.data.get("requests", [])
        self.loses_packets = any("lab.loss=" in text for text in self.data.get("params", []))

    def to_trace_ns(self, node, mono_ns):
        """A node's CLOCK_MONOTONIC as the clock of its trace."""
        return mono_ns + self.data["nodes"][node]["ctf_clock_offset_ns"]

    def has_clocks(self):
        return all("clock_fit" in self.data["nodes"][node] for node in self.nodes)

    def convert(self, source, target, trace_ns):
        """What the clock of target's trace shows when the clock of source's trace shows trace_ns."""
        if source == target:
            return trace_ns
        if not self.has_clocks():
            return self._convert_pairwise(source, target, trace_ns)
        a, b = self.data["nodes"][source], self.data["nodes"][target]
        fit_a, fit_b = a["clock_fit"], b["clock_fit"]
        since_ref = trace_ns - a["ctf_clock_offset_ns"] - fit_a["guest_mono_ref_ns"]
        slope = (fit_a["rate"] - 1) / fit_a["rate"]
        host = fit_a["host_raw_ref_ns"] + since_ref - round(slope * since_ref + fit_a["intercept_ns"])
        since_ref = host - fit_b["host_raw_ref_ns"]
        mono = fit_b["guest_mono_ref_ns"] + since_ref + round((fit_b["rate"] - 1) * since_ref + fit_b["intercept_ns"])
        return mono + b["ctf_clock_offset_ns"]

    def _convert_pairwise(self, source, target, trace_ns):
        """From "b-a": trace time of b minus that of a at the same instant, known in the middle, and the rate."""
        pairs = self.data["pairwise_trace_time"]
        forward = f"{target}-{source}" in pairs
        b, a = (target, source) if forward else (source, target)
        pair = pairs[f"{b}-{a}"]
        middle, rate = pair[f"middle_in_{a}_trace_time_ns"], pair["relative_rate_ppm"] * 1e-6
        offset = pair["offset_ns_at_middle"]
        if forward:
            return trace_ns + offset + round(rate * (trace_ns - middle))
        since = trace_ns - offset - middle
        return middle + since - round(since * rate / (1 + rate))

    def read_marks(self, node, word):
        """The lab's own marks in the kernel trace ("lab:end id=..."): trace time by request id, read by babeltrace2."""
        pattern = re.compile(r"^\[(\d+)\.(\d{9})\].* lttng_logger: .*msg = \"lab:" + word + r" id=(\S+) ")
        marks = {}
        with subprocess.Popen(["babeltrace2", "--no-delta", "--clock-seconds", self.bundle + "/" + node + "/kernel"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as reader:
            for line in reader.stdout:
                if "lttng_logger" in line:
                    found = pattern.match(line)
                    if found:
                        marks.setdefault(found[3], int(found[1]) * 10**9 + int(found[2]))
        return marks
