/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What both pages share: the data, the kinds of causes, figures, and the theme. Names come from strangers' machines:
 * they are set as text, never as markup.
 */
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);

function make(tag, classes, text) {
	const element = document.createElement(tag);
	if (classes)
		element.className = classes;
	if (text !== undefined && text !== null)
		element.textContent = text;
	return element;
}

const KIND_OF = {
	"running-user": "run", "running-kernel": "kernel", "running-guest": "run", "fork-exec": "kernel", "irq": "irq", "softirq": "irq",
	"runqueue": "cpu", "preempted": "cpu", "cpu-limit": "cpu", "vm-preempted": "vm", "vm-exit": "vm", "disk": "disk",
	"page-fault": "disk", "device": "disk", "lock": "lock", "ipc": "lock", "child": "lock", "timer": "timer",
	"network-send": "net", "network-wire": "net", "network-receive": "net", "retransmission": "loss", "stopped": "none", "unknown": "none",
};
const KINDS = {
	run: "running", kernel: "running in the kernel", irq: "interrupts", cpu: "waiting for a CPU",
	vm: "virtual CPU away",
	disk: "disk, paging, device", lock: "lock, pipe, signal", timer: "timer", net: "network", loss: "retransmission",
	none: "unknown or stopped",
};

function formatDuration(ns) {
	const size = Math.abs(ns);
	const [unit, scale] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
	if (scale === 1)
		return Math.round(ns) + " ns";
	const value = ns / scale;
	const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3;
	return value.toFixed(digits) + " " + unit;
}

const kindNames = Object.keys(KINDS);
const percent = (part, whole) => whole > 0 ? (part * 100 / whole).toFixed(1) : "0.0";

function showFindings() {
	for (const finding of data.findings) {
		const item = make("li");
		item.append(make("span", "tag " + finding.severity, finding.severity));
		if (finding.node)
			item.append(make("b", "", finding.node), ": ");
		item.append(finding.text);
		$("finding-list").append(item);
	}
	if (!data.findings.length)
		$("finding-list").append(make("li", "hint", "Nothing odd was found."));
}

/* The system's choice, or the reader's. */
const theme = {
	choice: "auto",
	media: matchMedia("(prefers-color-scheme: dark)"),
	onChange: () => {},
	apply(forced) {
		const name = forced || (this.choice === "auto" ? (this.media.matches ? "dark" : "light") : this.choice);
		document.documentElement.dataset.theme = name;
		$("theme").textContent = "Theme: " + this.choice;
		this.onChange();
	},
	listen() {
		$("theme").addEventListener("click", () => {
			const order = ["auto", "light", "dark"];
			this.choice = order[(order.indexOf(this.choice) + 1) % order.length];
			this.apply();
		});
		this.media.addEventListener("change", () => this.apply());
		window.addEventListener("beforeprint", () => this.apply("light"));
		window.addEventListener("afterprint", () => this.apply());
	},
};
