#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A desktop's start (clusters/startx): asked for the last program's whole start-up, from startx on, the answer goes
back through its parents. 95 % of it are explained, the sleeps of the X server are named, and path, states and blockings
tell the same chain of parents.
usage: startx.py --program FILE --bundle FILE"""
import argparse
import json
import subprocess
import sys

CHAIN = ["autostart", "session", "xinit", "startx"]
SLEEPS_MS = (120, 40)  # desktop.c: probing outputs, setting a mode
BEGIN = "sched_process_exec,filename=./startx"
END = "sched_process_exit,comm=panel"


def ask(program, *arguments):
    done = subprocess.run([program, *arguments, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def name(wrong, ok, what):
    print(("ok     " if ok else "wrong  ") + what)
    return wrong + (not ok)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    options = parser.parse_args()
    report = ask(options.program, options.bundle, "--until-event", END, "--from-event", BEGIN)
    path, parents = report["path"], report["parents"]
    unknown = sum(step["end_ns"] - step["start_ns"] for step in path if step["cause"] == "unknown")
    explained = 1 - unknown / report["duration_ns"]
    wrong = name(0, report["target"]["comm"] == "panel" and report["complete"], "it is the panel's time, all of it")
    wrong = name(wrong, explained >= 0.95, f"{100 * explained:.1f} % of {report['duration_ns'] / 1e6:.1f} ms explained")
    wrong = name(wrong, [p["comm"] for p in parents] == CHAIN, " <- ".join(p["comm"] for p in parents))
    meets = all(a["start_ns"] == b["end_ns"] for a, b in zip(parents, parents[1:]))
    wrong = name(wrong, meets and parents[-1]["start_ns"] == report["start_ns"], "parents meet, back to the begin")
    for sleep in SLEEPS_MS:
        found = [step for step in path if step["comm"] == "Xorg" and step["cause"] == "timer"
                 and step["detail"] == "clock_nanosleep" and step["end_ns"] - step["start_ns"] >= sleep * 1e6]
        wrong = name(wrong, found, f"the server's sleep of {sleep} ms is on the path")
    span = ["--thread", f"desk:{report['target']['tid']}", "--from", str(report["start_ns"]), "--to",
            str(report["end_ns"])]
    scopes = ask(options.program, "states", options.bundle, *span)["scopes"]
    wrong = name(wrong, [s["comm"] for s in scopes] == ["panel"] + CHAIN and [s["parent"] for s in scopes]
                 == [False] + [True] * len(CHAIN), "states has the same chain")
    wrong = name(wrong, sum(s["total_ns"] for s in scopes) == report["duration_ns"], "whose states add up to the span")
    blockings = ask(options.program, "blockings", options.bundle, *span)
    wrong = name(wrong, [p["comm"] for p in blockings["parents"]] == CHAIN, "blockings has it, too")
    waits = {(b["comm"], b["cause"]) for b in blockings["blockings"]}
    wrong = name(wrong, ("xinit", "ipc") in waits and ("autostart", "child") in waits,
                 "xinit waits for the server's signal, autostart for its children")
    wrong = name(wrong, sum(r["total_ns"] for r in blockings["rows"]) == sum(b["end_ns"] - b["start_ns"] for b in
                                                                         blockings["blockings"]),
                 "rows sum to the blockings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
