# SPDX-License-Identifier: GPL-3.0-or-later
"""What of an original is left in something that was made of it: words, wherever they stood in captures and in the texts
of a trace, and addresses in text and in binary, both byte orders."""
import ipaddress
import os
import re
import struct
import subprocess
import tempfile

WORD = re.compile(rb"[0-9A-Za-z]{5,}")
# Of protocols, of the tracer and of the kernel's own threads and files (collect/redact/names.c): not of anybody.
COMMON = set(rb"""
 traceparent Content content Length length Transfer transfer Encoding encoding chunked Request request Correlation
 correlation TraceId traceid TRACE OPTIONS CONNECT PATCH DELETE uber trace ext4 conver rcu jbd2 rcuos rcuop swapper
 kthreadd ksoftirqd migration cpuhp inject preempt sched bh tasks kthre kthread kworker kswapd0 kcompactd0 khugepaged
 kdevtmpfs kauditd khungtaskd reaper writeback kblockd kintegrityd watchdogd percpu flushwq psimon hwrng xfsaild
 socket eventpoll eventfd timerfd signalfd uring event userfaultfd pidfd fanotify inotify inode cgroup urandom random
 local timer arch Rescheduling Function interrupts wakeup lttng consumerd sessiond relayd runas tcpdump collect
 localhost chain bundle Monotonic Clock monotonic statedump metadata kernel environment manifest packets capture
 dtrace redacted default minimal tracefs Linux modules amd64 86 session ustar dumpcap
""".split())


def list_pcap_payload(path):
    """Whatever is behind the file's header and those of its records."""
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at + 16 <= len(data):
        captured, = struct.unpack_from(order + "I", data, at + 8)
        yield data[at + 16 : at + 16 + captured]
        at += 16 + captured


def list_words(data):
    return {w for w in WORD.findall(data) if w not in COMMON and not w.isdigit()}


def list_texts(path):
    """Texts in a stream of events: six printable bytes at least, up to a zero."""
    with open(path, "rb") as file:
        data = file.read()
    return [t for t in re.findall(rb"[\x20-\x7e]{6,}(?=\x00)", data)]


def get_header_bytes(packet, at):
    """IPv4's and what is behind it."""
    if packet[at + 9] == 6 and len(packet) > at + 32:
        return 20 + (packet[at + 32] >> 4) * 4
    return 28


class Original:
    def __init__(self, folder):
        self.words = set()
        self.addresses = set()
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                if name.endswith(".pcap"):
                    self.take_capture(path)
                elif os.path.basename(root) == "kernel" and name != "metadata":
                    for text in list_texts(path):
                        # a number before a text can end like one, or look like one
                        self.words |= {w for w in list_words(text)
                                       if not w.endswith(tuple(COMMON)) and (w.islower() or len(w) > 7)}
        for entry in os.listdir(folder):
            if os.path.isdir(os.path.join(folder, entry)):
                self.words.add(entry.encode())

    def take_capture(self, path):
        for packet in list_pcap_payload(path):
            for at in (14, 16, 20):  # behind the link layers that recorders use
                if len(packet) >= at + 20 and packet[at] == 0x45 and packet[at + 9] in (1, 6, 17):
                    self.addresses |= {packet[at + 12 : at + 16], packet[at + 16 : at + 20]}
                    self.words |= list_words(packet[at + get_header_bytes(packet, at) :])
                    break
        self.addresses = {a for a in self.addresses if ipaddress.ip_address(a).is_private and a[0] not in (0, 127)}

    def find_in(self, data, where, faults):
        # as a word: part of a longer one it is nobody's
        for word in WORD.findall(data) if len(data) else ():
            if word in self.words:
                faults.append(f"{where}: '{word.decode()}'")
        for address in self.addresses:
            text = str(ipaddress.ip_address(address)).encode()
            for form in (address, address[::-1], address.hex().encode(), address.hex().upper().encode()):
                if form in data:
                    faults.append(f"{where}: {text.decode()} in binary or hexadecimal, at byte {data.index(form)}")
            if re.search(rb"(?<![0-9.])" + re.escape(text) + rb"(?![0-9.]*[0-9])", data):
                faults.append(f"{where}: {text.decode()} in text")


def list_files(bundle):
    """Of a folder or a packed bundle: names and contents, and of the latter the file as it lies there, too."""
    if os.path.isfile(bundle):
        with open(bundle, "rb") as file:
            yield os.path.basename(bundle), file.read()
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "--zstd", "-xf", os.path.abspath(bundle), "-C", folder], check=True)
            yield from list_files(folder)
        return
    for root, _, names in os.walk(bundle):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                yield os.path.relpath(path, bundle), file.read()


def find(original, bundle):
    """What is left, as texts; names of files and folders are looked at, too."""
    faults = []
    for name, data in list_files(bundle):
        original.find_in(name.encode(), "a name", faults)
        if not name.endswith("metadata"):
            original.find_in(data, name, faults)
        else:  # its language has words of its own
            texts = b" ".join(re.findall(rb'(?:hostname|trace_name|description|product_uuid) = "([^"]*)"', data))
            original.find_in(texts, name, faults)
            assert b"/*" not in data[13:], f"{name} has comments"
    return sorted(set(faults))
