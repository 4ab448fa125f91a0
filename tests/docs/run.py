#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the documents. A block is
    ```console  commands after "$ ", each with the output it must print; a line "..." is any number of lines. All
                commands of a document run in one scratch folder with clusters/ in it, one after the other
    ```sh       commands for machines that a test does not have (a tracer, root): read by the shell and by shellcheck
    ```text, ```ini, ```json, ...  anything else; no line of it begins with "$ "
The examples of the man pages are run too. --bless writes what differs: read the diff like code.
usage: run.py --program FILE --source DIR [--bless] [DOCUMENT...]"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_S = 300


def matches(want, got):
    """Whether the lines fit, with "..." for any number of lines."""
    reachable = {0}
    for line in want:
        if line == "...":
            reachable = set(range(min(reachable), len(got) + 1)) if reachable else set()
        else:
            reachable = {i + 1 for i in reachable if i < len(got) and got[i] == line}
    return len(got) in reachable


def bless(want, got):
    """What is shown now: as many lines before a final "..." as there were."""
    if "..." not in want:
        return got
    shown = want.index("...")
    return got if len(got) <= shown else got[:shown] + ["..."]


class Shell:
    def __init__(self, program, source, scratch):
        self.scratch = scratch
        os.symlink(os.path.join(source, "clusters"), os.path.join(scratch, "clusters"))
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("DTC_", "LC_", "LANG", "COLUMNS", "XDG_", "G_", "NO_COLOR"))}
        self.environment.update(DTRACE_CHAIN_CACHE=os.path.join(scratch, "kept"),
                                PATH=os.path.dirname(os.path.abspath(program)) + ":" + os.environ["PATH"],
                                LC_ALL="C.UTF-8", TZ="UTC", HOME=scratch, TMPDIR=scratch)

    def run(self, command):
        try:
            done = subprocess.run(["bash", "-c", command], cwd=self.scratch, env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return ["still running after %d s" % TIMEOUT_S], -1
        return done.stdout.decode("utf-8", "replace").splitlines(), done.returncode


def split_blocks(lines):
    """[(language or None, first line number, lines)], fences excluded; text between blocks has None."""
    blocks = []
    language, start, block = None, 0, []
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            block.append(line)
            continue
        blocks.append((language, start, block))
        language = (line[3:].strip() or "") if language is None else None
        start, block = number + 1, []
    blocks.append((language, start, block))
    return blocks


def split_commands(block):
    """[(command lines, output lines)]"""
    commands = []
    for line in block:
        if line.startswith("$ "):
            commands.append(([line], []))
        elif commands and not commands[-1][1] and commands[-1][0][-1].endswith("\\"):
            commands[-1][0].append(line)
        elif commands:
            commands[-1][1].append(line)
        elif line:
            commands.append((["$ false # output before a command"], [line]))
    return commands


def check_console(name, start, block, shell):
    good, now = True, []
    for command, want in split_commands(block):
        while want and want[-1] == "":
            want.pop()
        text = "\n".join(command)[2:]
        got, code = shell.run(text)
        got = [line.rstrip() for line in got]
        if code != 0:
            print("%s:%d: exit code %d: %s\n    %s" % (name, start + 1, code, text, "\n    ".join(got[-5:])))
            good = False
        # a command that is shown without output may print what it likes
        elif want and not matches(want, got):
            print("%s:%d: other output: %s" % (name, start + 1, text))
            for line in want:
                if line != "..." and line not in got:
                    print("    shown, not printed: %s" % line)
            good = False
        now += command + (bless(want, got) if want else [])
    return good, now


def check_sh(name, start, block):
    text = "\n".join(block) + "\n"
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    problems = done.stderr
    if shutil.which("shellcheck"):
        # a line of a document is not a script: it has no "#!", and cd may fail before a reader's eyes
        done = subprocess.run(["shellcheck", "--shell=bash", "--exclude=SC2164,SC2148", "-"], input=text,
                              capture_output=True, text=True, check=False)
        problems += done.stdout
    if problems:
        print("%s:%d:\n%s" % (name, start + 1, problems))
    return not problems


def check_document(name, options):
    path = os.path.join(options.source, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    good, out, count = True, [], 0
    with tempfile.TemporaryDirectory(prefix="dtc-docs-") as scratch:
        shell = Shell(options.program, options.source, scratch)
        for language, start, block in split_blocks(text.split("\n")):
            now = block
            if language == "console":
                is_good, now = check_console(name, start, block, shell)
                good &= is_good
                count += sum(line.startswith("$ ") for line in block)
            elif language == "sh":
                good &= check_sh(name, start, block)
            elif language == "":
                print("%s:%d: a block without a language: console, sh, text, ..." % (name, start + 1))
                good = False
            elif language is not None and any(line.startswith("$ ") for line in block):
                print("%s:%d: a command that is not run: make it a console block" % (name, start + 1))
                good = False
            out += now if language is None else ["```" + language] + now + ["```"]
    if options.bless and "\n".join(out) != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out))
        print("%s: blessed" % name)
    return good, count


def check_examples(options):
    names = subprocess.run([options.program, "--help-table"], check=True, capture_output=True, text=True).stdout
    good, count = True, 0
    with tempfile.TemporaryDirectory(prefix="dtc-docs-") as scratch:
        shell = Shell(options.program, options.source, scratch)
        for name in names.split():
            table = subprocess.run([options.program, name, "--help-table"], check=True, capture_output=True, text=True)
            examples = json.loads(table.stdout)["examples"]
            good &= bool(examples)
            for example in examples:
                count += 1
                got, code = shell.run(example["command"])
                if code != 0 or not got:
                    print("example of %s: exit code %d, %d lines: %s" % (name, code, len(got), example["command"]))
                    good = False
    return good, count


def main():
    parser = argparse.ArgumentParser(description="the documents, run")
    parser.add_argument("--program", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("documents", nargs="*", metavar="DOCUMENT")
    options = parser.parse_args()
    options.source = os.path.abspath(options.source)
    options.program = os.path.abspath(options.program)
    documents = options.documents or ["examples", "README.md", "CONTRIBUTING.md", "clusters/demo/README.md"] + sorted(
        "docs/" + name for name in os.listdir(os.path.join(options.source, "docs")) if name.endswith(".md"))
    good, count = True, 0
    for name in documents:
        is_good, commands = check_examples(options) if name == "examples" else check_document(name, options)
        good &= is_good
        count += commands
    print("%d documents, %d commands run" % (len(documents), count))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
