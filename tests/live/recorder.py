#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records this machine for a second or two at a time, and looks at how recordings begin and end: signals, crashes, two
at once, small buffers, links in the way. Needs root and tracefs; exits with 77 and says so without.
usage: recorder.py DTRACE-COLLECT"""
import configparser
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = os.path.abspath(sys.argv[1])
INSTANCES = "/sys/kernel/tracing/instances"
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("  FAILED: " + what)


def list_instances():
    return {name for name in os.listdir(INSTANCES) if name.startswith("dtrace-collect-")}


def start(*arguments):
    return subprocess.Popen([PROGRAM, "record", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        expect(False, "it did not end: " + out + err)
    return process.returncode, out, err


def record(*arguments):
    return finish(start(*arguments))


def wait_until_recording(node):
    """Its walk of /proc is the last thing before it waits."""
    for _ in range(300):
        if os.path.exists(os.path.join(node, "raw", "proc.begin")):
            return
        time.sleep(0.1)
    expect(False, node + " never began")


def read_recording(node):
    parser = configparser.RawConfigParser()
    parser.read(os.path.join(node, "raw", "recording"))
    return parser


def check_raw(node):
    recording = read_recording(node)
    expect(recording.get("recording", "state") == "stopped", "the recording says that it stopped")
    page = recording.getint("recording", "page-size")
    for cpu in recording.get("recording", "cpus").strip(";").split(";"):
        size = os.stat(os.path.join(node, "raw", "cpu" + cpu)).st_size
        expect(size % page == 0, "cpu%s is whole pages" % cpu)
    for folder, _, files in os.walk(node):
        expect(stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder + " is its owner's alone")
        for name in files:
            path = os.path.join(folder, name)
            expect(stat.S_IMODE(os.lstat(path).st_mode) == 0o600, path + " is its owner's alone")
    return recording


def talk(port_ready, stopping):
    """A packet on lo now and then."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, socket.socket(socket.AF_INET,
                                                                             socket.SOCK_DGRAM) as two:
        one.bind(("127.0.0.1", 0))
        port_ready.set()
        while not stopping.is_set():
            two.sendto(b"x" * 100, one.getsockname())
            time.sleep(0.01)


def story_signal():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        node = "signal-%d" % number
        process = start("-o", node, "--raw")
        wait_until_recording(node)
        time.sleep(1.2)
        process.send_signal(number)
        code, out, err = finish(process)
        expect(code in (0, 3), "signal %d: exit %d: %s" % (number, code, err))
        expect("recorded '%s'" % node in out and "dtrace-collect seal" in out, "it says what to do next: " + out)
        check_raw(node)
        expect(os.path.getsize(os.path.join(node, "raw", "cpu0")) > 0, "events were kept")
        with open(os.path.join(node, "raw", "clocks"), encoding="ascii") as clocks:
            expect(len(clocks.readlines()) >= 3, "clocks were sampled")


def story_two():
    first = start("-o", "two-a", "--raw", "--events-set", "minimal")
    second = start("-o", "two-b", "--raw")
    wait_until_recording("two-a")
    wait_until_recording("two-b")
    expect(len(list_instances()) >= 2, "each has its own instance")
    first.send_signal(signal.SIGINT)
    code, _, err = finish(first)
    expect(code in (0, 3), "the first ends well: " + err)
    time.sleep(0.5)
    expect(second.poll() is None, "the second goes on")
    second.send_signal(signal.SIGINT)
    code, out, err = finish(second)
    expect(code in (0, 3) and "recorded 'two-b'" in out, "the second ends well: " + err)
    check_raw("two-a")
    check_raw("two-b")


def story_crash():
    process = start("-o", "crash", "--raw")
    wait_until_recording("crash")
    time.sleep(0.5)
    process.kill()
    process.communicate()
    left = [name for name in list_instances() if re.match(r"dtrace-collect-\d+-%d-" % process.pid, name)]
    expect(len(left) == 1, "a crash leaves an instance")
    code, out, err = record("-o", "after", "--raw", "--for", "500ms")
    expect(code in (0, 3), "the next one runs: " + err)
    expect("crashed recorder" in out, "and says what it removed: " + out)
    expect(not set(left) & list_instances(), "and has removed it")
    expect(read_recording("crash").get("recording", "state") == "recording", "what crashed says so")
    done = subprocess.run([PROGRAM, "seal", "crash"], capture_output=True, text=True, timeout=120)
    expect(done.returncode in (0, 3) and os.path.exists("crash/kernel/metadata"),
           "what a crash left can be sealed: %d %s%s" % (done.returncode, done.stdout, done.stderr))


def story_links():
    os.mkdir("real")
    os.symlink("real", "link")
    code, _, err = record("-o", "link", "--for", "1s")
    expect(code == 1 and "symbolic link" in err, "a link is refused: %d %s" % (code, err))
    expect(os.listdir("real") == [], "and nothing was written")
    with open("real/x", "w", encoding="ascii"):
        pass
    code, _, err = record("-o", "real", "--for", "1s")
    expect(code == 1 and "not empty" in err, "a folder with something in it is refused: " + err)
    expect(os.listdir("real") == ["x"], "and nothing was written")


def story_losses():
    """Whoever empties the buffers is held up, or it keeps pace with any program."""
    process = start("-o", "small", "--raw", "--buffer", "64K", "--events", "syscalls:*")
    wait_until_recording("small")
    process.send_signal(signal.SIGSTOP)
    subprocess.run([sys.executable, "-c", "import os\nfor i in range(400000): os.getppid()"], check=True)
    process.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    expect(code == 3, "losses are exit code 3: %d %s" % (code, err))
    expect(" events (" in out and "larger buffers" in out, "they are counted, and what helps is said: " + out)
    check_raw("small")
    with open("small/raw/drops", encoding="ascii") as drops:
        expect(any(int(line.split()[3]) > 0 for line in drops), "overruns are in drops")


def story_command():
    code, out, _ = record("-o", "command", "--headers-only", "--", "sh", "-c", "sleep 1; exit 7")
    expect(code in (0, 3), "the exit code is the recorder's")
    expect("command:  ended with 7" in out, "and the command's is told: " + out)
    expect(os.path.exists("command/kernel/metadata") and not os.path.exists("command/raw"), "it is sealed: " + out)
    for folder, _, files in os.walk("command"):
        for name in [folder, *(os.path.join(folder, name) for name in files)]:
            expect(stat.S_IMODE(os.lstat(name).st_mode) & 0o077 == 0, name + " is its owner's alone")
    code, out, _ = record("-o", "nobody", "--raw", "--", "/nonexistent")
    expect("ended with 127" in out, "a command that is not there: " + out)
    # as Perl's programs that never wait hand it on
    done = subprocess.run([PROGRAM, "record", "-o", "ignored", "--raw", "--", "false"], capture_output=True, text=True,
                          timeout=20, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    expect("ended with 1" in done.stdout, "its end is seen where children are not waited for: " + done.stdout)


def story_sudo():
    """What sudo's user records is that user's, and so is the command; also as a shell completes a folder's name."""
    os.mkdir("home")
    os.chmod(".", 0o755)
    os.chown("home", 65534, 65534)
    done = subprocess.run([PROGRAM, "record", "-o", "home/node/", "--", "id", "-u"], capture_output=True, text=True,
                          timeout=60, env=dict(os.environ, SUDO_UID="65534", SUDO_GID="65534"))
    expect(done.returncode in (0, 3) and done.stdout.startswith("65534\n"), "the command is the user's: " + done.stdout)
    for folder, _, files in os.walk("home/node"):
        for name in [folder, *(os.path.join(folder, name) for name in files)]:
            expect(os.lstat(name).st_uid == 65534, name + " is the user's")
    expect(os.path.exists("home/node/kernel/metadata"), "it is sealed: " + done.stdout + done.stderr)


def story_packets():
    ready, stopping = threading.Event(), threading.Event()
    thread = threading.Thread(target=talk, args=(ready, stopping))
    thread.start()
    ready.wait()
    code, out, err = record("-o", "packets", "--raw", "--for", "1500ms", "--headers-only", "--filter", "udp")
    stopping.set()
    thread.join()
    expect(code in (0, 3), "it records packets: " + err)
    captures = [name for name in os.listdir("packets") if name.startswith("packets-")]
    expect(len(captures) >= 1, "there is a capture: " + out)
    for name in captures:
        with open(os.path.join("packets", name), "rb") as file:
            head = file.read(24)
            data = file.read()
        expect(head[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"), "nanoseconds")
        expect(b"x" * 100 not in data, "what was sent is not in it")
    code, out, err = record("-o", "none", "--raw", "--for", "300ms", "--filter", "udp port 1")
    expect(code in (0, 3) and os.path.exists("none/raw/recording") and os.listdir("none") == ["raw"],
           "without packets there is no file: " + err)


SECRETS = (b"swordfishd", b"treasure", b"pieces-of-eight", b"order-4711", b"doubloon")


def find_secrets(folder):
    found = []
    for root, folders, files in os.walk(folder):
        for name in files + folders:
            found += [name for secret in SECRETS if secret in name.encode()]
        for name in files:
            with open(os.path.join(root, name), "rb") as file:
                data = file.read()
            found += ["%s in %s" % (secret.decode(), name) for secret in SECRETS if secret in data]
    return found


def serve_once(ready, stopping):
    """Answers a request with secrets, again and again, each time from a program and with a file that are one."""
    shutil.copy(shutil.which("sleep"), "swordfishd")
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.2)
    ready.set()
    while not stopping.is_set():
        subprocess.run(["./swordfishd", "0.01"], check=False)
        with open("treasure-map.text", "wb") as file:
            file.write(b"x")
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(b"GET /doubloon HTTP/1.1\r\nHost: treasure\r\nX-Request-Id: order-4711\r\n\r\n")
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 pieces-of-eight\r\nContent-Length: 14\r\n\r\npieces-of-eight"[:-1])
            client.recv(4096)
            connection.close()
    server.close()


def story_redacted():
    ready, stopping = threading.Event(), threading.Event()
    thread = threading.Thread(target=serve_once, args=(ready, stopping))
    thread.start()
    ready.wait()
    code, out, err = record("-o", "redacted", "--for", "1500ms", "--redact", "addresses,names")
    expect(code in (0, 3) and "redacted: " in out, "it records and redacts: " + out + err)
    expect(not find_secrets("redacted"), "nothing is left: %s" % find_secrets("redacted"))
    expect(sorted(os.listdir("redacted"))[:2] == ["environment", "kernel"], "it is a node: %s" % os.listdir("redacted"))
    expect(any(name.startswith("packets-") for name in os.listdir("redacted")), "with captures")
    # what a crash leaves says that it is to be redacted
    process = start("-o", "crashed", "--redact", "names")
    wait_until_recording("crashed")
    time.sleep(1)
    process.kill()
    finish(process)
    expect(find_secrets("crashed"), "what was recorded is as it was")
    done = subprocess.run([PROGRAM, "seal", "crashed", "--keep-raw"], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 2 and "--redact" in done.stderr, "it is not kept: " + done.stderr)
    done = subprocess.run([PROGRAM, "seal", "crashed"], capture_output=True, text=True, timeout=60)
    stopping.set()
    thread.join()
    expect(done.returncode in (0, 3) and "redacted: " in done.stdout, "seal: " + done.stdout + done.stderr)
    expect(not find_secrets("crashed"), "nothing is left by seal: %s" % find_secrets("crashed"))
    code, out, err = record("-o", "none2", "--raw", "--redact", "names")
    expect(code == 2 and "hint: " in err and not os.path.exists("none2"), "it is refused: " + err)
    code, out, err = record("-o", "none2", "--redact", "")
    expect(code == 2 and "hint: " in err and not os.path.exists("none2"), "nothing of it is nothing: " + err)


def story_namespace():
    if not shutil.which("unshare") or subprocess.run(["unshare", "-n", "true"], check=False).returncode != 0:
        print("  skipped: no network namespaces here")
        return
    process = start("-o", "late", "--raw", "--for", "4s")
    wait_until_recording("late")
    time.sleep(0.5)
    subprocess.run(["unshare", "-n", sys.executable, "-c", """
import fcntl, socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x49))  # SIOCSIFFLAGS: up
for _ in range(25):
    s.sendto(b"late", ("127.0.0.1", 9))
    time.sleep(0.1)
"""], check=True)
    code, out, err = finish(process)
    expect(code in (0, 3), "it records: " + err)
    found = False
    for name in os.listdir("late"):
        if name.startswith("packets-"):
            with open(os.path.join("late", name), "rb") as file:
                found |= b"late" in file.read()
    expect(found, "a namespace that came later is captured: " + out)


def make_limit():
    """A cgroup that may use a fifth of a CPU: its folder, and the file that takes processes; None: there is none."""
    for mount, put, files in (("/sys/fs/cgroup/cpu", "tasks", ("cpu.cfs_period_us", "cpu.cfs_quota_us")),
                              ("/sys/fs/cgroup", "cgroup.procs", ("cpu.max",))):
        folder = os.path.join(mount, "dtc-test-%d" % os.getpid())
        try:
            os.mkdir(folder)
            for name, text in zip(files, ("100000", "20000") if len(files) == 2 else ("20000 100000",)):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            return folder, os.path.join(folder, put)
        except OSError:
            if os.path.isdir(folder):
                os.rmdir(folder)
    return None


def story_limit():
    made = make_limit()
    if not made:
        print("  skipped: no cgroup of ours can limit CPUs here")
        return
    folder, processes = made
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    with open(processes, "w") as file:
        file.write(str(busy.pid))
    code, out, err = record("-o", "limit", "--raw", "--for", "1500ms")
    busy.kill()
    busy.wait()
    time.sleep(0.1)
    os.rmdir(folder)
    expect(code in (0, 3), "it records: " + out + err)
    name, counts = "/" + os.path.basename(folder), []
    for walk in "begin", "end":
        with open("limit/raw/proc." + walk) as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        found = [line for line in lines if line[:2] == ["g", name]]
        expect(len(found) == 1 and found[0][2:4] == ["20000", "100000"], "the limit is there: %s" % found)
        expect(["l", str(busy.pid), name] in lines, "and whom it holds")
        counts.append([int(count) for count in found[0][4:]] if found else [0, 0, 0])
    (often, long, timer), (then_often, then_long, _) = counts
    expect(then_often - often >= 5 and then_long - long >= 500000, "it was throttled meanwhile: %s" % counts)
    expect(timer > 0, "where the kernel ends periods is known")


def story_rights():
    process = start("-o", "rights", "--raw")
    wait_until_recording("rights")
    time.sleep(0.5)
    seen = set()
    for task in os.listdir("/proc/%d/task" % process.pid):
        with open("/proc/%d/task/%s/status" % (process.pid, task), encoding="ascii") as status:
            words = dict(line.split(None, 1) for line in status if len(line.split(None, 1)) == 2)
        name, rights = words["Name:"].strip(), int(words["CapPrm:"], 16)
        seen.add(name.split("-")[0])
        if task == str(process.pid):
            expect(rights & ~0x2820c5 == 0, "the main thread has few rights: %x" % rights)
        else:
            expect(rights == 0, "thread %s has no rights: %x" % (name, rights))
    expect({"drain", "spool", "capture"} <= seen, "threads are %s" % seen)
    process.send_signal(signal.SIGTERM)
    finish(process)
    if shutil.which("setpriv"):
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all", PROGRAM, "check"],
                              capture_output=True, text=True, timeout=60)
        expect(done.returncode == 1 and "CAP_NET_RAW" in done.stdout, "nobody is told what is missing: " + done.stdout)


def story_check():
    done = subprocess.run([PROGRAM, "check"], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0 and "this machine can be recorded" in done.stdout, "check: " + done.stdout)
    done = subprocess.run([PROGRAM, "check", "--buffer", "1G", "--no-packets"], capture_output=True, text=True,
                          timeout=60)
    expect("MiB" in done.stdout, "memory is told: " + done.stdout)


def main():
    if os.geteuid() != 0 or not os.access(INSTANCES, os.W_OK):
        print("skipped: it takes root and tracefs (%s) to record this machine" % INSTANCES)
        return 77
    if subprocess.run([PROGRAM, "check"], capture_output=True, check=False).returncode != 0:
        print("skipped: dtrace-collect check says that this machine cannot be recorded")
        return 77
    before = list_instances()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, story in sorted(globals().items()):
            if name.startswith("story_"):
                print(name[len("story_"):], flush=True)
                story()
        os.chdir("/")
    # those of a live process are another recorder's
    left = {name for name in list_instances() - before if not os.path.exists("/proc/" + name.split("-")[2])}
    expect(not left, "nothing is left in the kernel: %s" % left)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
