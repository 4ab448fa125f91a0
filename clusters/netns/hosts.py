# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hosts on one machine: CPU 0 is one, CPU 1 the other. A service has a network namespace of its own; veth joins
them, and packets are taken from the queue on the CPU of the host that receives them (rps_cpus).

Whatever ends the program that called Hosts(), kill -9 included, a guard (this file, as a program) ends what was started
in the namespaces, deletes them and restores what was set: it reads a pipe whose other end only the program holds. What
even the guard left, since it was killed as well, the next Hosts() removes, by names that say who made them."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

PREFIX = "dtnet"
SCRATCH = "/var/tmp"
# service: the CPU that is its host
SERVICES = {"client": 0, "web": 0, "app": 1, "redis": 1}
# a link: both ends (service, name of the interface, address); names repeat, as they do among containers
LINKS = [(("client", "eth0", "10.78.1.1"), ("web", "eth0", "10.78.1.2")),
         (("web", "eth1", "10.78.2.1"), ("app", "eth0", "10.78.2.2")),
         (("app", "eth1", "10.78.3.1"), ("redis", "eth0", "10.78.3.2"))]


class Missing(Exception):
    """What this machine cannot do, and what to do about it."""


def start_time(pid):
    """With the process id a name that no other process ever has, until the next boot."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[19]
    except OSError:
        return None


def run(*command, check=True, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if check and done.returncode != 0:
        raise Missing(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done


def made(folder):
    """What labs have made there, namespaces or scratch folders: {name: (pid, start time) of who made it}."""
    found = {}
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        match = re.fullmatch(PREFIX + r"-(\d+)-(\d+)(-[a-z]+)?", name)
        if match:
            found[name] = match.group(1), match.group(2)
    return found


def end_processes(name):
    """Ends what runs in a namespace, itself excepted: asks first, so that logs are written."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for _ in range(50):
            pids = [int(pid) for pid in run("ip", "netns", "pids", name, check=False).stdout.split()]
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)


def restore(noted):
    settings = []
    if os.path.exists(noted):
        with open(noted, encoding="ascii") as file:
            settings = file.read().splitlines()
    for setting in reversed(settings):
        path, value = setting.split()
        with open(path, "w", encoding="ascii") as file:
            file.write(value)


def remove(owner):
    for name, maker in made("/run/netns").items():
        if maker == owner:
            end_processes(name)
            run("ip", "netns", "del", name, check=False)
    for name, maker in made(SCRATCH).items():
        if maker == owner:
            restore(os.path.join(SCRATCH, name, "settings"))
            shutil.rmtree(os.path.join(SCRATCH, name), ignore_errors=True)


def remove_leftovers():
    """What labs whose maker is dead have left: namespaces, what runs in them, and scratch folders."""
    for pid, started in set(made("/run/netns").values()) | set(made(SCRATCH).values()):
        if start_time(pid) != started:
            remove((pid, started))


class Hosts:
    """with Hosts() as hosts: hosts.start("web", "nginx", ...). scratch: a folder for as long. Other labs are of other
    services and make() other links."""

    def __init__(self, services=None):
        self.services = services or SERVICES
        self.owner = str(os.getpid()), start_time(os.getpid())
        self.scratch = os.path.join(SCRATCH, "-".join((PREFIX, *self.owner)))
        self.guard = None
        self.lifeline = None

    def name(self, service):
        return f"{PREFIX}-{self.owner[0]}-{self.owner[1]}-{service}"

    def __enter__(self):
        for tool in ("ip", "taskset", "tc"):
            if run("sh", "-c", f"command -v {tool}", check=False).returncode != 0:
                raise Missing(f"{tool} is not installed (Debian 12: iproute2, util-linux)")
        remove_leftovers()
        reader, self.lifeline = os.pipe()
        self.guard = subprocess.Popen([sys.executable, os.path.abspath(__file__), *self.owner], stdin=reader,
                                      start_new_session=True)
        os.close(reader)
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        os.close(self.lifeline)
        self.guard.wait()

    def make(self):
        self.make_namespaces()
        for (one, device, address), (other, peer, other_address) in LINKS:
            self.link(one, device, other, peer)
            self.inside(one, "ip", "address", "add", f"{address}/24", "dev", device)
            self.inside(other, "ip", "address", "add", f"{other_address}/24", "dev", peer)

    def make_namespaces(self):
        os.mkdir(self.scratch, 0o700)
        for service in self.services:
            run("ip", "netns", "add", self.name(service))
            self.inside(service, "ip", "link", "set", "lo", "up")

    def link(self, one, device, other, peer):
        """A veth pair from a device of one service to a device of another, both up."""
        run("ip", "link", "add", device, "netns", self.name(one), "type", "veth", "peer", "name", peer, "netns",
            self.name(other))
        for service, name in ((one, device), (other, peer)):
            self.inside(service, "ip", "link", "set", name, "up")
            # inside(): ip mounts the namespace's own /sys
            mask = f"{1 << self.services[service]:x}"
            self.inside(service, "sh", "-c", f"echo {mask} >/sys/class/net/{name}/queues/rx-0/rps_cpus")

    def set(self, path, value):
        """Writes a setting of the machine, and notes for whoever removes the lab what it was before."""
        with open(path, encoding="ascii") as file:
            before = file.read().split()[0]
        with open(os.path.join(self.scratch, "settings"), "a", encoding="ascii") as file:
            file.write(f"{path} {before}\n")
        with open(path, "w", encoding="ascii") as file:
            file.write(value)

    def command(self, service, *command):
        """What to start in a service's namespace, on its host's CPU."""
        return ["ip", "netns", "exec", self.name(service), "taskset", "-c", str(self.services[service]), *command]

    def inside(self, service, *command, check=True):
        return run(*self.command(service, *command), check=check)

    def start(self, service, *command):
        """A service in the background that nothing else of the machine can push aside: the truth is about causes that
        were made, and a neighbour's compiler is none of them."""
        log = open(os.path.join(self.scratch, f"{service}.log"), "ab")
        with log:
            process = subprocess.Popen(self.command(service, *command), stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log, start_new_session=True, preexec_fn=prefer)
        return process

    def inode(self, service):
        return os.stat(f"/run/netns/{self.name(service)}").st_ino


def prefer():
    """Before the rest of the machine. nice -20 is not enough beside a compiler: whoever is woken waits for the end of
    another's turn, some milliseconds, and then that is the true cause."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))
    except OSError:
        os.setpriority(os.PRIO_PROCESS, 0, -20)


def guard(owner):
    """Waits until nobody holds the pipe's other end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    remove(owner)


if __name__ == "__main__":
    if sys.argv[1] == "--prefer":
        os.setsid()
        prefer()
        os.execvp(sys.argv[2], sys.argv[2:])
    guard((sys.argv[1], sys.argv[2]))
