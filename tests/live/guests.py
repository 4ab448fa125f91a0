#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A virtual machine of eight bytes of code runs on this machine's KVM while `record --guests` looks: the machine, its
virtual CPU's thread and when that ran are in the recording. Needs root, tracefs and a /dev/kvm that runs something;
exits with 77 and says so without. usage: guests.py DTRACE-COLLECT DTRACE-CHAIN"""
import configparser
import json
import os
import subprocess
import sys
import tempfile

COLLECT, CHAIN = (os.path.abspath(path) for path in sys.argv[1:3])
UUID = "5c1f4f9e-8a53-4d2f-9e0a-6a1d2b3c4d5e"
MAC = "52:54:00:78:00:02"
failures = []

# Real mode: counts to 5000, halts, and begins again each time it is entered (linux/kvm.h has the numbers).
MACHINE = r"""
import ctypes, fcntl, mmap, os, struct, threading, time
HALTED = 5
kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
vm = fcntl.ioctl(kvm, 0xae01, 0)
memory = mmap.mmap(-1, 4096)
memory.write(b"\xb9\x88\x13\xe2\xfe\xf4\xeb\xf8")
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fcntl.ioctl(vm, 0x4020ae46, struct.pack("=IIQQQ", 0, 0, 0, 4096, address))
cpu = fcntl.ioctl(vm, 0xae41, 0)
run = mmap.mmap(cpu, fcntl.ioctl(kvm, 0xae04, 0))
segments = bytearray(0x138)
fcntl.ioctl(cpu, 0x8138ae83, segments)
segments[0:8], segments[12:14] = bytes(8), bytes(2)
fcntl.ioctl(cpu, 0x4138ae84, bytes(segments))
fcntl.ioctl(cpu, 0x4090ae82, struct.pack("=18Q", *([0] * 17), 2))
def enter():
    fcntl.ioctl(cpu, 0xae80, 0)
    return struct.unpack_from("=I", run, 8)[0] == HALTED
def work():
    ctypes.CDLL(None).prctl(15, b"CPU 0/KVM", 0, 0, 0)
    print("ready" if enter() else "no", threading.get_native_id(), flush=True)
    while enter():
        time.sleep(0.001)
threading.Thread(target=work).start()
"""


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("  FAILED: " + what, flush=True)


def start_machine():
    """The process, and its virtual CPU's thread; None: nothing runs here."""
    command = [sys.executable, "-c", MACHINE, "-name", "guest=vm-live,debug-threads=on", "-uuid", UUID, "-device",
               "virtio-net-pci,mac=" + MAC]
    machine = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    words = machine.stdout.readline().split()
    if words[:1] == ["ready"]:
        return machine, int(words[1])
    machine.kill()
    machine.communicate()
    return None, 0


def look(folder, machine, thread):
    environment = configparser.ConfigParser(interpolation=None)
    command = [COLLECT, "record", "--guests", "--events-set", "minimal", "--no-packets", "--for", "1s", "-o",
               os.path.join(folder, "host")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    expect(done.returncode in (0, 3), "it is recorded: %d %s" % (done.returncode, done.stderr))
    expect("vm-live (process %d), 1 virtual CPUs\n" % machine.pid in done.stdout, "it is told: " + done.stdout)
    done = subprocess.run([COLLECT, "check", "--guests"], check=False, capture_output=True, text=True)
    expect("vm-live (process %d), 1 virtual CPUs\n" % machine.pid in done.stdout, "check tells it: " + done.stdout)
    environment.read(os.path.join(folder, "host", "environment"), encoding="utf-8")
    group = "guest %d" % machine.pid
    expect(environment.has_section(group), "it is written down: %s" % environment.sections())
    if not environment.has_section(group):
        return
    told = dict(environment[group])
    expect((told["name"], told["uuid"], told["network-cards"]) == ("vm-live", UUID, MAC + ";"), "who it is: %s" % told)
    expect(told.get("vcpu-threads") == "%d;" % thread, "its thread is known: %s" % told)
    done = subprocess.run([CHAIN, "vms", folder, "--format", "json"], check=False, capture_output=True,
                          env=dict(os.environ, DTRACE_CHAIN_CACHE="none"))
    vcpus = json.loads(done.stdout)["vcpus"] if done.stdout else []
    if vcpus:
        expect([one["tid"] for one in vcpus if one["running_ns"] > 0] == [thread], "when it ran: %s" % vcpus)
    else:  # real mode on a KVM without hardware's help
        print("no kvm_entry here: every instruction was emulated")


def main():
    if os.geteuid() != 0 or not os.access("/sys/kernel/tracing/instances", os.W_OK):
        print("skipped: it takes root and tracefs to record this machine")
        return 77
    if not os.path.isdir("/sys/kernel/tracing/events/kvm"):
        print("skipped: this kernel has no kvm events")
        return 77
    machine, thread = start_machine()
    if not machine:
        print("skipped: nothing runs on /dev/kvm")
        return 77
    try:
        with tempfile.TemporaryDirectory() as folder:
            look(folder, machine, thread)
    finally:
        machine.kill()
        machine.communicate()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
