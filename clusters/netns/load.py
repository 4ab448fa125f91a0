# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of the lab, what is done to each request, and what an answer must then say."""
import json
import os
import random
import socket
import struct
import time

import hosts

APP, NGINX, REDIS = ("b", "netns-server"), ("a", "nginx"), ("b", "redis-server")
RUNNING = ("running-user",)
BULK_BYTES = 65536
# Enough for every other answer at once, and a few milliseconds for each packet of a large one.
LINK = {"rate": "20mbit", "burst": "16kb", "latency": "2s"}


class Kind:
    """count: of 500. amount: microseconds (bulk: bytes). where (None: anywhere), causes: who must be named, as what.
    share: of the time that was injected this much must be attributed so; without an injected time, of the duration."""

    def __init__(self, count, path, amount=0, where=None, causes=(), share=0.7):
        self.count, self.path, self.amount = count, path, amount
        self.where, self.causes, self.share = where, causes, share


KINDS = {
    "fast": Kind(150, "/pool/fast"),
    "loopfast": Kind(60, "/loop/fast"),
    "redisfast": Kind(40, "/pool/redisfast"),
    "cpu": Kind(30, "/pool/cpu", 10000, APP, RUNNING),
    "sleep": Kind(30, "/pool/sleep", 10000, APP, ("timer",)),
    # whoever waits for a lock waits for what its holder does
    "lockcpu": Kind(25, "/pool/lockcpu", 10000, APP, RUNNING),
    "locksleep": Kind(25, "/pool/locksleep", 10000, APP, ("timer",)),
    "disk": Kind(25, "/pool/disk", 10000, APP, ("disk",)),
    "runqueue": Kind(25, "/pool/runqueue", 5000, APP, ("preempted", "runqueue")),
    "redislua": Kind(25, "/pool/redislua", 10000, REDIS, RUNNING),
    "redissleep": Kind(25, "/pool/redissleep", 10000, REDIS, ("timer",)),
    "loopcpu": Kind(20, "/loop/cpu", 10000, APP, RUNNING),
    "loopredis": Kind(20, "/loop/redislua", 10000, REDIS, RUNNING),
    "gzip": Kind(20, "/zip/page", 0, NGINX, RUNNING, 0.5),
    # what is cut in the queue leaves it in pieces that no event calls by the buffer's name: then it is the wire
    "bulk": Kind(15, "/pool/bulk", BULK_BYTES, None, ("network-send", "network-wire"), 0.5),
}
NGINX_CONF = """\
user root;
worker_processes 1;
daemon off;
pid {scratch}/nginx.pid;
error_log {scratch}/nginx-error.log;
events {{ }}
http {{
	access_log off;
	client_body_temp_path {scratch}/nginx-body;
	proxy_temp_path {scratch}/nginx-proxy;
	fastcgi_temp_path {scratch}/nginx-fastcgi;
	uwsgi_temp_path {scratch}/nginx-uwsgi;
	scgi_temp_path {scratch}/nginx-scgi;
	upstream loop {{ server 10.78.2.2:9001; keepalive 8; }}
	server {{
		listen 10.78.1.2:80;
		location /plain {{ return 200 "plain"; }}
		location /zip/ {{ root {scratch}/www; gzip on; gzip_comp_level 9; gzip_types *; }}
		location /loop/ {{ proxy_pass http://loop; proxy_http_version 1.1; proxy_set_header Connection ""; }}
		location / {{ proxy_pass http://10.78.2.2:9000; }}
	}}
}}
"""


def make_page(folder):
    """Text that takes nginx about 10 ms to compress."""
    dice = random.Random(5)
    words = [f"{dice.randrange(1 << 40):x}" for _ in range(3000)]
    page = os.path.join(folder, "zip", "page")
    os.makedirs(page)
    with open(os.path.join(page, "0"), "w", encoding="ascii") as file:
        file.write(" ".join(dice.choice(words) for _ in range(18000)))


def can_link_slowly(lab):
    """A token bucket at the application's end of the link, where the kernel has one."""
    done = lab.inside("app", "tc", "qdisc", "add", "dev", "eth0", "root", "tbf",
                      *[word for option in LINK.items() for word in option], check=False)
    return done.returncode == 0


def has_disk(folder):
    """Is the folder on something that has a queue of requests, and takes writes past the page cache?"""
    device = os.stat(folder).st_dev
    block = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    disk = block if os.path.isdir(os.path.join(block, "queue")) else os.path.dirname(block)
    if not os.path.isdir(os.path.join(disk, "queue")):
        return None
    try:
        os.close(os.open(os.path.join(folder, "direct"), os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600))
    except OSError:
        return None
    return disk


def wait_for(lab, address, port, service=None, seconds=10):
    """Until somebody listens in the service's namespace; None: that which has the address."""
    wanted = f"{struct.unpack('<I', socket.inet_aton(address))[0]:08X}:{int(port):04X}"
    service = service or next(s for link in hosts.LINKS for s, _, a in link if a == address)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if wanted in lab.inside(service, "cat", "/proc/net/tcp").stdout:
            return
        time.sleep(0.05)
    with open(os.path.join(lab.scratch, f"{service}.log"), encoding="utf-8", errors="replace") as log:
        raise RuntimeError(f"nobody listens at {address}:{port}: {log.read().strip()[-400:]}")


def start(lab, programs):
    """Starts all services; returns {kind: why it is left out}."""
    left_out = {}
    folder = lab.scratch
    make_page(os.path.join(folder, "www"))
    with open(os.path.join(folder, "nginx.conf"), "w", encoding="ascii") as file:
        file.write(NGINX_CONF.format(scratch=folder))
    disk = has_disk(folder)
    if not disk:
        left_out["disk"] = f"'{folder}' is not on a disk"
    else:
        # or requests are completed on whichever CPU the interrupt comes to, which may be the other host
        try:
            lab.set(os.path.join(disk, "queue", "rq_affinity"), "2")
        except OSError as error:
            left_out["disk"] = f"completions cannot be kept on the host's CPU: {error}"
    if not can_link_slowly(lab):
        left_out["bulk"] = "this kernel has no token bucket (NET_SCH_TBF), so no link is slow"
    lab.start("redis", "redis-server", "--bind", "10.78.3.2", "--port", "6379", "--protected-mode", "no", "--save", "",
              "--enable-debug-command", "yes", "--dir", folder)
    wait_for(lab, "10.78.3.2", 6379)
    lab.start("app", os.path.join(programs, "netns-server"), "10.78.2.2", "9000", "9001", "10.78.3.2",
              os.path.join(folder, "disk"), os.path.join(folder, "injected"))
    wait_for(lab, "10.78.2.2", 9001)
    lab.start("web", "nginx", "-c", os.path.join(folder, "nginx.conf"))
    wait_for(lab, "10.78.1.2", 80)
    return left_out


def make_list(count, left_out, seed):
    """The client's list: every kind alone, one after the other in a random order, and then the fast ones from four
    streams at once. Returns its text and {id: kind}."""
    dice = random.Random(seed)
    alone, crowd, kinds = [], [], {}
    for name, kind in KINDS.items():
        for number in range(0 if name in left_out else max(3, round(kind.count * count / 500 + 0.499))):
            kinds[f"{name}-{number:03}"] = name
            (crowd if name.endswith("fast") and number % 2 else alone).append(f"{name}-{number:03}")
    dice.shuffle(alone)
    dice.shuffle(crowd)
    path = {i: f"{KINDS[k].path}/{KINDS[k].amount}" for i, k in kinds.items()}
    lines = [f"0 {i} {path[i]} {dice.choice(('close', 'keep'))}" for i in alone]
    lines += [""] + [f"{number % 4} {i} {path[i]} {dice.choice(('close', 'keep'))}" for number, i in enumerate(crowd)]
    return "\n".join(lines) + "\n", kinds


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def make_truth(folder, kinds):
    """What the client's stopwatch and the server's log say of each request."""
    injected = {one["id"]: one for one in read_lines(os.path.join(folder, "injected"))}
    truth = []
    for asked in read_lines(os.path.join(folder, "asked")):
        kind = KINDS[kinds[asked["id"]]]
        done = injected.get(asked["id"])
        one = dict(id=asked["id"], kind=kinds[asked["id"]], status=asked["status"], pid=asked["pid"], tid=asked["tid"],
                   begin_ns=asked["begin_ns"], end_ns=asked["end_ns"])
        if kind.causes:
            span = done if done and kind.path != "/pool/bulk" else asked
            node, process = kind.where or (None, None)
            one["injected"] = dict(node=node, process=process, causes=kind.causes, share=kind.share,
                                   begin_ns=span["begin_ns"], end_ns=span["end_ns"], tid=span["tid"])
        truth.append(one)
    return truth
