# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hosts with pods: what a cluster's network is made of, of iproute2 and nftables alone. See README.md."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "netns"))
import hosts  # noqa: E402

# a namespace: the CPU that is its host
NAMESPACES = {"nodea": 0, "client": 0, "app": 0, "store": 0, "nodeb": 1, "web": 1, "box": 1}
NODES = {"nodea": ("192.168.77.1", 1), "nodeb": ("192.168.77.2", 2)}
# a pod: its host, the bridge there, its address
PODS = {"client": ("nodea", "cni0", "10.244.1.2"), "app": ("nodea", "cni0", "10.244.1.3"),
        "web": ("nodeb", "cni0", "10.244.2.2"),
        # one address, as two hosts give it that know nothing of each other
        "store": ("nodea", "docker0", "172.17.0.2"), "box": ("nodeb", "docker0", "172.17.0.2")}
# a program: the namespace that it is in, where it listens, whom it asks
PROGRAMS = {
    "store": ("store", "172.17.0.2:8080", ()),
    "box": ("box", "172.17.0.2:8080", ("192.168.77.1:30081",)),
    "appwork": ("app", "127.0.0.1:9000", ()),
    "app": ("app", "10.244.1.3:8080", ("127.0.0.1:9000", "192.168.77.2:30080")),
    "webwork": ("web", "127.0.0.1:9000", ()),
    "web": ("web", "10.244.2.2:8080", ("127.0.0.1:9000", "10.96.0.11:80")),
}
TARGET = "10.96.0.10:80"
# The services of both hosts, as kube-proxy and docker make them: a service address leads to a pod, a port of the host
# too; what leaves the pods' networks goes under the host's address, and what comes in by a port of the second host is
# masqueraded, so that answers come back this way.
RULES = """\
table ip nat {{
	chain services {{
		ip daddr 10.96.0.10 tcp dport 80 dnat to 10.244.2.2:8080
		ip daddr 10.96.0.11 tcp dport 80 dnat to 10.244.1.3:8080
		ip daddr 192.168.77.2 tcp dport 30080 fib daddr type local meta mark set 1 dnat to 172.17.0.2:8080
		ip daddr 192.168.77.1 tcp dport 30081 fib daddr type local dnat to 172.17.0.2:8080
	}}
	chain prerouting {{
		type nat hook prerouting priority dstnat;
		jump services
	}}
	chain postrouting {{
		type nat hook postrouting priority srcnat;
		meta mark 1 masquerade fully-random
		ip saddr 10.244.{number}.0/24 ip daddr != 10.244.0.0/16 masquerade fully-random
		ip saddr 172.17.0.0/16 oifname != "docker0" masquerade
	}}
}}
"""


class Pods(hosts.Hosts):
    def __init__(self):
        super().__init__(NAMESPACES)

    def make(self):
        self.make_namespaces()
        self.link("nodea", "eth0", "nodeb", "eth0")
        for node, (address, number) in NODES.items():
            self.inside(node, "ip", "address", "add", f"{address}/24", "dev", "eth0")
            self.inside(node, "sysctl", "-qw", "net.ipv4.ip_forward=1")
            for bridge, gateway in (("cni0", f"10.244.{number}.1"), ("docker0", "172.17.0.1")):
                self.inside(node, "ip", "link", "add", bridge, "type", "bridge")
                self.inside(node, "ip", "address", "add", f"{gateway}/24", "dev", bridge)
                self.inside(node, "ip", "link", "set", bridge, "up")
            self.make_tunnel(node, address, number)
            self.inside(node, "nft", RULES.format(number=number))
        self.join_tunnels()
        for pod, (node, bridge, address) in PODS.items():
            self.link(pod, "eth0", node, f"veth{pod}")
            self.inside(node, "ip", "link", "set", f"veth{pod}", "master", bridge)
            self.inside(pod, "ip", "address", "add", f"{address}/24", "dev", "eth0")
            self.inside(pod, "ip", "route", "add", "default", "via", f"{address.rsplit('.', 1)[0]}.1")

    def make_tunnel(self, node, address, number):
        """As flannel does: VXLAN by Linux' own port, a route to each other host's pods, no flooding."""
        self.inside(node, "ip", "link", "add", "flannel.1", "type", "vxlan", "id", "1", "dstport", "8472", "local",
                    address, "dev", "eth0", "nolearning")
        self.inside(node, "ip", "link", "set", "flannel.1", "address", f"02:00:00:00:77:{number:02x}")
        self.inside(node, "ip", "address", "add", f"10.244.{number}.0/32", "dev", "flannel.1")
        self.inside(node, "ip", "link", "set", "flannel.1", "mtu", "1450", "up")

    def join_tunnels(self):
        for node in NODES:
            for other, (address, number) in NODES.items():
                if other == node:
                    continue
                mac = f"02:00:00:00:77:{number:02x}"
                self.inside(node, "bridge", "fdb", "append", mac, "dev", "flannel.1", "dst", address)
                self.inside(node, "ip", "neighbour", "add", f"10.244.{number}.0", "lladdr", mac, "dev", "flannel.1")
                self.inside(node, "ip", "route", "add", f"10.244.{number}.0/24", "via", f"10.244.{number}.0", "dev",
                            "flannel.1", "onlink")
