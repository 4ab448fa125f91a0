# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds answers against what the programs of the pods wrote down themselves."""
import subprocess

import pods  # first: it says where the others are

import judge

SLOW_SHARE = 0.7
# who asks whom, in the order of a request: (client, server)
HOPS = [("client", "web"), ("web", "webwork"), ("web", "app"), ("app", "appwork"), ("app", "box"), ("box", "store")]


def find_node(program, nodes):
    namespace = "client" if program == "client" else pods.PROGRAMS[program][0]
    return next(name for name, cpu in nodes.items() if cpu == pods.NAMESPACES[namespace])


def judge_sums(verdict, truth, answers, nodes, complain):
    """The one who slept has the time, as time of a timer, on its node."""
    told = asked = 0
    for answer in answers:
        one = truth.get(answer["id"])
        slept_ns = one["served"][one["slow"]]["slept_ns"] if one and one["slow"] != "nobody" else 0
        if not slept_ns:
            continue
        asked += 1
        ns = sum(row["ns"] for row in answer["breakdown"]
                 if row["cause"] == "timer" and row["process"] == one["slow"]
                 and (not nodes or row["node"] == find_node(one["slow"], nodes)))
        told += ns >= SLOW_SHARE * slept_ns
        if ns < SLOW_SHARE * slept_ns:
            complain(f"{answer['id']}: {ns / 1e6:.3f} of {slept_ns / 1e6:.3f} ms are {one['slow']}'s timer")
    verdict.add("slow requests: who slept has the time", f"{told} of {asked}", "all", told == asked > 0)


def find_hops(answer, one, nodes):
    """(hops that are there, exact, by the right threads on the right nodes) of a request."""
    found = {}
    for hop in answer["hops"]:
        found.setdefault((hop["client"]["comm"], hop["server"]["comm"]), []).append(hop)
    there = [found[pair][0] for pair in HOPS if len(found.get(pair, ())) == 1]
    exact = sum(hop["link"] == hop["client"]["link"] == hop["server"]["link"] == "exact" for hop in there)
    right = 0
    for hop in there:
        server = one["served"][hop["server"]["comm"]]
        right += (hop["server"]["tid"] == server["tid"]
                  and (not nodes or (hop["client"]["node"] == find_node(hop["client"]["comm"], nodes)
                                     and hop["server"]["node"] == find_node(hop["server"]["comm"], nodes))))
    return len(there), exact, right, len(answer["hops"])


def find_strangers(answer, one):
    """Programs that have time on the path and never had the request: none but the kernel, which hands packets on."""
    names = {row["process"] for row in answer["breakdown"] if row["ns"] and row["process"]}
    return sorted(name for name in names if name not in one["served"] and name not in ("client", "kernel"))


def judge_hops(verdict, program, bundle, truth, nodes, complain):
    there = exact = right = listed = kernel_ns = total_ns = 0
    strangers = []
    for name, one in truth.items():
        answer = judge.ask(program, "analyze", bundle, "--request-id", name)
        counts = find_hops(answer, one, nodes)
        there, exact, right = there + counts[0], exact + counts[1], right + counts[2]
        listed += counts[3]
        if counts != (len(HOPS),) * 4:
            complain(f"{name}: {counts[0]} hops of {counts[3]} listed, {counts[1]} exact, {counts[2]} right")
        strange = find_strangers(answer, one)
        strangers += [name] if strange else []
        if strange:
            complain(f"{name}: {', '.join(strange)} on its path")
        kernel_ns += sum(row["ns"] for row in answer["breakdown"] if row["detail"] == "the kernel answers a packet")
        total_ns += answer["duration_ns"]
    wanted = len(truth) * len(HOPS)
    verdict.add("hops found", f"{there} of {wanted}, {listed} listed", "all, no other", there == wanted == listed)
    verdict.add("hops exact", f"{exact} of {there}", "all", exact == wanted)
    verdict.add("by the right threads, on the right nodes", f"{right} of {there}", "all", right == wanted)
    verdict.add("requests with strangers on their path", f"{len(strangers)}", "0", not strangers)
    verdict.add("time of kernels that answer", f"{kernel_ns / total_ns:.1%}", "5%", kernel_ns <= 0.05 * total_ns)


def judge_all_requests(verdict, program, bundle, truth, nodes, complain):
    answers = judge.ask(program, "requests", bundle)
    judge.judge_requests(verdict, [dict(one, id=name) for name, one in truth.items()], answers, bool(nodes), complain)
    judge_sums(verdict, truth, answers["requests"], nodes, complain)
    others = answers["summary"]["count"] + answers["summary"]["skipped"] - len(truth)
    # a bridge shows answers half translated, while their questions pass it under other addresses
    verdict.add("answers without a question", f"{others}", "0", others == 0)
    missing = [one for one in answers["findings"] if "the capture lacks" in str(one)]
    verdict.add("captures are said to lack bytes", f"{len(missing)} times", "0", not missing)


def judge_check(verdict, program, bundle, exits):
    done = subprocess.run([program, "check", bundle], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    is_well = any(line.startswith("all ") for line in done.stdout.splitlines())
    verdict.add("dtrace-chain check", f"{'OK' if is_well else 'not OK'}, exit {done.returncode}",
                "exit " + " or ".join(map(str, exits)), is_well and done.returncode in exits)


def judge_bundle(program, bundle, truth, nodes, is_verbose):
    """nodes: {name: CPU}; None: all is one node."""
    verdict = judge.Verdict()
    complaints = []
    judge_all_requests(verdict, program, bundle, truth, nodes, complaints.append)
    judge_hops(verdict, program, bundle, truth, nodes, complaints.append)
    # half a machine names CPUs that it does not have
    judge_check(verdict, program, bundle, (0, 3) if nodes else (0,))
    verdict.print("two hosts, split by CPU" if nodes else "one node: the whole machine")
    if complaints and (is_verbose or not verdict.is_good()):
        print("\n".join(complaints[:20]))
    return verdict.is_good()
