#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs in the pods. A service asks each of its neighbours in turn for every request, and writes down when it had
the request and when it answered; the client asks for a list of requests.
usage: pod.py NAME LISTEN LOG [NEXT...]
       pod.py client LIST LOG TARGET"""
import json
import socket
import sys
import threading
import time

SLOW_S = 0.010
kept = threading.local()


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def set_name(name):
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(name)


class Log:
    """Lines of JSON; each is there as soon as it is written."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="ascii", buffering=1)

    def add(self, **fields):
        self.file.write(json.dumps(fields) + "\n")


def read_head(stream):
    """The first line and the headers; (None, None) at the end of the connection. No message of this lab has a body but
    for answers, whose length is told."""
    first = stream.readline().decode("ascii").strip()
    headers = {}
    while first:
        line = stream.readline().decode("ascii").strip()
        if not line:
            return first, headers
        name, value = line.split(":", 1)
        headers[name.lower()] = value.strip()
    return None, None


def connect(target, is_kept):
    """A connection of this thread, the one that it had before if connections are kept."""
    connections = kept.__dict__.setdefault("connections", {})
    found = connections.pop(target, None) if is_kept else None
    if not found:
        found = socket.create_connection(address(target), timeout=10)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def ask(target, name, slow, is_kept):
    connection = connect(target, is_kept)
    connection.sendall(f"GET /{name} HTTP/1.1\r\nHost: {target}\r\nX-Request-Id: {name}\r\nX-Slow: {slow}\r\n"
                       f"Connection: {'keep-alive' if is_kept else 'close'}\r\n\r\n".encode("ascii"))
    with connection.makefile("rb") as stream:
        first, headers = read_head(stream)
        if first:
            stream.read(int(headers["content-length"]))
    if is_kept and first:
        kept.connections[target] = connection
    else:
        connection.close()
    return int(first.split()[1]) if first else 0


def answer(connection, own_name, log, neighbours):
    with connection, connection.makefile("rb") as stream:
        while True:
            first, headers = read_head(stream)
            if not first:
                return
            begin_ns = time.monotonic_ns()
            name, slow = headers["x-request-id"], headers["x-slow"]
            is_kept = headers["connection"] == "keep-alive"
            status = [ask(target, name, slow, is_kept) for target in neighbours]
            slept_ns = time.monotonic_ns()
            if slow == own_name:
                time.sleep(SLOW_S)
            end_ns = time.monotonic_ns()
            code = 200 if all(one == 200 for one in status) else 502
            log.add(id=name, service=own_name, tid=threading.get_native_id(), begin_ns=begin_ns, end_ns=end_ns,
                    slept_ns=end_ns - slept_ns if slow == own_name else 0)
            connection.sendall(f"HTTP/1.1 {code} Done\r\nContent-Length: {len(own_name)}\r\n"
                               f"Connection: {headers['connection']}\r\n\r\n{own_name}".encode("ascii"))
            if not is_kept:
                return


def serve(own_name, listen, log, neighbours):
    listener = socket.create_server(address(listen), backlog=64)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=answer, args=(connection, own_name, log, neighbours), daemon=True).start()


def ask_all(path, log, target):
    """A line of the list: id, who is slow, 'keep' or 'close'."""
    # what Python loads for its first connection takes a millisecond
    socket.getaddrinfo(*address(target), type=socket.SOCK_STREAM)
    with open(path, encoding="ascii") as file:
        for line in file:
            name, slow, how = line.split()
            begin_ns = time.monotonic_ns()
            status = ask(target, name, slow, how == "keep")
            log.add(id=name, slow=slow, status=status, tid=threading.get_native_id(), begin_ns=begin_ns,
                    end_ns=time.monotonic_ns())


def main():
    own_name, place, path, *others = sys.argv[1:]
    set_name(own_name)
    if own_name == "client":
        ask_all(place, Log(path), others[0])
    else:
        serve(own_name, place, Log(path), others)


if __name__ == "__main__":
    main()
