#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes call_numbers.c: what system calls are called by their numbers, from the kernel's headers for user space
(Debian: linux-libc-dev). usage: call_numbers.py /usr/include/x86_64-linux-gnu/asm/unistd_64.h
/usr/include/asm-generic/unistd.h > call_numbers.c"""
import re
import subprocess
import sys

HEAD = """/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Made by call_numbers.py of the kernel's headers for user space. */
#include "collect/read/call_numbers.h"

#include <string.h>
"""
TAIL = """
static const struct {
	const char *machine; /* as uname -m tells it */
	const char *const *names;
	gsize count;
} machines[] = {
	{ "x86_64", x86_64, G_N_ELEMENTS(x86_64) },
	{ "aarch64", aarch64, G_N_ELEMENTS(aarch64) },
};

const char *dtc_call_number_get_name(const char *machine, gint64 number)
{
	for (gsize i = 0; i < G_N_ELEMENTS(machines); i++)
		if (strcmp(machines[i].machine, machine) == 0)
			return number >= 0 && (guint64)number < machines[i].count ? machines[i].names[number] : NULL;
	return NULL;
}
"""


def read(path, *defines):
    macros = subprocess.run(["cpp", "-dM", *defines, path], capture_output=True, text=True, check=True).stdout
    names = {}
    for name, value in re.findall(r"^#define __NR_(\w+) (\w+)$", macros, re.M):
        value = re.sub(r"^__NR3264_(\w+)$", lambda m: re.search(rf"__NR3264_{m[1]} (\d+)", macros)[1], value)
        if value.isdigit() and name != "syscalls" and not name.startswith("arch_specific"):
            names[int(value)] = name
    return names


def write(name, names):
    print(f"\nstatic const char *const {name}[] = {{")
    for number in sorted(names):
        print(f'\t[{number}] = "{names[number]}",')
    print("};")


def main():
    print(HEAD, end="")
    write("x86_64", read(sys.argv[1]))
    write("aarch64", read(sys.argv[2], "-D__BITS_PER_LONG=64", "-D__ARCH_WANT_NEW_STAT", "-D__ARCH_WANT_RENAMEAT",
                          "-D__ARCH_WANT_SET_GET_RLIMIT", "-D__ARCH_WANT_TIME32_SYSCALLS",
                          "-D__ARCH_WANT_SYS_CLONE3"))
    print(TAIL, end="")


if __name__ == "__main__":
    main()
