#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates the JSON of the demo against docs/schemas, and that each schema refuses a document that breaks it.
usage: validate.py --program FILE --source DIR"""
import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)


def run(options, *arguments):
    demo = os.path.join(options.source, "clusters/demo")
    command = [options.program, *arguments, "--bundle", demo, "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=200)
    return done.stdout


def find_required(root, schema, document, path=()):
    """Each (path, key) at which the schema demands a key of an object that is in the document."""
    def resolve(inner):
        return root["$defs"][inner["$ref"].rsplit("/", 1)[1]] if "$ref" in inner else inner

    schema = resolve(schema)
    branches = [resolve(inner) for inner in schema.get("anyOf") or schema.get("oneOf") or [schema]]
    schema = next((inner for inner in branches if isinstance(document, dict) and
                   all(key in document for key in inner.get("required", ()))), branches[0])
    if isinstance(document, dict):
        for key in schema.get("required", ()):
            yield path, key
        for key, inner in schema.get("properties", {}).items():
            if key in document:
                yield from find_required(root, inner, document[key], path + (key,))
    elif isinstance(document, list) and document and "items" in schema:
        yield from find_required(root, schema["items"], document[0], path + (0,))


def cut_lists(document):
    """The same with up to three elements in each list: what is asked a hundred times shall be short."""
    if isinstance(document, dict):
        return {key: cut_lists(inner) for key, inner in document.items()}
    return [cut_lists(inner) for inner in document[:3]] if isinstance(document, list) else document


def check(options, name, document):
    with open(os.path.join(options.source, "docs/schemas", name + ".json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    errors = [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
              for error in validator.iter_errors(document)]
    # a schema that lets everything pass would pass here, too: take away each key in turn
    small = cut_lists(document)
    keys = list(find_required(schema, schema, small))
    if not validator.is_valid(small):
        errors.append("not valid with short lists")
    for path, key in keys:
        broken = copy.deepcopy(small)
        at = broken
        for part in path:
            at = at[part]
        del at[key]
        if validator.is_valid(broken):
            errors.append(f"{'/'.join(map(str, path))}: valid without '{key}'")
    print(f"{name}: {len(keys)} keys, {len(errors)} errors")
    for error in errors[:20]:
        print("  " + error)
    return not errors


def check_edges(options):
    """The first line of each kind, the head and the tail: each is a document."""
    lines = run(options, "edges", "--format", "json").splitlines()
    first = {}
    for line in lines:
        document = json.loads(line)
        evidence = [key for key, inner in document.get("evidence", {}).items() if inner is not None]
        first.setdefault((document.get("type"), document.get("kind"), *evidence), document)
    good = True
    for document in (json.loads(lines[-1]), *first.values()):
        good &= check(options, "edges-1", document)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="dtc-schemas-") as scratch:
        spans = os.path.join(scratch, "spans.json")
        report = run(options, "--request-id", "req-0069", "--format", "json", "--otlp", spans)
        good &= check(options, "report-1", json.loads(report))
        with open(spans, encoding="utf-8") as file:
            good &= check(options, "otlp", json.load(file))
    for command in ("stats", "sync", "requests", "compare", "top", "blockings", "usage", "states", "vms", "check"):
        good &= check(options, command + "-1", json.loads(run(options, command, "--format", "json")))
    for by in ("cpu", "context"):
        good &= check(options, "stats-1", json.loads(run(options, "stats", "--by", by, "--format", "json")))
    good &= check(options, "usage-1", json.loads(run(options, "usage", "--memory", "--format", "json")))
    thread = ("--thread", "backend:138", "--from", "+5s", "--to", "+6s", "--format", "json")
    threads = ("top", "--threads", "--format", "json")
    for arguments in (("blockings", *thread), ("states", "--instances", *thread), threads):
        good &= check(options, arguments[0] + "-1", json.loads(run(options, *arguments)))
    lines = run(options, "events", "--limit", "200", "--format", "json").splitlines()
    # every tenth line, the head and the tail: each is a document
    for line in (lines[0], lines[-1], *lines[1:-1:10]):
        good &= check(options, "events-1", json.loads(line))
    good &= check_edges(options)
    with tempfile.TemporaryDirectory(prefix="dtc-schemas-") as scratch:
        made = os.path.join(scratch, "bundle")
        good &= check(options, "bundle-1", json.loads(run(options, "bundle", "create", made, "--format", "json")))
        with open(os.path.join(made, "web.pcap"), "ab") as file:
            file.write(b"x")
        done = subprocess.run([options.program, "bundle", "check", made, "--format", "json"], stdout=subprocess.PIPE,
                              check=False, timeout=200)
        good &= done.returncode == 1 and check(options, "bundle-1", json.loads(done.stdout))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
