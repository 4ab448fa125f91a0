/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/manual.h"

static const struct dtc_manual manuals[] = {
	{ "analyze",
	  "[BUNDLE] --request-id ID | --thread NODE:TID|NODE:NAME",
	  "where the time of one request or thread went (the default)",
	  "Explains the time of one request, from its first byte to the last byte of its answer, or of one thread "
	  "over a span: by tier and by cause, as the critical path through threads and machines, and as what was "
	  "blocked on what. Every nanosecond is in one row. The command word can be left out.",
	  { { "dtrace-chain --bundle clusters/demo --nodes client,web,backend --request-id req-0069",
	      "why one request was slow" },
	    { "dtrace-chain clusters/demo --thread backend:138 --from +5s --to +5.2s",
	      "what a thread did, and what it waited for, in 200 ms" },
	    { "dtrace-chain clusters/demo --cluster clusters/demo.conf --request-id req-0036",
	      "the same with names of your own for the tiers" },
	    { "dtrace-chain clusters/demo -r req-0069 --html answer.html", "as a page for the browser" } } },
	{ "requests",
	  "[BUNDLE]",
	  "all requests of a bundle: who is slow, and why",
	  "Explains every request in the captures, with an id or without: by URL, one row each, by tier and by "
	  "percentile: how long it took, and where the time went.",
	  { { "dtrace-chain requests clusters/demo --slowest 10", "the ten that took longest" },
	    { "dtrace-chain requests clusters/demo --url /disk --status 2xx", "of one URL, answered well" },
	    { "dtrace-chain requests clusters/demo --tier backend --slower-than 50ms",
	      "slow ones that spent most of their time on one node" } } },
	{ "compare",
	  "[BUNDLE [FAST-BUNDLE]]",
	  "which part of the time makes slow requests slow",
	  "Compares slow requests with fast ones, of the same bundle or of another: which tier and cause grew, and "
	  "by how much.",
	  { { "dtrace-chain compare clusters/demo", "the slowest tenth with the faster half" },
	    { "dtrace-chain compare clusters/demo --slow req-0036 --fast req-0001", "one request with another" },
	    { "dtrace-chain compare clusters/demo --url /disk", "the slow ones of a URL with its usual ones" } } },
	{ "stats",
	  "[BUNDLE]",
	  "what each node's recording holds: events, losses, spans, packets",
	  "Reads everything and analyses nothing: the first thing to ask of a new recording. With --by events are "
	  "counted by CPU, or by what the CPU did as they came.",
	  { { "dtrace-chain stats clusters/demo", "what was recorded" },
	    { "dtrace-chain stats clusters/demo --by context",
	      "in which calls, interrupts and processes the events came" } } },
	{ "sync",
	  "[BUNDLE] | --messages FILE",
	  "how the clocks of the nodes relate, and how sure that is",
	  "Aligns the clocks from the packets between the nodes and prints, for every pair, the messages each way, "
	  "offset and drift, and between which bounds the truth certainly lies, under the assumptions that are "
	  "printed with it.",
	  { { "dtrace-chain sync clusters/demo", "the clocks of the demo" },
	    { "dtrace-chain sync clusters/demo --min-delay 20us",
	      "no packet was faster than that: tighter bounds" } } },
	{ "blockings",
	  "[BUNDLE] [--thread NODE:TID | --process NODE:NAME]",
	  "what threads were blocked on, and what their wakers were blocked on",
	  "A table of what all threads, or those of a process, were blocked on; or every blocking of one thread, "
	  "nested: beneath it what the one who ended it was blocked on meanwhile.",
	  { { "dtrace-chain blockings clusters/demo --limit 10", "the ten largest sums" },
	    { "dtrace-chain blockings clusters/demo --thread backend:138 --max-depth 2", "one thread's, nested" } } },
	{ "usage",
	  "[BUNDLE]",
	  "CPU, disk and network of every process, and who talks to whom",
	  "What every process used, over time, and along client-server relations: its own time and that of the "
	  "servers that worked for it.",
	  { { "dtrace-chain usage clusters/demo --interval 1s", "in steps of a second" },
	    { "dtrace-chain usage clusters/demo --from +5s --to +6s", "of one second of the recording" },
	    { "dtrace-chain usage clusters/demo --memory", "memory over time, too, where the trace has it" } } },
	{ "top",
	  "[BUNDLE]",
	  "what every process or thread did with its time",
	  "A row per process or thread: on the CPU, ready to run, blocked on what; with counts of calls, faults and "
	  "switches.",
	  { { "dtrace-chain top clusters/demo --sort disk --limit 5", "who waited for the disk" } } },
	{ "states",
	  "[BUNDLE]",
	  "what a thread, process or node did, by state, call and file",
	  "A tree of sums: working, interrupted, blocked; below it the system calls, and below them the files. With "
	  "--instances the single states, the longest first.",
	  { { "dtrace-chain states clusters/demo --process nginx", "what nginx did" },
	    { "dtrace-chain states clusters/demo --thread backend:138 --instances",
	      "the longest states of a thread" } } },
	{ "vms",
	  "[BUNDLE]",
	  "what every virtual CPU did, and who took its time",
	  "Of every virtual CPU, from its host's trace: how long it was in its guest, how long it was ready and who "
	  "had "
	  "its CPU meanwhile, why it left the guest, how long it was halted. Of a guest whose host was not traced: "
	  "what "
	  "was stolen from it at least, by the silence of CPUs whose timer was due.",
	  { { "dtrace-chain vms clusters/vm.dtcb", "of a guest and its host" },
	    { "dtrace-chain vms clusters/vm.dtcb --nodes guest", "what the guest alone lets guess" } } },
	{ "events",
	  "[BUNDLE]",
	  "the events of all nodes, merged on one clock",
	  "The raw events, in one order on cluster time.",
	  { { "dtrace-chain events clusters/demo --kind 'sched_*' --limit 20", "the first of the scheduler's" } } },
	{ "edges",
	  "[BUNDLE]",
	  "every edge of the waits-for graph, and for whom threads worked",
	  "Who ended which wait, on a path or not: wakeups by threads, disks, packets, timers and interrupts, work "
	  "items, bytes through eventfds and pipes, vCPU entries; and the spans in which threads worked for requests. "
	  "With --format json one object per line, for other tools to query.",
	  { { "dtrace-chain edges clusters/demo --thread backend:138 --from +5s --to +5.02s",
	      "what ended a thread's waits" },
	    { "dtrace-chain edges clusters/demo --request-id req-0069 --format json",
	      "all that the threads that served a request waited for, for programs" } } },
	{ "check",
	  "[BUNDLE]",
	  "verifies what all the others promise about their figures",
	  "Builds everything the other commands build and verifies it: intervals are contiguous, sums are the "
	  "wholes, no message arrives before it is sent, nobody works for a request before it was sent. Whether the "
	  "files are those that were packed is a question for bundle check.",
	  { { "dtrace-chain check clusters/demo", "of the demo" } } },
	{ "explain",
	  "[CAUSE]",
	  "what a cause means, what usually makes it, what to look at next",
	  "Prints what docs/causes.md says of a cause that stands on a path: what it means, which events it rests "
	  "on, what usually makes it, what to look at and to try, and a request of clusters/demo that shows it. "
	  "Without a cause it lists them all. It reads no bundle.",
	  { { "dtrace-chain explain runqueue", "why a thread that was woken did not run" } } },
	{ "bundle",
	  "create OUT [BUNDLE] | redact OUT [BUNDLE] | check [BUNDLE] | show [BUNDLE]",
	  "makes, checks and shows bundles that can be passed on",
	  "create copies what belongs to the nodes of a bundle, with a manifest: names, roles, clocks, counts, and "
	  "a SHA-256 of every file. OUT becomes one packed file if its name ends with .dtcb, else a directory; "
	  "nothing is ever overwritten. redact makes one that can be passed on: what applications sent goes, names and "
	  "addresses become others, and the answers stay the same but for these (docs/collecting.md). check reads "
	  "every byte and names what has changed since. show prints the "
	  "manifest. Every other command takes a packed bundle where it takes a directory.",
	  { { "dtrace-chain bundle create demo.dtcb clusters/demo", "the demo in one file" },
	    { "dtrace-chain bundle redact public.dtcb demo.dtcb --tell req-0069",
	      "without names, addresses and payload; what is req-0069 in it?" },
	    { "dtrace-chain bundle check demo.dtcb", "whether it arrived as it was sent" },
	    { "dtrace-chain bundle show demo.dtcb", "what is in it" } } },
	{ "index",
	  "[BUNDLE] [--index-only OUT]",
	  "reads a bundle ahead of all questions, and keeps what was read",
	  "Every question reads what it needs and keeps it (--cache), so that the next one reads nothing again; this "
	  "does so before the first. With --index-only what was read becomes a bundle of its own, which answers all "
	  "that needs no raw event: everything but events, stats --by and usage --memory.",
	  { { "dtrace-chain index clusters/demo", "so that the first question is as fast as the second" },
	    { "dtrace-chain index clusters/demo --index-only demo-index.dtcb", "to ask elsewhere" } } },
	{ "cache",
	  "[--clear]",
	  "what is kept of recordings that were read",
	  "Shows the images that are kept (--cache names the folder), whose they are, how large, and when each was "
	  "used "
	  "last. What was used longest ago goes when there are more than --cache-size. Answers never depend on it: an "
	  "image "
	  "is found by what it was made of, and checked.",
	  { { "dtrace-chain cache", "what is kept" }, { "dtrace-chain cache --clear", "remove all of it" } } },
};

const struct dtc_program dtc_chain_program = {
	.name = "dtrace-chain",
	.purpose = "dtrace-chain explains where the time of a request went, across threads and machines.",
	.commands = "`dtrace-chain COMMAND --help` tells the options of a command. Without a command word it analyses:",
	.others = "; a bundle is a directory of recordings or a .dtcb file",
	.exit_status = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete, 4 slower than compare "
		       "--fail-over allows, 130 interrupted.",
	.manuals = manuals,
	.manual_count = G_N_ELEMENTS(manuals),
};
