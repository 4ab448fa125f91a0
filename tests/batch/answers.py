# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bundle of indexes answers, held against what the recordings answer: the same bytes and exit codes."""
import json
import os
import shutil
import subprocess
import tempfile

QUESTIONS = (("requests", "--limit", "0"), ("requests", "--format", "json"), ("sync", "--format", "json"), ("check",),
             ("top",), ("usage",), ("states",), ("blockings",), ("edges", "--from", "+0s", "--to", "+1s"), ("vms",))


def ask(program, *words):
    done = subprocess.run([program, *words, "--cache", "none", "--width", "120"], check=False, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def list_nodes(program, bundle):
    code, text = ask(program, "stats", bundle, "--format", "json", "--quiet")
    if code not in (0, 3):
        raise SystemExit(text.decode())
    return [node["node"] for node in json.loads(text)["nodes"]]


def compare(program, bundle, indexes):
    """Of the indexes alone, elsewhere, in a folder and in one file; how many answers differ."""
    failures = 0
    with tempfile.TemporaryDirectory(prefix="dtc-batch-") as folder:
        moved, packed = os.path.join(folder, "moved"), os.path.join(folder, "packed.dtcb")
        shutil.copytree(indexes, moved)
        subprocess.run([program, "bundle", "create", packed, moved], check=True, stdout=subprocess.DEVNULL)
        identity = json.loads(ask(program, "requests", bundle, "--format", "json")[1])["requests"][0]["id"]
        for question in (*QUESTIONS, ("analyze", "--request-id", identity)):
            wanted = ask(program, question[0], bundle, *question[1:])
            if wanted[0] not in (0, 3):
                raise SystemExit("%s: %s" % (question[0], wanted[1].decode()))
            for place in (moved, packed):
                if ask(program, question[0], place, *question[1:]) != wanted:
                    print("FAILED: %s of %s is another answer" % (" ".join(question), os.path.basename(place)))
                    failures += 1
    print("%d questions, %d answers differ" % (len(QUESTIONS) + 1, failures))
    return failures
