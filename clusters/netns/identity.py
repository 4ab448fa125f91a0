# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the packet that was joined to an event the right one? A packet that goes through veth keeps its skb: the device's
transmit event in one namespace and the next receive event in the other carry the same address. Each was joined to a
capture of its own, so both must say the same headers."""
import collections
import re
import subprocess

EVENT = re.compile(r"\b(net_dev_queue|net_if_receive_skb): .*?\bskbaddr = (\w+).*?\bname = \"([^\"]*)\"")
SOURCE = re.compile(r"header_source = \( \"?(\w+)")
HEADER = re.compile(r"network_header = (\{.*\})")


def net_events(kernel):
    """(kind, skb, device, header, how it was found) of every packet event, in the order of time."""
    with subprocess.Popen(["babeltrace2", kernel], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace") as reader:
        for line in reader.stdout:
            event = EVENT.search(line)
            if event:
                source = SOURCE.search(line)
                header = HEADER.search(line)
                text = header.group(1).split("header_source")[0].split(", netns")[0] if header else ""
                yield event.group(1), event.group(2), event.group(3), text, source.group(1) if source else "none"


def compare(kernel):
    """{(how the receiver's and the sender's header were found): [same, not the same]}"""
    sent = {}
    found = collections.defaultdict(lambda: [0, 0])
    wrong = []
    for kind, skb, device, header, source in net_events(kernel):
        if not device.startswith("eth"):
            continue
        if kind == "net_dev_queue":
            sent[skb] = header, source
            continue
        before, how = sent.pop(skb, (None, None))
        if before is None or "none" in (how, source):
            continue
        surest = "inferred" if "inferred" in (how, source) else "joined"
        found[surest][before != header] += 1
        if before != header:
            wrong.append((surest, skb, before, header))
    return found, wrong
