#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can happen to a cache: runs that are killed while they write, many at once, a full disk, a folder that may not
be written, images that are damaged, recordings that change. The answer is the right one every time.
usage: storms.py --program FILE --source DIR [--kills N]"""
import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

QUESTION = ["top", "--format", "json"]


class Storm:
    def __init__(self, options, scratch):
        self.program = os.path.abspath(options.program)
        self.demo = os.path.join(scratch, "demo")
        self.cache = os.path.join(scratch, "cache")
        self.kills = options.kills
        self.random = random.Random(17)
        shutil.copytree(os.path.join(options.source, "clusters/demo"), self.demo)
        time.sleep(2.5)  # what has just changed is not kept
        self.want = self.ask("none")
        self.bad = 0

    def start(self, cache, **more):
        return subprocess.Popen([self.program, QUESTION[0], self.demo, *QUESTION[1:], "--cache", cache],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def ask(self, cache, **more):
        run = self.start(cache, **more)
        out, err = run.communicate(timeout=120)
        return out, run.returncode, err

    def expect(self, what, got, want=None):
        want = want or self.want
        if got[:2] != want[:2]:
            print(f"{what}: exit code {got[1]}, not {want[1]}, or another answer; stderr: {got[2].decode()}")
            self.bad += 1

    def images(self):
        return sorted(name for name in os.listdir(self.cache) if name.endswith(".dtci"))

    def clear(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    # ---- what happens ----

    def be_killed(self):
        begin = time.monotonic()
        self.ask(self.cache)
        length = time.monotonic() - begin
        for number in range(self.kills):
            if number % 2 == 0:
                self.clear()
            run = self.start(self.cache)
            time.sleep(self.random.random() * length * 1.2)
            run.send_signal(signal.SIGKILL)
            run.communicate()
            if number % 5 == 0:
                self.expect(f"after kill {number}", self.ask(self.cache))
        self.expect("after all kills", self.ask(self.cache))
        os.unlink(os.path.join(self.cache, self.images()[0]))
        self.expect("one image less", self.ask(self.cache))  # who writes removes what the dead left
        left = [name for name in os.listdir(self.cache) if not name.endswith(".dtci")]
        if left or len(self.images()) != 7:  # three traces, three captures, clocks
            print(f"left behind: {left}, {len(self.images())} images")
            self.bad += 1

    def run_at_once(self):
        self.clear()
        runs = [self.start(self.cache) for _ in range(8)]
        for run in runs:
            out, err = run.communicate(timeout=120)
            self.expect("one of eight", (out, run.returncode, err))
        self.expect("after eight", self.ask(self.cache))

    def fill_disk(self):
        for limit in (0, 4096, 100000, 1000000):
            self.clear()
            self.expect(f"files of at most {limit} bytes",
                        self.ask(self.cache, preexec_fn=lambda: (
                            signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))))
            if any(not name.endswith(".dtci") for name in os.listdir(self.cache)):
                print("a part of an image stayed")
                self.bad += 1
        self.expect("a full disk", self.ask("/dev/full/cache"))
        self.expect("no such place", self.ask("/proc/cache"))

    def damage(self):
        self.clear()
        self.ask(self.cache)
        for name in self.images() * 3:
            path = os.path.join(self.cache, name)
            with open(path, "r+b") as file:
                data = bytearray(file.read())
                for _ in range(3):
                    data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
                file.seek(0)
                file.write(data)
                if self.random.random() < .3:
                    file.truncate(self.random.randrange(len(data)))
            self.expect("a damaged image", self.ask(self.cache))

    def change(self):
        """A byte, with and without the old time; the old length and time; a file more. Undone each time."""
        self.clear()
        self.ask(self.cache)
        folder = os.path.join(self.demo, "web/kernel")
        stream = max((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getsize)
        capture = os.path.join(self.demo, "web.pcap")
        for path in (stream, capture):
            with open(path, "rb") as file:
                old = file.read()
            times = os.stat(path)
            for where in (len(old) // 2, len(old) // 3, len(old) - 100):
                new = old[:where] + bytes([old[where] ^ 0x10]) + old[where + 1:]
                for keeps_time in (False, True):
                    with open(path, "r+b") as file:
                        file.write(new)
                    if keeps_time:
                        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
                    self.expect(f"{path} changed at {where}", self.ask(self.cache), self.ask("none"))
                    with open(path, "r+b") as file:
                        file.write(old)
                    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
                    self.expect(f"{path} as it was", self.ask(self.cache))
            with open(path, "r+b") as file:
                file.truncate(len(old) * 2 // 3)
            self.expect(f"{path} is shorter", self.ask(self.cache), self.ask("none"))
            with open(path, "r+b") as file:
                file.write(old)
            self.expect(f"{path} is whole", self.ask(self.cache))
        os.rename(capture, capture + "x")
        self.expect("without a capture", self.ask(self.cache), self.ask("none"))


def main():
    parser = argparse.ArgumentParser(description="what can happen to a cache")
    parser.add_argument("--program", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--kills", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dtc-storm-") as scratch:
        storm = Storm(options, scratch)
        for happens in (storm.be_killed, storm.run_at_once, storm.fill_disk, storm.damage, storm.change):
            before = storm.bad
            happens()
            print(f"{happens.__name__}: {'good' if storm.bad == before else 'BAD'}")
    return storm.bad > 0


if __name__ == "__main__":
    sys.exit(main())
