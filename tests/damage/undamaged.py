# SPDX-License-Identifier: GPL-3.0-or-later
"""How many events of a recording damage has left as they were: their bytes are there, whatever became of what tells of
them. It is what a program that misses nothing could read."""
import os


class Stream:
    """One of the streams as it was, and its node's stream files as they are."""

    def __init__(self, whole, damaged, name):
        with open(os.path.join(whole, name), "rb") as file:
            self.data = file.read()
        self.files = {}
        folder = os.path.dirname(os.path.join(damaged, name))
        for entry in os.scandir(folder) if os.path.isdir(folder) else ():
            if entry.is_file(follow_symlinks=False) and entry.name != "metadata":
                with open(entry.path, "rb") as file:
                    self.files[entry.name] = file.read()
        self.own = self.files.get(os.path.basename(name), b"")

    def count_packet(self, packet, with_header):
        """The events of a packet; with_header: it is gone with its header, whose times are all there is."""
        first = packet.offset if with_header else packet.events[0][0]
        area = self.data[first:packet.events_end]
        if self.own[first:packet.events_end] == area or any(area in data for data in self.files.values()):
            return len(packet.events)
        ends = [event[0] for event in packet.events[1:]] + [packet.events_end]
        return 0 if with_header else sum(self.own[event[0]:end] == self.data[event[0]:end]
                                         for event, end in zip(packet.events, ends))


def count(whole, damaged, streams, with_header=False, unreadable=None):
    """The events of all streams (packets by name); unreadable: a node of which nothing tells what its bytes mean."""
    total = 0
    for name, packets in streams.items():
        if unreadable and name.startswith(unreadable + "/"):
            continue
        stream = Stream(whole, damaged, name)
        total += sum(stream.count_packet(packet, with_header) for packet in packets)
    return total
