#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bundle redacted, as a folder and packed: the same answers but for names and addresses, nothing of the original left
in it or anywhere else, two with one key agree, and what is not understood is refused.
usage: story.py --program FILE --bundle DIR [--requests N]"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import leftovers  # noqa: E402
from shape import Shape  # noqa: E402

COMMANDS = (["stats"], ["sync"], ["top"], ["usage"], ["check"], ["blockings"])


class Story:
    def __init__(self, arguments, folder):
        self.program = os.path.abspath(arguments.program)
        self.bundle = os.path.abspath(arguments.bundle)
        self.folder = folder
        self.temporary = os.path.join(folder, "tmp")
        os.mkdir(self.temporary)
        self.kernel = min(root for root, _, names in os.walk(self.bundle) if "metadata" in names)
        self.capture = min(os.path.join(self.bundle, n) for n in os.listdir(self.bundle) if n.endswith(".pcap"))

    def run(self, *words, code=(0, 3)):
        environment = dict(os.environ, DTRACE_CHAIN_CACHE="none", TMPDIR=self.temporary)
        done = subprocess.run([self.program, *words], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode in code, f"{words}: {done.returncode}\n{done.stderr}"
        return done

    def ask(self, *words):
        return json.loads(self.run(*words, "--format", "json").stdout)

    def path(self, name):
        return os.path.join(self.folder, name)


def compare(story, redacted, count):
    shape = Shape()
    before = story.ask("requests", story.bundle, "--limit", "0")
    after = story.ask("requests", redacted, "--limit", "0")
    shape.compare(before, after, "requests")
    for command in COMMANDS:
        shape.compare(story.ask(*command, story.bundle), story.ask(*command, redacted), " ".join(command))
    pairs = [(a["id"], b["id"]) for a, b in zip(before["requests"], after["requests"]) if a["id"]]
    for a, b in pairs[:: max(1, len(pairs) // count)]:
        shape.compare(story.ask(story.bundle, "--request-id", a), story.ask(redacted, "--request-id", b), a)
    assert not shape.problems, "\n".join(shape.problems)
    assert pairs, "no request has an id"
    return shape, pairs


def check_told(story, key, pairs):
    """--tell says what an id became, and that is asked for."""
    wanted = pairs[0][0]
    told = story.run("bundle", "redact", story.path("told.dtcb"), story.bundle, "--redact-key", key, "--tell", wanted)
    assert f"'{wanted}' is '{pairs[0][1]}' in it" in told.stdout, told.stdout
    # a node, a network card, what the kernel calls its own
    card = next(leftovers.list_pcap_payload(story.capture))[6:12]
    node = os.path.basename(story.capture)[: -len(".pcap")]
    texts = [node, card.hex(":"), "swapper/0"]
    told = story.run("bundle", "redact", story.path("told"), story.bundle, "--redact-key", key,
                     *[w for text in texts for w in ("--tell", text)])
    became = dict(re.findall(r"'([^']*)' is '([^']*)' in it", told.stdout))
    assert list(became) == texts and became["swapper/0"] == "swapper/0", became
    capture = story.path(os.path.join("told", became[node] + ".pcap"))
    assert next(leftovers.list_pcap_payload(capture))[6:12].hex(":") == became[card.hex(":")] != card.hex(":"), became


def check_parts(story, key, original):
    """Payload goes with everything; names stay where only addresses go."""
    out = story.path("addresses")
    story.run("bundle", "redact", out, story.bundle, "--redact", "addresses", "--redact-key", key)
    faults = [f for f in leftovers.find(original, out) if " in text" in f or " in binary" in f]
    assert not faults, "\n".join(faults)
    assert sorted(os.listdir(out)) != [], out
    nodes = {n["node"] for n in story.ask("stats", out)["nodes"]}
    assert nodes == {n["node"] for n in story.ask("stats", story.bundle)["nodes"]}, nodes
    # names of machines and files may be addresses
    named = story.path("named")
    machine = os.path.join(named, "10.77.130.218")
    shutil.copytree(story.kernel, os.path.join(machine, "kernel"))
    shutil.copy(story.capture, os.path.join(machine, "to-10.77.130.217.pcap"))
    shutil.copy(story.capture, os.path.join(named, "ip-10-77-130-217.pcap"))
    out = story.path("renamed")
    story.run("bundle", "redact", out, named, "--redact", "addresses", "--redact-key", key)
    files = [os.path.relpath(os.path.join(root, n), out) for root, _, names in os.walk(out) for n in names]
    assert len([f for f in files if f.endswith(".pcap")]) == 2 and not [f for f in files if "77" in f], files


def check_refusals(story, key):
    broken = story.path("broken")
    shutil.copytree(story.kernel, os.path.join(broken, "node", "kernel"))
    with open(os.path.join(broken, "node", "kernel", "metadata"), "w", encoding="ascii") as file:
        file.write("/* CTF 1.8 */ trace { major = 1; unheard of };")
    done = story.run("bundle", "redact", story.path("none"), broken, code=(1,))
    assert "cannot redact the trace of node 'node'" in done.stderr and "hint: " in done.stderr, done.stderr
    index = story.path("index")
    story.run("index", story.bundle, "--index-only", index)
    done = story.run("bundle", "redact", story.path("none"), index, code=(1,))
    assert "is what was read of its recording" in done.stderr, done.stderr
    done = story.run("bundle", "redact", story.path("none"), story.bundle, "--redact", "adresses", code=(2,))
    assert "did you mean 'addresses'" in done.stderr, done.stderr
    done = story.run("bundle", "redact", story.path("none"), story.bundle, "--redact-key", key + "x", code=(1, 2))
    assert "head -c 32 /dev/urandom" in done.stderr, done.stderr
    done = story.run("bundle", "redact", story.path("none"), story.bundle, "--redact", "", code=(2,))
    assert "nothing is named that is to be redacted" in done.stderr, done.stderr
    for option in ("--redact=payload", "--redact-key=" + key, "--id-header=x-id", "--tell=req-0069"):
        done = story.run("bundle", "create", story.path("none"), story.bundle, option, code=(2,))
        assert f"{option.split('=')[0]} goes with bundle redact" in done.stderr, done.stderr
    assert not os.path.exists(story.path("none"))


def check_links(story):
    """What lies elsewhere is redacted only for who asks for it: also a file of a trace."""
    linked, outside = story.path("linked"), story.path("outside")
    kernel = os.path.join(linked, "node", "kernel")
    shutil.copytree(story.kernel, kernel)
    stream = sorted(n for n in os.listdir(kernel) if os.path.isfile(os.path.join(kernel, n)) and n != "metadata")[0]
    shutil.move(os.path.join(kernel, stream), outside)
    os.symlink(outside, os.path.join(kernel, stream))
    done = story.run("bundle", "redact", story.path("none"), linked, code=(2,))
    assert "leads out of the bundle" in done.stderr and not os.path.exists(story.path("none")), done.stderr
    story.run("bundle", "redact", story.path("followed"), linked, "--dereference")
    os.replace(outside, os.path.join(kernel, stream))
    with open(outside, "w", encoding="ascii") as file:
        file.write("[machine]\nhostname=somewhere-else\n")
    os.symlink(outside, os.path.join(linked, "node", "environment"))
    done = story.run("bundle", "redact", story.path("none"), linked, code=(2,))
    assert "environment' leads out of the bundle" in done.stderr, done.stderr


def tell(story, count):
    key = story.path("key")
    with open(key, "wb") as file:
        file.write(b"a key that is the same in each run of the test")
    folder, packed = story.path("redacted"), story.path("redacted.dtcb")
    story.run("bundle", "redact", folder, story.bundle, "--redact-key", key)
    # the packed one is made of the packed one
    story.run("bundle", "create", story.path("original.dtcb"), story.bundle)
    story.run("bundle", "redact", packed, story.path("original.dtcb"), "--redact-key", key)
    original = leftovers.Original(story.bundle)
    assert len(original.words) > 20 and len(original.addresses) > 1, (len(original.words), original.addresses)
    for bundle in (folder, packed):
        faults = leftovers.find(original, bundle)
        assert not faults, f"left in {bundle}:\n" + "\n".join(faults[:40])
    assert not os.listdir(story.temporary), os.listdir(story.temporary)
    _, pairs = compare(story, folder, count)
    assert story.ask("requests", folder, "--limit", "0") == story.ask("requests", packed, "--limit", "0")
    story.run("bundle", "check", packed, code=(0,))
    story.run("bundle", "redact", story.path("drawn"), story.bundle)
    drawn = story.ask("requests", story.path("drawn"), "--limit", "0")["requests"]
    assert drawn[0]["id"] != pairs[0][1], "two keys give the same id"
    check_told(story, key, pairs)
    check_parts(story, key, original)
    check_refusals(story, key)
    check_links(story)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--requests", type=int, default=12)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tell(Story(arguments, folder), arguments.requests)
    print("redacted: the same answers, and nothing left")


main()
