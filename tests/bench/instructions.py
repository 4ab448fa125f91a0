# SPDX-License-Identifier: GPL-3.0-or-later
"""Instructions by stage. This machine's counters are often not there (virtual machines), and a count that wobbles by
some percent would not be worth more: callgrind counts every instruction of the program, of all its threads, and the
same in every run. What libraries do is given to the stages that called them, as gprof would: in proportion to what was
spent in their calls. The kernel's work (page faults, reading files) is not in it."""
import collections
import os
import re
import shutil
import subprocess

# By source file, the first that fits.
STAGES = [
    ("metadata", r"collect/read/fast/(tsdl|tokens|json|ctf2|declaration|layout|arena)|"
                 r"collect/read/ctf/(metadata|clock_class|name_check)"),
    ("merge", r"collect/read/(merge|reader|streams)\."),
    ("decode", r"collect/read/"),
    ("packets", r"collect/packets/"),
    ("state", r"analyze/state/"),
    ("seal", r"analyze/history/"),
    ("match", r"sync/match/"),
    ("fit", r"sync/fit/"),
    ("exchange", r"analyze/exchange/"),
    ("edges", r"analyze/(edge|guest)/"),
    ("request", r"analyze/request/"),
    ("path", r"analyze/path/"),
    ("profile", r"analyze/(profile|finding)/"),
    ("engine", r"analyze/engine/|collect/bundle/"),
    ("report", r"analyze/(report|cli)/|collect/console/"),
]
OUTSIDE = "other"  # the loader, and what nobody of ours called
ROUNDS = 30


def find_stage(path):
    for name, pattern in STAGES:
        if re.search(pattern, path):
            return name
    return None


class Profile:
    """What is in a callgrind.out file: the cost of every function itself, and of its calls to others."""

    def __init__(self, path):
        self.own = collections.Counter()  # function -> instructions
        self.calls = collections.Counter()  # (caller, callee) -> instructions in it and below
        self.files = {}
        with open(path) as lines:
            self.read(lines)

    def read(self, lines):
        """A function's number is its own even where several files have a function of that name."""
        files, file, function, called = {}, "", None, None
        for line in lines:
            if line[0] in "0123456789+-*":
                cost = int(line.split()[1])
                if called:
                    self.calls[(function, called)] += cost
                    called = None
                else:
                    self.own[function] += cost
                continue
            match = re.match(r"(cfn|fn|fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?", line)
            if not match:
                continue
            kind, number, name = match.groups()
            if kind == "cfn":
                called = number
            elif kind == "fn":
                function = number
                self.files[function] = file
            else:
                if name:
                    files[number] = name
                if kind == "fl":  # the others are of lines that were inlined, which count for the function
                    file = files[number]


def share_out(profile):
    """{stage: instructions}"""
    stages = {function: find_stage(file) for function, file in profile.files.items()}
    inward = collections.defaultdict(list)
    for (caller, callee), cost in profile.calls.items():
        if caller != callee:
            inward[callee].append((caller, cost))
    total = collections.Counter()
    pending = collections.Counter()
    for function, cost in profile.own.items():
        if stages.get(function):
            total[stages[function]] += cost
        else:
            pending[function] += cost
    for _ in range(ROUNDS):
        passed = collections.Counter()
        for function, cost in pending.items():
            callers = inward.get(function)
            whole = sum(each for _, each in callers) if callers else 0
            if not whole:
                total[OUTSIDE] += cost
                continue
            for caller, each in callers:
                stage = stages.get(caller)
                if stage:
                    total[stage] += cost * each / whole
                else:
                    passed[caller] += cost * each / whole
        pending = passed
    total[OUTSIDE] += sum(pending.values())
    return total


def count(command, scratch, environment):
    """{stage: instructions} of a command; None if there is no callgrind here."""
    if not shutil.which("valgrind"):
        return None
    output = os.path.join(scratch, "callgrind.out")
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", "--quiet", *command],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
    return share_out(Profile(output)) if os.path.exists(output) else None
