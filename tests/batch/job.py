#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs what the pods of clusters/kubernetes/index-job.yaml run, each with its number, in this machine's folders, and
holds the answers of the indexes against those of the recordings. Whether the manifest is one: tests/docs/manifest.py.
usage: job.py MANIFEST DTRACE-CHAIN BUNDLE"""
import os
import subprocess
import sys
import tempfile

from answers import compare, list_nodes

try:
    import yaml
except ImportError as error:
    print(f"skipped: {error} (Debian 12: apt-get install python3-yaml)")
    sys.exit(77)


def run_pod(container, number, places):
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert variables.keys() == places.keys(), variables
    path = os.path.dirname(os.path.abspath(sys.argv[2])) + ":" + os.environ["PATH"]
    environment = {**os.environ, **places, "PATH": path, "JOB_COMPLETION_INDEX": str(number)}
    return subprocess.run(container["command"], check=False, env=environment, stdout=subprocess.DEVNULL).returncode


def main():
    manifest, program, bundle = sys.argv[1:]
    with open(manifest, encoding="utf-8") as file:
        spec = yaml.safe_load(file)["spec"]
    container = spec["template"]["spec"]["containers"][0]
    nodes = list_nodes(program, bundle)
    assert spec["completions"] == len(nodes), "the manifest is for so many nodes: %s" % nodes
    with tempfile.TemporaryDirectory(prefix="dtc-job-") as folder:
        places = {"BUNDLE": os.path.abspath(bundle), "NODES": folder + "/nodes", "INDEXES": folder + "/indexes"}
        os.mkdir(places["INDEXES"])
        with open(places["NODES"], "w", encoding="utf-8") as file:
            file.write("\n".join(nodes))
        codes = [run_pod(container, number, places) for number in range(len(nodes))]
        assert codes == [0] * len(nodes), codes
        assert run_pod(container, 0, places) == 0, "a pod that is started twice is done"
        other = os.path.join(places["INDEXES"], nodes[0], "kernel.dtci")
        with open(other, "rb+") as file:
            end = file.seek(0, os.SEEK_END)
            file.write(b"!")
        assert run_pod(container, 0, places) != 0, "what is another index is not overwritten"
        assert os.path.getsize(other) == end + 1
        os.truncate(other, end)
        assert sorted(os.listdir(places["INDEXES"])) == sorted(nodes), os.listdir(places["INDEXES"])
        return 1 if compare(program, bundle, places["INDEXES"]) else 0


if __name__ == "__main__":
    sys.exit(main())
