#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records three "nodes" of this machine by `dtrace-collect cluster`: network namespaces joined by a bridge, each with
an sshd of its own, and looks at what is there and what is left: all well, a recorder, an agent and a whole node killed,
cut connections, a full disk, Ctrl-C at ten moments, a killed dtrace-collect. All three have one kernel, so each records
the same. Needs root, tracefs, network namespaces and openssh-server; exits with 77 and says so without.
usage: cluster.py DTRACE-COLLECT DTRACE-CHAIN [STORY...]"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COLLECT, CHAIN = (os.path.abspath(path) for path in sys.argv[1:3])
INSTANCES = "/sys/kernel/tracing/instances"
NODES = ("n1", "n2", "n3")
HUB = "dtc-hub"
SSHD = "/usr/sbin/sshd"
MINIMAL = ("--events-set", "minimal", "--buffer", "1M")
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("  FAILED: " + what, flush=True)


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)


def inside(namespace):
    """Not `ip netns exec`, which hides tracefs behind a /sys of its own."""
    return ["nsenter", "--net=/run/netns/" + namespace]


class Lab:
    def __init__(self, folder):
        self.folder = folder
        self.place = os.path.join(folder, "place")
        self.processes = []
        self.running = None  # the dtrace-collect that is asked here
        os.mkdir(self.place)
        os.chmod(self.place, 0o1777)

    def start(self):
        self.stop()  # what a killed test has left
        self.make_network()
        self.make_keys()
        for node in NODES:
            self.start_sshd(node)
        self.environment = dict(os.environ, PATH=os.path.join(self.folder, "bin") + ":" + os.environ["PATH"],
                                DTRACE_CHAIN_CACHE="none")

    def make_network(self):
        run("ip", "netns", "add", HUB)
        run("ip", "-n", HUB, "link", "add", "bridge0", "type", "bridge")
        run("ip", "-n", HUB, "addr", "add", "10.79.0.100/24", "dev", "bridge0")
        run("ip", "-n", HUB, "link", "set", "bridge0", "up")
        run("ip", "-n", HUB, "link", "set", "lo", "up")
        for number, node in enumerate(NODES, 1):
            run("ip", "netns", "add", "dtc-" + node)
            run("ip", "link", "add", "eth0", "netns", "dtc-" + node, "type", "veth", "peer", "name", node, "netns", HUB)
            run("ip", "-n", HUB, "link", "set", node, "master", "bridge0", "up")
            run("ip", "-n", "dtc-" + node, "addr", "add", "10.79.0.%d/24" % number, "dev", "eth0")
            run("ip", "-n", "dtc-" + node, "link", "set", "eth0", "up")
            run("ip", "-n", "dtc-" + node, "link", "set", "lo", "up")

    def make_keys(self):
        for name in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(self.folder, name))
        shutil.copy(os.path.join(self.folder, "user.pub"), os.path.join(self.folder, "authorized"))
        self.write_ssh_config()
        self.write("sshd_config", "Port 22\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nUsePAM no\n"
                   "StrictModes no\nPermitRootLogin prohibit-password\nPidFile none\nMaxStartups 50\n" %
                   (self.folder, self.folder))
        os.mkdir(os.path.join(self.folder, "bin"))
        self.write("bin/ssh", "#!/bin/sh\nexec /usr/bin/ssh -F %s/ssh_config \"$@\"\n" % self.folder)
        os.chmod(os.path.join(self.folder, "bin/ssh"), 0o755)

    def write_ssh_config(self, user="root", jump=None):
        """All but the first are reached through it if it is a jump."""
        hosts = "".join("Host %s\n HostName 10.79.0.%d\n%s" %
                        (node, i, " ProxyJump %s\n" % jump if jump and node != jump else "")
                        for i, node in enumerate(NODES, 1))
        self.write("ssh_config", hosts + "Host *\n User %s\n IdentityFile %s/user\n IdentitiesOnly yes\n"
                   " UserKnownHostsFile /dev/null\n StrictHostKeyChecking no\n LogLevel ERROR\n" %
                   (user, self.folder))

    def make_user(self, node, user, rule):
        """In files that only this node's sshd sees in the place of /etc's; what runs before it so that it does."""
        lines = {"passwd": "%s:x:54321:54321::/:/bin/sh" % user, "shadow": "%s:*:19000:0:99999:7:::" % user,
                 "sudoers": "%s %s" % (user, rule)}
        mounts = ""
        for name, line in lines.items():
            path = os.path.join(self.folder, "%s.%s" % (node, name))
            shutil.copy("/etc/" + name, path)
            os.chmod(path, os.stat("/etc/" + name).st_mode & 0o777)
            with open(path, "a", encoding="ascii") as file:
                file.write(line + "\n")
            mounts += "mount --bind %s /etc/%s && " % (path, name)
        return ["unshare", "--mount", "sh", "-c", mounts + 'exec "$@"', "sh"]

    def restart_sshd(self, node, behind=()):
        getattr(self, node).kill()
        getattr(self, node).wait()
        self.start_sshd(node, behind=behind)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(text)

    def start_sshd(self, node, before=(), behind=()):
        """An sshd wants to be called by its whole path."""
        command = [*before, *inside("dtc-" + node), *behind, SSHD, "-D", "-e", "-f",
                   os.path.join(self.folder, "sshd_config")]
        with open(os.path.join(self.folder, "sshd.log"), "a", encoding="ascii") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        setattr(self, node, process)
        for _ in range(100):
            if subprocess.run([*inside(HUB), "bash", "-c", ": </dev/tcp/10.79.0.%s/22" % node[1]], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for name in (HUB, *("dtc-" + node for node in NODES)):
            pids = subprocess.run(["ip", "netns", "pids", name], check=False, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True).stdout
            for pid in pids.split():
                os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def begin(self, out, *arguments):
        nodes = () if "--nodes" in arguments else ("--nodes", ",".join(NODES))
        command = [*inside(HUB), COLLECT, "cluster", *nodes, "-o", out, "--program", COLLECT, "--place", self.place,
                   *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment, cwd=self.folder)
        self.running = process.pid
        return process

    def record(self, out, *arguments):
        return finish(self.begin(out, *arguments))

    def nodes_of(self, bundle):
        done = subprocess.run([CHAIN, "bundle", "show", bundle, "--format", "json"], check=False, cwd=self.folder,
                              stdout=subprocess.PIPE, env=self.environment)
        return [node["node"] for node in json.loads(done.stdout)["nodes"]] if done.returncode == 0 else []

    def check(self, bundle):
        return subprocess.run([CHAIN, "bundle", "check", bundle], check=False, cwd=self.folder, env=self.environment,
                              stdout=subprocess.DEVNULL).returncode == 0

    def find_left(self):
        """Instances of ours, folders, and processes that were started from these."""
        left = [path for place in ("/place/*", "/*.nodes-*", "/*.part-*") for path in glob.glob(self.folder + place)]
        left += [name for name in os.listdir(INSTANCES) if name.startswith("dtrace-collect-") and
                 name not in self.before]
        return left + ["process " + words for _, words in self.find_processes("")]

    def find_processes(self, with_words):
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    words = file.read().replace("\0", " ")
            except OSError:
                continue
            pid = int(path.split("/")[2])
            if self.place in words and "dtrace-collect" in words and with_words in words and pid != self.running:
                found.append((pid, words[:200]))
        return found

    def wait_until_clean(self, what, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self.find_left():
                return
            time.sleep(0.1)
        expect(False, "%s: left over: %s" % (what, self.find_left()))


def finish(process, seconds=120):
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        expect(False, "it did not end: " + out + err)
    return process.returncode, out, err


def wait_for_line(process, text):
    """Of its progress; the rest of it is for finish."""
    for line in process.stderr:
        if text in line:
            return True
    return False


def find_one(lab, words):
    for _ in range(100):
        found = lab.find_processes(words)
        if found:
            return found[0][0]
        time.sleep(0.05)
    expect(False, "no process with '%s'" % words)
    return None


def story_all_well(lab):
    server = subprocess.Popen([*inside("dtc-n2"), sys.executable, "-c", SERVER], stdout=subprocess.PIPE)
    server.stdout.readline()
    code, out, err = lab.record("well.dtcb", *MINIMAL, "--", *inside("dtc-n1"), sys.executable, "-c", CLIENT)
    server.kill()
    server.communicate()
    expect(code in (0, 3) and "3 of 3 nodes" in out, "all are recorded: %d %s%s" % (code, out, err))
    expect(lab.nodes_of("well.dtcb") == list(NODES) and lab.check("well.dtcb"), "all are in the bundle, intact")
    done = subprocess.run([CHAIN, "requests", "well.dtcb", "--format", "json"], check=False, cwd=lab.folder,
                          stdout=subprocess.PIPE, env=lab.environment)
    ids = {row["id"] for row in json.loads(done.stdout)["requests"]} if done.stdout else set()
    expect(len([one for one in ids if one and one.startswith("cluster-")]) == 20, "its requests are found: %s" % ids)
    lab.wait_until_clean("all well")


def story_redacted(lab):
    """All nodes redact by one key: a request is one on both of its nodes, also where a recorder was killed."""
    server = subprocess.Popen([*inside("dtc-n2"), sys.executable, "-c", SERVER], stdout=subprocess.PIPE)
    server.stdout.readline()
    process = lab.begin("public.dtcb", *MINIMAL, "--redact", "payload,addresses,names")
    expect(wait_for_line(process, "recording on 3 of 3"), "all record")
    run(*inside("dtc-n1"), sys.executable, "-c", CLIENT)
    os.kill(find_one(lab, "/n3 "), signal.SIGKILL)  # what it had is sealed, and redacted, by its agent
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    server.kill()
    server.communicate()
    expect(code in (0, 3) and "3 of 3 nodes" in out, "all are packed: %d %s%s" % (code, out, err))
    with open(os.path.join(lab.folder, "public.dtcb"), "rb") as file:
        data = file.read()  # it is not compressed
    secrets = (b"cluster-1", b"redact.key", b"10.79.0.", bytes((10, 79, 0, 1)), bytes((10, 79, 0, 2)))
    left = [secret for secret in secrets if secret in data]
    expect(not left, "nothing is left: %s" % left)
    rows = ask(lab, "requests", "public.dtcb", "--limit", "0").get("requests", ())
    ids = [row["id"] for row in rows if row["id"]]
    expect(len(set(ids)) == 20, "its requests are found: %s" % ids)
    # each node's trace is this machine's, so that a hop may be between any; messages are of two captures
    hops = ask(lab, "analyze", "public.dtcb", "--request-id", ids[7]).get("hops", ()) if ids else ()
    expect([hop["server"]["link"] for hop in hops] == ["exact"], "and answered: %s" % (hops,))
    pairs = {(pair["a"], pair["b"]): pair for pair in ask(lab, "sync", "public.dtcb").get("pairs", ())}
    expect(pairs.get(("n1", "n2"), {}).get("messages_ab", 0) > 20, "addresses agree: %s" % (pairs,))
    lab.wait_until_clean("redacted")


def story_refused(lab):
    for arguments, words in ((("--redact", ""), "--redact names nothing"), (("--guest", "n1=vm"), "--guests"),
                             (("--guests", "--guest", "n9=vm"), "names no node"),
                             (("--guests", "--guest", "n1=vm", "--redact", "names"), "--redact names")):
        code, out, err = lab.record("refused.dtcb", *MINIMAL, *arguments)
        expect(code == 2 and words in err and "hint: " in err, "%s: %d %s%s" % (arguments, code, out, err))
        expect(not os.path.exists(os.path.join(lab.folder, "refused.dtcb")), "nothing is written")


def story_flight(lab):
    """A slow response at one node ends all, and the seconds before are there from all of them."""
    server = subprocess.Popen([*inside("dtc-n2"), sys.executable, "-c", SERVER], stdout=subprocess.PIPE)
    server.stdout.readline()
    process = lab.begin("flight.dtcb", *MINIMAL, "--flight", "5s", "--until-slow", "250ms:8080")
    expect(wait_for_line(process, "recording on 3 of 3"), "all are in flight")
    time.sleep(1)
    run(*inside("dtc-n1"), sys.executable, "-c", CLIENT.replace("'/',", "'/slow' if i == 15 else '/',"))
    code, out, err = finish(process)
    server.kill()
    server.communicate()
    expect(code in (0, 3) and "3 of 3 nodes" in out and "trigger:" in out, "a node's trigger ends all: %d %s%s" %
           (code, out, err))
    done = subprocess.run([CHAIN, "analyze", "flight.dtcb", "--nodes", "n1,n2", "--request-id", "cluster-15",
                           "--format", "json"], check=False, cwd=lab.folder, capture_output=True, text=True,
                          env=lab.environment)
    parts = json.loads(done.stdout)["breakdown"] if done.stdout else []
    asleep, unknown = (sum(part["ns"] for part in parts if part["cause"] == cause) for cause in ("timer", "unknown"))
    # while a buffer grows, which can be just then, the kernel records nothing, and that much is to be unknown
    expect(asleep > 150e6 and asleep + unknown > 250e6, "the slow request is there, and its sleep: %s %s recorded as %s"
           % ([(part["cause"], part["ns"]) for part in parts], done.stderr, out))
    bounds = list_bounds(lab, "flight.dtcb")
    # each node has sampled by itself which time of day its clock's zero is
    expect(bounds and all(-1e6 < lo and hi < 1e6 for lo, hi in bounds), "clocks of one machine are one: %s" % bounds)
    lab.wait_until_clean("flight")


def ask(lab, *words):
    done = subprocess.run([CHAIN, *words, "--format", "json"], check=False, cwd=lab.folder, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=lab.environment)
    return json.loads(done.stdout) if done.stdout else {}


def list_bounds(lab, bundle):
    """Of n2's clock on n1's, certified: how far it is off at the least and at the most."""
    for node in ask(lab, "sync", bundle, "--reference", "n1").get("nodes", ()):
        if node["node"] == "n2" and len(node["knots"]) > 1:
            return [(knot["lo_ns"] - knot["node_ns"], knot["hi_ns"] - knot["node_ns"]) for knot in node["knots"]]
    return []


def story_probes(lab):
    """Two nodes that say nothing to each other: probes tell that their clocks are one. Each sees its own namespace."""
    own = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    for node in ("n1", "n2"):
        lab.restart_sshd(node, own)
    common = ("--nodes", "n1,n2", *MINIMAL, "--for", "3s", "--filter", "udp port 9")
    for name, more in (("probes", ()), ("headers", ("--headers-only",)), ("none", ("--no-probes",))):
        code, out, err = lab.record(name + ".dtcb", *common, *more)
        expect("2 of 2 nodes" in out, "both are recorded: %d %s%s" % (code, out, err))
        bounds = list_bounds(lab, name + ".dtcb")
        ports = [node["probe_port"] for node in ask(lab, "bundle", "show", name + ".dtcb")["nodes"]]
        if name == "none":
            expect(not bounds and ports == [None, None], "nothing is known without probes: %s %s" % (bounds, ports))
            continue
        expect(bounds and all(lo <= 0 <= hi and hi - lo < 20e6 for lo, hi in bounds), "bounds hold: %s" % bounds)
        expect(all(ports), "their ports are told: %s" % ports)
        expect(not ask(lab, "requests", name + ".dtcb").get("requests"), "they are no requests")
        edges = ask(lab, "usage", name + ".dtcb")["edges"]
        expect(not [edge for edge in edges if edge["channel"] == "udp"], "nobody serves with them: %s" % edges)
    for node in ("n1", "n2"):
        lab.restart_sshd(node)
    lab.wait_until_clean("probes")


def story_user(lab):
    """Logins that are not root's, through the first node: sudo asks them for nothing, or refuses."""
    if not shutil.which("sudo"):
        print("  skipped: there is no sudo")
        return
    lab.write_ssh_config("dtc-user", jump="n1")  # ssh gives its -F on to the ssh of a jump
    for node, rule in zip(NODES, ("ALL=(ALL) NOPASSWD: ALL", "ALL=(ALL) NOPASSWD: ALL", "ALL=(ALL) ALL")):
        lab.restart_sshd(node, lab.make_user(node, "dtc-user", rule))
    code, out, err = lab.record("user.dtcb", *MINIMAL, "--for", "1s")
    expect(code == 3 and "2 of 3 nodes" in out, "two are recorded: %d %s%s" % (code, out, err))
    expect("node 'n3' cannot be recorded: " in err and "run it as root" in err, "why not n3: " + out + err)
    expect(lab.nodes_of("user.dtcb") == ["n1", "n2"] and lab.check("user.dtcb"), "two are in the bundle, intact")
    lab.wait_until_clean("user")
    code, out, err = lab.record("must.dtcb", *MINIMAL, "--for", "1s", "--sudo", "--nodes", "n3")
    expect(code == 1 and "sudo" in err, "with --sudo it says so: %d %s%s" % (code, out, err))
    expect(not os.path.exists(os.path.join(lab.folder, "must.dtcb")), "nothing is written")
    lab.write_ssh_config()
    for node in NODES:
        lab.restart_sshd(node)
    lab.wait_until_clean("user refused")


def story_recorder_killed(lab):
    process = lab.begin("recorder.dtcb", *MINIMAL, "--for", "3s")
    expect(wait_for_line(process, "recording on 3 of 3"), "all record")
    time.sleep(1)
    os.kill(find_one(lab, "/n2 "), signal.SIGKILL)
    code, out, err = finish(process)
    expect(code == 3 and "n2: the recorder was ended by signal 9" in out, "it is told: %d %s%s" % (code, out, err))
    expect(lab.nodes_of("recorder.dtcb") == list(NODES) and lab.check("recorder.dtcb"), "what it had is there")
    lab.wait_until_clean("recorder killed")


def story_agent_killed(lab):
    process = lab.begin("agent.dtcb", *MINIMAL, "--for", "3s")
    expect(wait_for_line(process, "recording on 3 of 3"), "all record")
    time.sleep(1)
    with open("/proc/%d/stat" % find_one(lab, "/n2 "), encoding="ascii") as file:
        os.kill(int(file.read().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
    code, out, err = finish(process)
    expect(code == 3, "it is told: %d %s%s" % (code, out, err))
    expect(lab.nodes_of("agent.dtcb") == list(NODES) and lab.check("agent.dtcb"), "what it had is there: " + out + err)
    lab.wait_until_clean("agent killed")


def list_sessions(lab, node):
    """sshd's processes in the node's namespace but the one that listens."""
    pids = subprocess.run(["ip", "netns", "pids", "dtc-" + node], check=True, stdout=subprocess.PIPE, text=True).stdout
    for pid in pids.split():
        try:
            with open("/proc/%s/comm" % pid, encoding="ascii") as file:
                if file.read().strip() == "sshd" and int(pid) != getattr(lab, node).pid:
                    yield int(pid)
        except OSError:
            pass


def story_connection_cut(lab):
    for moment in (0.5, 2.05, 2.3):
        out_name = "cut-%s.dtcb" % moment
        process = lab.begin(out_name, *MINIMAL, "--for", "2s")
        expect(wait_for_line(process, "recording on 3 of 3"), "all record")
        time.sleep(moment)
        for pid in list(list_sessions(lab, "n2")):
            os.kill(pid, signal.SIGKILL)
        code, out, err = finish(process)
        expect(code in (0, 3) and "3 of 3 nodes" in out, "cut at %s: %d %s%s" % (moment, code, out, err))
        expect(lab.nodes_of(out_name) == list(NODES) and lab.check(out_name), "what it had came over another one")
        lab.wait_until_clean("connection cut at %s" % moment, 20)


def story_node_dead(lab):
    process = lab.begin("dead.dtcb", *MINIMAL, "--for", "2s")
    expect(wait_for_line(process, "recording on 3 of 3"), "all record")
    time.sleep(1)
    lab.n2.kill()
    lab.n2.wait()
    subprocess.run(["sh", "-c", "ip netns pids dtc-n2 | xargs -r kill -9"], check=False)
    code, out, err = finish(process)
    expect(code == 3 and "node 'n2'" in err and "hint:" in err, "it is named: %d %s%s" % (code, out, err))
    expect(lab.nodes_of("dead.dtcb") == ["n1", "n3"] and lab.check("dead.dtcb"), "the others are there: " + out)
    for folder in glob.glob(lab.place + "/*"):
        shutil.rmtree(folder)  # the dead node's own
    lab.start_sshd("n2")
    code, out, err = lab.record("after.dtcb", *MINIMAL, "--for", "500ms")
    expect("3 of 3 nodes" in out, "the next one records all: " + out + err)
    lab.wait_until_clean("node dead, and the next run")


def story_not_there(lab):
    lab.n3.kill()
    lab.n3.wait()
    code, out, err = lab.record("two.dtcb", *MINIMAL, "--for", "500ms")
    expect(code == 3 and "node 'n3' cannot be reached" in err and "hint:" in err, "it is named: %d %s" % (code, err))
    expect(lab.nodes_of("two.dtcb") == ["n1", "n2"], "the others are there: " + out)
    lab.start_sshd("n3")
    lab.wait_until_clean("not there")


def story_disk_full(lab):
    lab.n3.kill()
    lab.n3.wait()
    lab.start_sshd("n3", ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=150M none " + lab.place +
                          "; exec \"$@\"", "sh"])
    process = lab.begin("full.dtcb", "--events-set", "full", "--for", "8s")
    flood = subprocess.Popen([sys.executable, "-c", "import os\nwhile True: os.getppid()"])
    code, out, err = finish(process)
    flood.kill()
    flood.wait()
    expect(code == 3 and "n3: stopped early" in out + err, "it is told: %d %s%s" % (code, out, err))
    expect(lab.nodes_of("full.dtcb") == list(NODES) and lab.check("full.dtcb"), "all are there")
    lab.n3.kill()
    lab.n3.wait()
    lab.start_sshd("n3")
    lab.wait_until_clean("disk full")


def story_interrupted(lab):
    for moment in (0.02, 0.1, 0.25, 0.5, 0.8, 1.2, 1.7, 2.2, 2.6, 3.0):
        out_name = "interrupted-%s.dtcb" % moment
        process = lab.begin(out_name, *MINIMAL, "--for", "1500ms")
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        code, out, err = finish(process)
        code = 130 if code == -signal.SIGINT else code  # before it could say so itself
        expect(code in (0, 3, 130), "Ctrl-C after %s: %d %s%s" % (moment, code, out, err))
        expect((code == 130) != os.path.exists(os.path.join(lab.folder, out_name)), "a bundle, or nothing: %d" % code)
        lab.wait_until_clean("Ctrl-C after %s" % moment)


def story_told_to_end(lab):
    """What a service manager and a lost terminal send: all is packed, also if the second comes twice."""
    for number, times in ((signal.SIGTERM, 1), (signal.SIGHUP, 2)):
        out_name = "told-%d.dtcb" % number
        process = lab.begin(out_name, *MINIMAL)
        expect(wait_for_line(process, "recording on 3 of 3"), "all record")
        for _ in range(times):
            time.sleep(0.3)
            process.send_signal(number)
        code, out, err = finish(process)
        expect(code in (0, 3) and "3 of 3 nodes" in out, "signal %d: %d %s%s" % (number, code, out, err))
        expect(lab.nodes_of(out_name) == list(NODES) and lab.check(out_name), "all are in the bundle")
        lab.wait_until_clean("signal %d" % number)


def story_killed(lab):
    process = lab.begin("killed.dtcb", *MINIMAL)
    expect(wait_for_line(process, "recording on 3 of 3"), "all record")
    time.sleep(1)
    process.kill()
    finish(process)
    end = time.monotonic() + 10
    while time.monotonic() < end and (lab.find_processes(" record ") or set(os.listdir(INSTANCES)) - lab.before):
        time.sleep(0.1)
    expect(not lab.find_processes(" record "), "nobody records any more")
    for folder in glob.glob(lab.folder + "/*.nodes-*"):
        shutil.rmtree(folder)
    lab.wait_until_clean("killed", 90)


SERVER = """
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        time.sleep(0.3 if self.path == '/slow' else 0)
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(('10.79.0.2', 8080), Handler)
print('ready', flush=True)
server.serve_forever()
"""
CLIENT = """
import http.client, time
time.sleep(0.3)
connection = http.client.HTTPConnection('10.79.0.2', 8080)
for i in range(20):
    connection.request('GET', '/', headers={'X-Request-Id': 'cluster-%d' % i})
    connection.getresponse().read()
time.sleep(0.2)
"""


def find_reason():
    if os.geteuid() != 0 or not os.access(INSTANCES, os.W_OK):
        return "it takes root and tracefs (%s) to record this machine" % INSTANCES
    for program in (SSHD, "/usr/bin/ssh", "/usr/bin/ssh-keygen"):
        if not os.path.exists(program):
            return "there is no %s (Debian: openssh-server)" % program
    if not shutil.which("nsenter") or not shutil.which("ip") or \
            subprocess.run(["unshare", "-n", "true"], check=False).returncode != 0:
        return "no network namespaces here"
    if subprocess.run([COLLECT, "check"], capture_output=True, check=False).returncode != 0:
        return "dtrace-collect check says that this machine cannot be recorded"
    return None


def main():
    reason = find_reason()
    if reason:
        print("skipped: " + reason)
        return 77
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        lab = Lab(folder)
        lab.before = set(os.listdir(INSTANCES))
        try:
            lab.start()
            for name, story in [one for one in globals().items() if one[0].startswith("story_")]:
                if not sys.argv[3:] or name[len("story_"):] in sys.argv[3:]:
                    print(name[len("story_"):], flush=True)
                    story(lab)
        finally:
            lab.stop()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
