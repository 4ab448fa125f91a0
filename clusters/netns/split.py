# SPDX-License-Identifier: GPL-3.0-or-later
"""One recorded machine becomes a node per host: the stream of its CPU, the captures of its network namespaces, and the
state dump, which each of them has whole. Their clocks are one clock, so that their true difference is 0."""
import os
import re
import shutil
import uuid


def sections(text):
    """A key file as [(name, lines)]."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"\[(.*)\]", line)
        if match:
            found.append((match.group(1), []))
        elif found:
            found[-1][1].append(line)
    return found


def read_section(node, wanted):
    with open(os.path.join(node, "environment"), encoding="utf-8") as file:
        lines = [line for name, lines in sections(file.read()) if name == wanted for line in lines]
    return dict(line.split("=", 1) for line in lines if "=" in line)


def captures(node):
    """{network namespace's inode: file} of a node."""
    found = {}
    with open(os.path.join(node, "environment"), encoding="utf-8") as file:
        for name, lines in sections(file.read()):
            inode = next((line.split("=", 1)[1] for line in lines if line.startswith("netns=")), None)
            if name.startswith("capture ") and inode:
                found[int(inode)] = name.removeprefix("capture ")
    return found


def copy_environment(source, target, kept):
    with open(os.path.join(source, "environment"), encoding="utf-8") as file:
        found = sections(file.read())
    with open(os.path.join(target, "environment"), "w", encoding="utf-8") as file:
        for name, lines in found:
            if not name.startswith("capture ") or name.removeprefix("capture ") in kept:
                file.write("\n".join([f"[{name}]", *lines]).rstrip() + "\n\n")


def copy_as_another(source, target, whole, cpu):
    """Two nodes cannot be one trace: the trace's id, which each packet repeats, becomes another one."""
    other = uuid.uuid5(whole, str(cpu))
    with open(source, "rb") as file:
        content = file.read()
    with open(target, "wb") as file:
        file.write(content.replace(whole.bytes, other.bytes).replace(str(whole).encode(), str(other).encode()))


def split(source, target, cpu, inodes):
    """Makes the node 'target' of what 'source' has of one CPU and of these namespaces."""
    kernel = os.path.join(target, "kernel")
    os.makedirs(kernel)
    with open(os.path.join(source, "kernel", "metadata"), "rb") as file:
        whole = re.search(rb'\buuid = "([-0-9a-f]{36})"', file.read()).group(1).decode()
    for name in ("metadata", f"cpu{cpu}", "statedump"):
        copy_as_another(os.path.join(source, "kernel", name), os.path.join(kernel, name), uuid.UUID(whole), cpu)
    kept = [file for inode, file in captures(source).items() if inode in inodes]
    for file in kept:
        shutil.copy(os.path.join(source, file), target)
    copy_environment(source, target, kept)
