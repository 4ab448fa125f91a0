#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flight recorder on this machine: a slow request among 2,000 fast ones, a line in a log, one recording after the
other, and memory that does not grow. Needs root and tracefs; exits with 77 and says so without.
usage: flight.py DTRACE-COLLECT DTRACE-CHAIN [STORY...]"""
import errno
import fcntl
import http.client
import http.server
import json
import os
import re
import select
import shutil
import signal
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time

COLLECT, CHAIN = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
INSTANCES = "/sys/kernel/tracing/instances"
SLOW_S = 0.3
NOBODY = 65534
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454ca, 1, 0x1000  # linux/if_tun.h
TUNNELS, FAR = ("dtc-tun0", "dtc-tun1"), "dtc-far"
failures = []
started = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("  FAILED: " + what)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        if self.path == "/slow":
            time.sleep(SLOW_S)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *arguments):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def ask(port, count, slow, prefix):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for i in range(count):
        path = "/slow" if i == slow else "/fast"
        connection.request("GET", path, headers={"X-Request-Id": "%s-%d" % (prefix, i)})
        connection.getresponse().read()
        time.sleep(0.001)
    connection.close()


def start(*arguments, **variables):
    process = subprocess.Popen([COLLECT, "record", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, **variables})
    started.append(process.pid)
    return process


def finish(process, wait=90):
    try:
        out, err = process.communicate(timeout=wait)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        expect(False, "it did not end by itself: " + out + err)
    return process.returncode, out, err


def list_instances(pid):
    """Named by the PID namespace, the pid, and when that began."""
    return [name for name in os.listdir(INSTANCES) if re.match(r"dtrace-collect-\d+-%d-" % pid, name)]


def is_tracing(instance):
    """An instance that made a trial is removed between the list and the look."""
    try:
        with open(os.path.join(INSTANCES, instance, "tracing_on"), encoding="ascii") as file:
            return file.read().strip() == "1"
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENODEV):
            raise
        return False


def wait_until_flying(process):
    """Events are on once the instance says so; a walk is made then."""
    for _ in range(300):
        if any(is_tracing(name) for name in list_instances(process.pid)):
            time.sleep(0.5)
            return
        time.sleep(0.1)
    expect(False, "it never began")


def ask_chain(*arguments):
    done = subprocess.run([CHAIN, *arguments, "--cache", "none"], capture_output=True, text=True, timeout=120)
    expect(done.returncode in (0, 3), "dtrace-chain %s: %d %s" % (" ".join(arguments), done.returncode, done.stderr))
    return done.stdout


def explain(bundle, request):
    """The request is there as a whole: what it took, and why."""
    text = ask_chain("analyze", bundle, "--request-id", request, "--format", "json")
    if not text:
        return
    answer = json.loads(text)
    span_ms = answer["duration_ns"] / 1e6
    asleep_ms = sum(part["ns"] for part in answer["breakdown"] if part["cause"] == "timer") / 1e6
    expect(SLOW_S * 1e3 <= span_ms < SLOW_S * 1e3 + 300, "%s took %.1f ms" % (request, span_ms))
    expect(asleep_ms > 0.9 * SLOW_S * 1e3, "%s: %.1f ms of it are the sleep" % (request, asleep_ms))


def story_slow(port):
    process = start("-o", "slow", "--flight", "3s", "--until-slow", "250ms:%d" % port)
    wait_until_flying(process)
    ask(port, 2000, 1700, "slow")
    ended_s = time.monotonic()
    code, out, err = finish(process)
    expect(time.monotonic() - ended_s < 60, "it ends with the trigger")
    expect(code in (0, 3) and re.search(r"trigger:  answered after 3\d\d ms: 127.0.0.1:\d+ asked 127.0.0.1:%d" % port,
                                        out), "it says why it ended: %d %s%s" % (code, out, err))
    explain(".", "slow-1700")
    with open("slow/environment", encoding="utf-8") as file:
        expect("trigger=answered after" in file.read(), "the recording says what ended it")
    shutil.rmtree("slow")


def story_line(port):
    process = start("-o", "line", "--flight", "2s", "--events-set", "minimal", "--until-line", "app.log",
                    "took [0-9]{3,} ms")
    wait_until_flying(process)
    with open("app.log", "ab") as file:
        for took in (3, 20, 300):
            ask(port, 20, 10 if took == 300 else -1, "line%d" % took)
            file.write(b"GET / took %d ms \xff\x1b[31m\n" % took)
            file.flush()
    code, out, err = finish(process)
    expect(code in (0, 3) and "trigger:  app.log: GET / took 300 ms" in out,
           "a line ends it: %d %s%s" % (code, out, err))
    expect("\x1b" not in out, "what a log holds does nothing to the terminal")
    with open("line/environment", encoding="utf-8") as file:
        expect("trigger=app.log: GET / took 300 ms" in file.read(), "the recording has the line")
    explain(".", "line300-10")
    shutil.rmtree("line")
    os.unlink("app.log")


def story_keep(port):
    """A folder for each, of which the last two stay; what no trigger has ended is thrown away."""
    process = start("-o", "many", "--flight", "2s", "--events-set", "minimal", "--until-slow", "250ms:%d" % port,
                    "--keep", "2")
    for i in range(3):
        wait_until_flying(process)
        ask(port, 50, 25, "keep%d" % i)
        for _ in range(200):
            if os.path.isdir("many-%d" % (i + 2)):
                break
            time.sleep(0.1)
    wait_until_flying(process)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    expect(code in (0, 3), "Ctrl-C ends it: %d %s%s" % (code, out, err))
    expect(sorted(name for name in os.listdir(".") if name.startswith("many")) == ["many-2", "many-3"],
           "the last two are there: %s" % os.listdir("."))
    for i in (1, 2):
        explain("many-%d" % (i + 1), "keep%d-25" % i)
        shutil.rmtree("many-%d" % (i + 1))


def wait_for_folder(name):
    for _ in range(300):
        if os.path.isdir(name):
            return
        time.sleep(0.1)
    expect(False, "there is no '%s'" % name)


def story_keep_user(port):
    """In a folder of a user's, into which root writes only as long as it may do what it likes; also after sudo."""
    os.chmod(".", 0o711)
    os.mkdir("home", 0o755)
    os.chown("home", NOBODY, NOBODY)
    for variables in ({}, {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}):
        process = start("-o", "home/many", "--flight", "1s", "--events-set", "minimal", "--until-slow",
                        "250ms:%d" % port, "--keep", "1", **variables)
        for i in range(2):
            wait_until_flying(process)
            ask(port, 10, 5, "user%d" % i)
            wait_for_folder("home/many-%d" % (i + 2))
        wait_until_flying(process)
        process.send_signal(signal.SIGINT)
        code, out, err = finish(process)
        expect(code in (0, 3) and "Permission" not in err, "Ctrl-C ends it: %d %s%s" % (code, out, err))
        expect(os.listdir("home") == ["many-2"], "the last is there, and nothing else: %s" % os.listdir("home"))
        expect(os.path.exists("home/many-2/many/manifest.pb"), "it is sealed")
        for folder, _, names in os.walk("home/many-2"):
            for name in [".", *names]:
                path = os.path.join(folder, name)
                owner = NOBODY if variables else 0
                expect(os.stat(path).st_uid == owner, "%s belongs to %d" % (path, owner))
        shutil.rmtree("home/many-2")
    os.rmdir("home")


def story_burst(port):
    """What is slow while a flight is written is no reason to end the next one."""
    process = start("-o", "burst", "--flight", "1s", "--events-set", "minimal", "--until-slow", "250ms:%d" % port,
                    "--keep", "3")
    wait_until_flying(process)
    threads = [threading.Thread(target=ask, args=(port, 1, 0, "burst%d" % i)) for i in range(40)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    expect(code in (0, 3) and "trigger:  answered" in out and "SIGUSR1" not in out,
           "each has its own trigger: %d %s%s" % (code, out, err))
    for name in os.listdir("."):
        if name.startswith("burst"):
            shutil.rmtree(name)


def fill(path, left_bytes):
    status = os.statvfs(os.path.dirname(path))
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize - left_bytes)


def story_disk(_):
    """A disk that is full is told, and what had a trigger is written."""
    os.mkdir("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=112m", "none", "disk"], check=True)
    arguments = ("-o", "disk/many", "--flight", "1s", "--flight-memory", "16M", "--events-set", "minimal",
                 "--until-slow", "60s", "--keep", "2")
    try:
        process = start(*arguments)
        wait_until_flying(process)
        fill("disk/junk", 1 << 20)
        code, out, err = finish(process)
        expect(code == 3 and "disk is nearly full" in err, "a full disk is told: %d %s%s" % (code, out, err))
        expect(os.listdir("disk") == ["junk"], "nothing is left: %s" % os.listdir("disk"))
        os.unlink("disk/junk")
        process = start(*arguments)
        wait_until_flying(process)
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.25)
        fill("disk/junk", 28 << 20)
        code, out, err = finish(process)
        expect(code == 3 and "trigger:  SIGUSR1" in out, "what had a trigger is told: %d %s%s" % (code, out, err))
        expect(sorted(os.listdir("disk")) == ["junk", "many-1"] and os.path.exists("disk/many-1/many/environment"),
               "it is sealed: %s" % os.listdir("disk"))
    finally:
        subprocess.run(["umount", "disk"], check=True)
    os.rmdir("disk")


def get_buffer_kib(process):
    """Of its buffers in the kernel."""
    memory = 0
    for name in list_instances(process.pid):
        with open(os.path.join(INSTANCES, name, "buffer_total_size_kb"), encoding="ascii") as file:
            memory += int(file.read().split()[0])
    return memory


def story_growth(port):
    """While a buffer is made larger the kernel records nothing: that is lost, and said to be."""
    process = start("-o", "growth", "--flight", "20s", "--flight-memory", "512M", "--buffer", "512K", "--events",
                    "sched:sched_switch,sched:sched_waking,sched:sched_wakeup")
    wait_until_flying(process)
    before = get_buffer_kib(process)
    for _ in range(200):
        if get_buffer_kib(process) > before:
            break
        ask(port, 50, -1, "growth")
    process.send_signal(signal.SIGUSR1)  # before what was recorded until then is overwritten on a machine that is busy
    code, out, err = finish(process)
    expect(code == 3 and "lost" in out + err, "it is told: %d %s%s" % (code, out, err))
    text = ask_chain("stats", ".", "--format", "json")
    node = json.loads(text)["nodes"][0] if text else {}
    expect(node.get("lost_events", 0) > 0, "the trace has it: %s" % node)
    shutil.rmtree("growth")


def open_tunnel(name):
    """A device whose packets begin with the IP header, as WireGuard's do."""
    tunnel = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(tunnel, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return tunnel


def carry(tunnels):
    """What goes into one comes out of the other, until one is gone; one that is down takes nothing."""
    while True:
        for tunnel in select.select(tunnels, [], [], 60)[0]:
            try:
                os.write(tunnels[tunnels[0] == tunnel], os.read(tunnel, 65536))
            except OSError as error:
                if error.errno != errno.EIO:
                    return


class Tunnel:
    """Two devices, each the other's end; the second and its address are in a namespace of their own."""

    def __init__(self):
        self.ends = [open_tunnel(name) for name in TUNNELS]
        for command in (("netns", "add", FAR), ("link", "set", TUNNELS[1], "netns", FAR),
                        ("address", "add", "10.77.9.1/24", "dev", TUNNELS[0]), ("link", "set", TUNNELS[0], "up"),
                        ("-n", FAR, "address", "add", "10.77.9.2/24", "dev", TUNNELS[1]),
                        ("-n", FAR, "link", "set", TUNNELS[1], "up")):
            subprocess.run(["ip", *command], check=True)
        threading.Thread(target=carry, args=(self.ends,), daemon=True).start()

    def ask(self, port, path):
        subprocess.run(["ip", "netns", "exec", FAR, sys.executable, "-c", "import urllib.request;"
                        "urllib.request.urlopen('http://10.77.9.1:%d%s').read()" % (port, path)], check=True)

    def remove(self):
        for name in TUNNELS[:1]:
            subprocess.run(["ip", "link", "del", name], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "del", FAR], check=False)
        for end in self.ends:
            os.close(end)


def story_tunnel(_):
    """Of a device that has no link layer, too, what is slow is seen; and when it goes, what it carried is kept."""
    if not os.path.exists("/dev/net/tun"):
        print("  skipped: this kernel has no TUN devices")
        return
    server = Server(("", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    tunnel = Tunnel()
    common = ("--flight", "5s", "--events-set", "minimal", "--interface", TUNNELS[0])
    try:
        process = start("-o", "tunnel", *common, "--until-slow", "250ms")
        wait_until_flying(process)
        tunnel.ask(port, "/slow")
        code, out, err = finish(process, 15)
        told = re.search(r"trigger:  answered after 3\d\d ms: 10.77.9.2:\d+ asked 10.77.9.1:%d" % port, out)
        expect(code in (0, 3) and told, "it ends with the trigger: %d %s%s" % (code, out, err))
        process = start("-o", "gone", *common)
        wait_until_flying(process)
        tunnel.ask(port, "/fast")
        subprocess.run(["ip", "link", "del", TUNNELS[0]], check=True)
        time.sleep(1)
        process.send_signal(signal.SIGUSR1)
        code, out, err = finish(process)
        expect(code in (0, 3) and "not all of the time" in out, "it is told that it went: %d %s%s" % (code, out, err))
        expect("packets:  0," not in out, "what came before is there: " + out)
    finally:
        tunnel.remove()
    for name in ("tunnel", "gone"):
        shutil.rmtree(name)


def story_unwritable(port):
    """Packets that cannot be written make the recording incomplete, as events do."""
    process = start("-o", "unwritable", "--flight", "1s", "--events-set", "minimal")
    wait_until_flying(process)
    os.mkdir("unwritable/packets-%d.pcap" % os.stat("/proc/self/ns/net").st_ino)
    ask(port, 10, -1, "unwritable")
    process.send_signal(signal.SIGUSR1)
    code, out, err = finish(process)
    expect(code != 0 and "could not be written" in out, "it says so: %d %s%s" % (code, out, err))
    shutil.rmtree("unwritable")


def get_memory_kib(process):
    """Of the process, and of its buffers in the kernel."""
    with open("/proc/%d/status" % process.pid, encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s*(\d+)", file.read()).group(1)) + get_buffer_kib(process)


def story_memory(port):
    """It stays within what it may take, but for the program itself; and SIGUSR1 is a trigger, too."""
    process = start("-o", "memory", "--flight", "1s", "--flight-memory", "16M")
    wait_until_flying(process)
    stopping = threading.Event()

    def load():
        while not stopping.is_set():
            ask(port, 200, -1, "memory")

    thread = threading.Thread(target=load)
    thread.start()
    time.sleep(6)
    before = get_memory_kib(process)
    time.sleep(12)
    after = get_memory_kib(process)
    stopping.set()
    thread.join()
    expect(max(before, after) <= 24 << 10, "memory went from %d to %d KiB, of 16 MiB" % (before, after))
    process.send_signal(signal.SIGUSR1)
    code, out, err = finish(process)
    expect(code in (0, 3) and "trigger:  SIGUSR1" in out, "SIGUSR1 ends it: %d %s%s" % (code, out, err))
    shutil.rmtree("memory")


def story_refused():
    for arguments, words in ((["--keep", "2"], "--flight"), (["--flight", "2s", "--keep", "2"], "--until-slow"),
                             (["--until-slow", "1s:http"], "no port"), (["--until-line", "log"], "expression"),
                             (["--until-slow", "1s", "--no-packets"], "packets"),
                             (["--flight", "2s", "--flight-memory", "1k"], "16M"),
                             (["--flight", "2s", "--until-slow", "1s", "--keep", "2", "--", "true"], "command")):
        code, out, err = finish(start("-o", "refused", *arguments))
        expect(code == 2 and words in err, "%s: %d %s%s" % (arguments, code, out, err))
        expect(not os.path.exists("refused"), "nothing is written")


def main():
    if os.geteuid() != 0 or not os.access(INSTANCES, os.W_OK):
        print("skipped: needs root and tracefs")
        return 77
    folder = tempfile.mkdtemp(prefix="dtc-flight-")
    os.chdir(folder)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    stories = (story_slow, story_line, story_keep, story_keep_user, story_burst, story_disk, story_growth, story_tunnel,
               story_unwritable, story_memory)
    wanted = sys.argv[3:]
    try:
        story_refused()
        for story in stories:
            if wanted and story.__name__ not in wanted:
                continue
            print(story.__name__)
            story(port)
        left = [name for pid in started for name in list_instances(pid)]
        expect(not left, "no instance is left: %s" % left)
    finally:
        os.chdir("/")
        shutil.rmtree(folder)
    return 1 if failures else 0


sys.exit(main())
