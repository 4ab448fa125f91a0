#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the man pages and the completions from the tables that the program itself parses (--help-table).
usage: manual.py --program FILE --version VERSION --source DIR --out DIR PAGE...
The parts in words that no table has are docs/man/PAGE.in: roff, in which @COMMANDS@, @COMMON@, @SEE@ and @VERSION@ are
replaced."""
import argparse
import json
import os
import re
import subprocess

COMMON = "Options of every command"
CHAIN_EXIT_STATUS = [
    ("0", "Done."),
    ("1", "Failed; the reason and a hint are on stderr. Of bundle check: something has changed."),
    ("2", "Wrong usage; also a node, thread, process, request, cause or format that is not there."),
    ("3", "Done but incomplete: a selected node is not aligned, events were lost, or a file is damaged."),
    ("4", "Of compare: slower than --fail-over allows."),
    ("130", "Interrupted."),
]
COLLECT_EXIT_STATUS = [
    ("0", "Done; also of a recording that Ctrl\\-C or SIGTERM ended."),
    ("1", "Failed; the reason and a hint are on stderr. Of check: nothing can be recorded."),
    ("2", "Wrong usage."),
    ("3", "Done but incomplete: events or packets were lost, the disk was full, or sealing was interrupted."),
]


class Program:
    """What a program has that its tables do not say."""

    def __init__(self, name, exit_status, default=None, actions=None):
        self.name = name
        self.exit_status = exit_status
        self.default = default  # the command without a command word
        self.actions = actions or {}  # command: the words that can follow it
        self.function = "_" + name.replace("-", "_")


PROGRAMS = {program.name: program for program in (
    Program("dtrace-chain", CHAIN_EXIT_STATUS, "analyze", {"bundle": ["create", "redact", "check", "show"]}),
    Program("dtrace-collect", COLLECT_EXIT_STATUS),
)}


def read_tables(program):
    names = subprocess.run([program, "--help-table"], check=True, capture_output=True, text=True).stdout.split()
    return [json.loads(subprocess.run([program, name, "--help-table"], check=True, capture_output=True,
                                      text=True).stdout) for name in names]


# ---- man pages ----

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith((".", "\\(aq")) else text


def roff_option(option):
    short = "\\fB\\-%s\\fR, " % option["short"] if option["short"] else ""
    argument = " \\fI%s\\fR" % roff(option["argument"]) if option["argument"] else ""
    return ".TP\n%s\\fB\\-\\-%s\\fR%s\n%s.\n" % (short, roff(option["name"]), argument, roff(option["text"]))


def roff_options(table, heading):
    return "".join(roff_option(option) for option in table["options"] if option["heading"] == heading)


def roff_exit(program):
    return "".join(".TP\n.B %s\n%s\n" % (code, roff(text)) for code, text in program.exit_status)


def header(program, name, section, version):
    manual = "User Commands" if section == 1 else "File Formats"
    return '.\\" SPDX-License-Identifier: GPL-3.0-or-later\n.TH %s %d "" "%s %s" "%s"\n' % (
        name.upper(), section, program.name, version, manual)


def command_page(program, table, version):
    name = "%s-%s" % (program.name, table["name"])
    page = header(program, name, 1, version)
    page += ".SH NAME\n%s \\- %s\n" % (roff(name), roff(table["summary"]))
    page += ".SH SYNOPSIS\n.B %s\n%s\n[\\fIOPTION\\fR...]\n" % (
        roff("%s %s" % (program.name, table["name"])), roff(table["synopsis"]))
    page += ".SH DESCRIPTION\n%s\n" % roff(table["description"])
    headings = []
    for option in table["options"]:
        if option["heading"] not in headings:
            headings.append(option["heading"])
    for heading in sorted(headings, key=lambda h: (h == COMMON, headings.index(h))):
        page += ".SH %s\n%s" % (roff(heading).upper().replace("\\(AQ", "\\(aq"), roff_options(table, heading))
    page += ".SH EXIT STATUS\n" + roff_exit(program)
    page += ".SH EXAMPLES\n" + "".join(".TP\n%s\n%s.\n" % (roff(example["command"]), roff(example["what"]))
                                      for example in table["examples"])
    page += ".SH SEE ALSO\n.BR %s (1),\n.BR dtrace\\-bundle (5)\n" % roff(program.name)
    return page


def fill(template, program, tables, version):
    commands = "".join(".TP\n\\fB%s\\fR\n%s.\n" % (
        roff("%s %s" % (program.name, table["name"])), roff(table["summary"])) for table in tables)
    see = "".join(".BR %s (1),\n" % roff("%s-%s" % (program.name, table["name"])) for table in tables)
    for mark, text in (("@COMMANDS@\n", commands), ("@COMMON@\n", roff_options(tables[0], COMMON)),
                       ("@EXIT@\n", roff_exit(program)), ("@SEE@\n", see), ("@VERSION@", version)):
        template = template.replace(mark, text)
    return template


# ---- completions ----

def kind_of(option):
    if option["kind"] == "none":
        return "none"
    if option["values"]:
        return "values"
    return "file" if option["kind"] == "file" else "text"


def bash_completion(program, tables):
    out = ["# SPDX-License-Identifier: GPL-3.0-or-later", "# bash completion for %s" % program.name, "",
           "%s()" % program.function, "{",
           "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}",
           "\tlocal command=%s word options" % (program.default or "''"),
           "\t# bash breaks --option=value at the equals sign",
           "\tif [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then "
           "previous=${COMP_WORDS[COMP_CWORD-2]}; fi",
           "\tCOMPREPLY=()",
           "\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do",
           "\t\tcase $word in",
           "\t\t%s) command=$word; break ;;" % "|".join(table["name"] for table in tables),
           "\t\tesac", "\tdone", "\tcase $command:$previous in"]
    for table in tables:
        for option in table["options"]:
            words = ["%s:--%s" % (table["name"], option["name"])]
            if option["short"]:
                words.append("%s:-%s" % (table["name"], option["short"]))
            kind = kind_of(option)
            if kind == "values":
                reply = "mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$current\")" % " ".join(option["values"])
            elif kind == "file":
                reply = "mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); compopt -o filenames 2>/dev/null"
            elif kind == "text":
                reply = ":"
            else:
                continue
            out.append("\t%s) %s; return ;;" % ("|".join(words), reply))
    out += ["\tesac", "\tcase $command in"]
    for table in tables:
        names = " ".join("--" + option["name"] for option in table["options"])
        out.append("\t%s) options='%s --help' ;;" % (table["name"], names))
    out += ["\tesac",
            "\tif [[ $current == -* ]]; then",
            "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")",
            "\t\treturn", "\tfi"]
    for command, actions in program.actions.items():
        out += ["\tif [[ $command == %s && $previous == %s ]]; then" % (command, command),
                "\t\tmapfile -t COMPREPLY < <(compgen -W '%s' -- \"$current\")" % " ".join(actions),
                "\t\treturn", "\tfi"]
    out += ["\tmapfile -t COMPREPLY < <(compgen -f -- \"$current\")",
            "\tcompopt -o filenames 2>/dev/null",
            "\tif ((COMP_CWORD == 1)); then",
            "\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W '%s help' -- \"$current\")"
            % " ".join(table["name"] for table in tables),
            "\tfi", "}", "complete -F %s %s" % (program.function, program.name), ""]
    return "\n".join(out)


def zsh_quote(text):
    return text.replace("'", "'\\''")


def zsh_text(text):
    return zsh_quote(re.sub(r"([\[\]:\\])", r"\\\1", text))


def zsh_option(option):
    argument = ""
    kind = kind_of(option)
    if kind != "none":
        action = {"values": "(%s)" % " ".join(option["values"]), "file": "_files", "text": " "}[kind]
        argument = ":%s:%s" % (zsh_text(option["argument"] or "value"), action)
    repeat = "*" if "repeatable" in option["text"] else ""
    equals = "=" if kind != "none" else ""
    lines = ["'%s--%s%s[%s]%s'" % (repeat, option["name"], equals, zsh_text(option["text"]), argument)]
    if option["short"]:
        lines.append("'%s-%s[%s]%s'" % (repeat, option["short"], zsh_text(option["text"]), argument))
    return lines


def zsh_completion(program, tables):
    out = ["#compdef %s" % program.name, "# SPDX-License-Identifier: GPL-3.0-or-later", "",
           "%s() {" % program.function, "\tlocal command=%s word" % (program.default or "''"),
           "\tlocal -a commands", "\tcommands=("]
    out += ["\t\t'%s:%s'" % (table["name"], zsh_text(table["summary"])) for table in tables]
    out += ["\t)", "\tif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
            "\t\t_describe -t commands command commands", "\t\t_files", "\t\treturn", "\tfi",
            "\tif (( ${commands[(I)$words[2]:*]} )); then", "\t\tcommand=$words[2]", "\tfi",
            "\tcase $command in"]
    for table in tables:
        lines = [line for option in table["options"] for line in zsh_option(option)]
        rest = "'*:bundle:_files'"
        if table["name"] in program.actions:
            rest = "'1:word:(%s)' '2:action:(%s)' %s" % (
                table["name"], " ".join(program.actions[table["name"]]), rest)
        out.append("\t%s)" % table["name"])
        out.append("\t\t_arguments \\\n\t\t\t%s \\\n\t\t\t'--help[Show the options]' \\\n\t\t\t%s ;;" % (
            " \\\n\t\t\t".join(lines), rest))
    out += ["\tesac", "}", "", '%s "$@"' % program.function, ""]
    return "\n".join(out)


def fish_quote(text):
    return "'%s'" % text.replace("\\", "\\\\").replace("'", "\\'")


def fish_completion(program, tables):
    names = " ".join(table["name"] for table in tables)
    out = ["# SPDX-License-Identifier: GPL-3.0-or-later", "# fish completion for %s" % program.name, ""]
    for table in tables:
        out.append("complete -c %s -n 'not __fish_seen_subcommand_from %s' -a %s -d %s" % (
            program.name, names, table["name"], fish_quote(table["summary"])))
    for command, actions in program.actions.items():
        out.append("complete -c %s -n '__fish_seen_subcommand_from %s' -a '%s'" % (
            program.name, command, " ".join(actions)))
    out.append("complete -c %s -l help -s h -d 'Show the options'" % program.name)
    for table in tables:
        if table["name"] == program.default:
            condition = "__fish_seen_subcommand_from %s; or not __fish_seen_subcommand_from %s" % (
                program.default, names)
        else:
            condition = "__fish_seen_subcommand_from %s" % table["name"]
        for option in table["options"]:
            kind = kind_of(option)
            line = "complete -c %s -n '%s' -l %s" % (program.name, condition, option["name"])
            if option["short"]:
                line += " -s %s" % option["short"]
            line += {"none": "", "text": " -x", "file": " -r -F",
                     "values": " -x -a %s" % fish_quote(" ".join(option["values"]))}[kind]
            out.append("%s -d %s" % (line, fish_quote(option["text"])))
    return "\n".join(out) + "\n"


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "version", "source", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("pages", nargs="+")
    options = parser.parse_args()
    tables = read_tables(options.program)
    program = PROGRAMS[os.path.basename(options.program)]
    man = os.path.join(options.out, "man")
    for table in tables:
        write(man, "%s-%s.1" % (program.name, table["name"]), command_page(program, table, options.version))
    for name in options.pages:
        with open(os.path.join(options.source, "docs/man", name + ".in"), encoding="utf-8") as file:
            write(man, name, fill(file.read(), program, tables, options.version))
    completions = os.path.join(options.out, "completions")
    write(completions, program.name + ".bash", bash_completion(program, tables))
    write(completions, "_" + program.name, zsh_completion(program, tables))
    write(completions, program.name + ".fish", fish_completion(program, tables))


if __name__ == "__main__":
    main()
