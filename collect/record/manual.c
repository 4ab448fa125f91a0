/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What dtrace-collect and its commands are for, in words. */
#include "collect/record/collect.h"

static const struct dtc_manual manuals[] = {
	{ "record",
	  "[-o NODE] [-- COMMAND...]",
	  "records this machine: kernel events, packets, who is there",
	  "Records until Ctrl-C, for a time, or while a command runs, and seals the recording: NODE is then a node of "
	  "a "
	  "bundle, to be copied beside those of other machines. Events come from an instance of the kernel's own "
	  "tracer, "
	  "packets from every network namespace; no kernel module is needed, and nobody else's tracing is disturbed. "
	  "It says before it begins what will be missing. After sudo, COMMAND runs as the user who called it.",
	  { { "sudo dtrace-collect record -o web1 --for 30s", "half a minute of this machine" },
	    { "sudo dtrace-collect record -- curl http://localhost:8080/", "while a command runs" },
	    { "sudo dtrace-collect record -o web1 --flight 20s --until-slow 200ms:8080",
	      "the seconds before a response that took too long" },
	    { "sudo dtrace-collect record --events-set minimal --headers-only --filter 'tcp port 80'",
	      "at the least cost, and without what was sent" },
	    { "sudo dtrace-collect record -o web1 --redact payload,addresses,names --redact-key team.key",
	      "for strangers, with ids that agree with those of other nodes" },
	    { "sudo dtrace-collect record --events '+exceptions:*,-kvm:*'", "with page faults, without guests" } } },
	{ "cluster",
	  "--nodes a,b,c [-o RUN.dtcb] [-- COMMAND...]",
	  "records several machines at once, and brings it all here",
	  "Connects to each node by ssh, as you do (your keys and ~/.ssh/config), copies itself where it is lacking, "
	  "begins "
	  "on all "
	  "when all are there, ends on all at once, and packs what they recorded into one bundle. COMMAND runs here. "
	  "Nothing is installed and nothing is left on a node; one that fails is named, and the others are not lost. "
	  "What is "
	  "recorded is told by the options of record.",
	  { { "dtrace-collect cluster --nodes web1,db1 --for 10s -o run.dtcb", "ten seconds of two machines" },
	    { "dtrace-collect cluster --cluster shop.conf -o run.dtcb -- curl http://web1/",
	      "the machines of a file, while a command runs here" },
	    { "dtrace-collect cluster --nodes host1,web=root@10.78.0.2 --guests --for 10s",
	      "a host and a virtual machine on it, and which one that is" },
	    { "dtrace-collect cluster --nodes web-0,db-0 --via 'kubectl exec -n shop {node} --' --place /tmp",
	      "in containers, instead of over ssh" } } },
	{ "seal",
	  "NODE",
	  "makes a node of what a crashed or interrupted recorder left",
	  "What was recorded lies in NODE/raw. Sealing makes of it what other programs read (CTF with LTTng's names), "
	  "here "
	  "or on another machine, and removes it.",
	  { { "dtrace-collect seal web1", "after a crash, or after record --raw" } } },
	{ "check",
	  "",
	  "says what this machine can record, and what will be missing",
	  "Takes the options of record, and records nothing: rights, events of this kernel, memory, disk.",
	  { { "sudo dtrace-collect check", "before the first recording" },
	    { "dtrace-collect check --for 10m --events-set full", "of a recording that will be large" } } },
};

const struct dtc_program dtc_collect_program = {
	.name = "dtrace-collect",
	.purpose = "dtrace-collect records what a machine does, for dtrace-chain to explain.",
	.commands = "`dtrace-collect COMMAND --help` tells the options of a command.",
	.others = "",
	.exit_status =
		"Exit status: 0 done, also where a signal ended the recording, 1 failed, 2 wrong usage, 3 done but "
		"incomplete: something was lost, the disk was full, or sealing was interrupted.",
	.manuals = manuals,
	.manual_count = G_N_ELEMENTS(manuals),
};
