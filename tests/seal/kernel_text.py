#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a sealed node with the kernel's own words.

A raw recording was taken with tracing off and the kernel's text of the same buffers (per_cpu/cpuN/trace) beside it.
Sealed and read back with babeltrace2, which must have no complaint, it must have the same events, at the same times,
in the same threads, with the same values: every number that the text shows and the trace has under LTTng's name.
A recording without that text must have as many events as the kernel counted.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

LINE = re.compile(r"^\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<s>\d+)\.(?P<us>\d{6}): (?P<rest>.*)$")
CALL = re.compile(r"^(?P<name>sys_\w+)\((?P<arguments>.*)\)$")
RETURN = re.compile(r"^(?P<name>sys_\w+) -> (?P<value>\S+)$")
CTF = re.compile(r"^\[(?P<ns>\d+)\] (?:\S+ )?(?P<name>\w+): \{ cpu_id = (?P<cpu>\d+) \}, \{(?P<fields>.*)\}$")

RENAMED = {
    "softirq_entry": "irq_softirq_entry", "softirq_exit": "irq_softirq_exit", "softirq_raise": "irq_softirq_raise",
    "hrtimer_expire_entry": "timer_hrtimer_expire_entry", "hrtimer_expire_exit": "timer_hrtimer_expire_exit",
    "netif_receive_skb": "net_if_receive_skb", "kfree_skb": "skb_kfree", "cpu_idle": "power_cpu_idle",
    "page_fault_user": "x86_exceptions_page_fault_user", "page_fault_kernel": "x86_exceptions_page_fault_kernel",
}
VECTORS = {"local_timer", "reschedule", "call_function", "call_function_single", "irq_work", "vector_free_moved"}
FIELDS = {"clone": {"clone_flags": "flags", "parent_tidptr": "parent_tid", "child_tidptr": "child_tid"},
          "mmap": {"off": "offset"}, "epoll_ctl": {"op": "op_enum"}}
THREADS = {"pid": "tid", "prev_pid": "prev_tid", "next_pid": "next_tid", "child_pid": "child_tid", "old_pid": "old_tid"}
STATES = {"R": 0, "S": 1, "D": 2, "T": 4, "t": 8, "X": 16, "Z": 32, "P": 64, "I": 128}


def name_event(name):
    if name in RENAMED:
        return RENAMED[name]
    stem = re.sub("_(entry|exit)$", "", name)
    return "x86_irq_vectors_" + name if stem in VECTORS else name


def parse_line(line):
    """CPU, time in microseconds, LTTng's name, and the values that are numbers or names: {field: text}."""
    match = LINE.match(line)
    rest = match["rest"]
    where = int(match["cpu"]), int(match["s"]) * 1000000 + int(match["us"])
    call, back = CALL.match(rest), RETURN.match(rest)
    if call:
        name = call["name"][4:]
        pairs = re.findall(r"(\w+): (?:0x)?(-?[0-9a-f]+)(?=,|$| )", call["arguments"])
        values = {FIELDS.get(name, {}).get(key, key): int(value, 16) for key, value in pairs}
        return (*where, "syscall_entry_" + name, values)
    if back:
        return (*where, "syscall_exit_" + back["name"][4:], {"ret": int(back["value"], 16)})
    name, _, text = rest.partition(": ")
    values = {}
    for key, value in re.findall(r"(\w+)=(\S+)", text):
        if key == "prev_state":
            values[key] = STATES[value[0]] | (256 if value.endswith("+") else 0)
        elif re.fullmatch(r"-?\d+", value):
            values[key] = int(value)
        elif re.fullmatch(r"0x[0-9a-f]+", value):
            values[key] = int(value, 16)
        elif key in ("comm", "prev_comm", "next_comm", "name", "dev"):
            values[key] = value
    if name.startswith("sched_"):
        values = {THREADS.get(key, key): value for key, value in values.items()}
    return (*where, name_event(name), values)


def read_text(folder):
    events = collections.defaultdict(list)
    for path in sorted(folder.glob("text*")):
        for line in path.read_text(errors="replace").splitlines():
            event = parse_line(line)
            events[event[0]].append(event)
    return events


def parse_fields(text):
    values = {}
    for key, number, string in re.findall(r'(\w+) = (?:(0x[0-9A-Fa-f]+|-?\d+)|"([^"]*)")', text):
        values.setdefault(key, string if number == "" else int(number, 0))
    return values


def read_ctf(kernel):
    done = subprocess.run(["babeltrace2", "--no-delta", "--clock-cycles", str(kernel)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0 or done.stderr:
        sys.exit("babeltrace2 complains: " + done.stderr)
    events = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        match = CTF.match(line)
        if not match:
            sys.exit("cannot read: " + line)
        fields = parse_fields(match["fields"])
        if "statedump" not in match["name"] and "repaired" not in fields:
            events[int(match["cpu"])].append((int(match["ns"]), match["name"], fields))
    return events


def compare_event(said, sealed, counts):
    _, microseconds, name, values = said
    nanoseconds, sealed_name, fields = sealed
    if name != sealed_name or (nanoseconds + 500) // 1000 != microseconds:
        return "%s at %d us, not %s at %d ns" % (name, microseconds, sealed_name, nanoseconds)
    counts["events"] += 1
    for key, value in values.items():
        if key not in fields:
            counts["absent"] += 1
            continue
        counts["values"] += 1
        same = fields[key] == value
        if isinstance(value, int) and isinstance(fields[key], int):  # the text shows the register
            same = (fields[key] - value) % (1 << 32) == 0
        elif isinstance(value, str):
            same = str(fields[key]).split(" ")[0].startswith(value)
        if not same:
            return "%s: %s is %r, not %r" % (name, key, fields[key], value)
    return None


def compare(text, ctf, counts):
    for cpu, said in text.items():
        if len(said) != len(ctf[cpu]):
            sys.exit("CPU %d: %d events, sealed %d" % (cpu, len(said), len(ctf[cpu])))
        for one, other in zip(said, ctf[cpu]):
            wrong = compare_event(one, other, counts)
            if wrong:
                sys.exit("CPU %d: %s" % (cpu, wrong))


def compare_counts(node, ctf):
    """The last line of each CPU says how many events were read from its buffer, and how many were still in it."""
    last = {}
    for line in (node / "raw" / "drops").read_text().splitlines():
        numbers = [int(word) for word in line.split()]
        last[numbers[1]] = numbers[2] + numbers[7]
    sealed = {cpu: len(events) for cpu, events in ctf.items()}
    if last != sealed:
        sys.exit("the kernel counted %s, sealed are %s" % (last, sealed))
    print("%d events, as the kernel counted" % sum(last.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seal", required=True, help="seal-node")
    parser.add_argument("--program", required=True, help="dtrace-chain")
    parser.add_argument("recording", help="raw/ and text0, text1 ..., as tar.xz")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        node = pathlib.Path(scratch) / "small"
        with tarfile.open(options.recording) as archive:
            archive.extractall(node)
        subprocess.run([options.seal, str(node)], check=True)
        once = {path.name: path.read_bytes() for path in (node / "kernel").iterdir()}
        subprocess.run([options.seal, str(node), "1"], check=True)
        if once != {path.name: path.read_bytes() for path in (node / "kernel").iterdir()}:
            sys.exit("sealed twice, the bytes differ")
        ctf = read_ctf(node / "kernel")
        text = read_text(node)
        if text:
            counts = collections.Counter()
            compare(text, ctf, counts)
            print("%(events)d events, %(values)d values are the same; %(absent)d are not in the trace" % counts)
            if counts["values"] < 2 * counts["events"] or counts["absent"] > counts["values"] / 4:
                sys.exit("that is too few")
        else:
            compare_counts(node, ctf)
        for command in ("check", "stats"):
            done = subprocess.run([options.program, command, "--bundle", str(node)], capture_output=True, text=True,
                                  check=False)
            if done.returncode not in (0, 3):
                sys.exit(command + ": " + done.stdout + done.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
