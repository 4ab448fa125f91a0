/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The page around the timeline. The data is what analyze/report/html.c wrote; flat lists of numbers with a fixed width
 * are turned into columns here. Names come from strangers' machines: they are set as text, never as markup.
 */
"use strict";

const kindOfCause = data.causes.map(cause => KIND_OF[cause] || "none");

function swatch(cause) {
	const mark = make("i", "swatch k-" + kindOfCause[cause]);
	mark.setAttribute("aria-hidden", "true");
	return mark;
}

/* --- the model: columns --- */

function column(flat, width, at, type) {
	const result = new type(flat.length / width);
	for (let i = 0; i < result.length; i++)
		result[i] = flat[i * width + at];
	return result;
}

function readLane(lane) {
	const flat = lane.bars, count = flat.length / 5;
	const begin = new Float64Array(count), end = new Float64Array(count);
	for (let i = 0, t = 0; i < count; i++) {
		begin[i] = t + flat[i * 5];
		end[i] = t = begin[i] + flat[i * 5 + 1];
	}
	const name = lane.comm ? lane.comm : lane.process === "network" ? "network" : lane.process;
	return {
		...lane, name, begin, end, bars: null,
		cause: column(flat, 5, 2, Uint8Array), detail: column(flat, 5, 3, Uint32Array), count: column(flat, 5, 4, Uint32Array),
	};
}

function readSteps(flat) {
	const width = 8, count = flat.length / width;
	const begin = new Float64Array(count), end = new Float64Array(count);
	for (let i = 0, t = 0; i < count; i++) {
		begin[i] = t;
		end[i] = t += flat[i * width + 1];
	}
	return {
		count, begin, end, lane: column(flat, width, 0, Uint32Array), cause: column(flat, width, 2, Uint8Array),
		detail: column(flat, width, 3, Uint32Array), link: column(flat, width, 4, Uint8Array),
		uncertainty: column(flat, width, 5, Float64Array), hop: column(flat, width, 6, Uint8Array),
		folded: column(flat, width, 7, Uint32Array),
	};
}

function readMessages(flat) {
	const width = 8;
	return {
		count: flat.length / width, from: column(flat, width, 0, Uint32Array), sent: column(flat, width, 1, Float64Array),
		to: column(flat, width, 2, Uint32Array), received: column(flat, width, 3, Float64Array),
		uncertainty: column(flat, width, 4, Float64Array), link: column(flat, width, 5, Uint8Array),
		detail: column(flat, width, 6, Uint32Array), onPath: column(flat, width, 7, Uint8Array),
	};
}

function readBlockings(flat) {
	const width = 8, list = [];
	for (let i = 0; i < flat.length; i += width) {
		const [lane, begin, ns, cause, detail, by, link, parent] = flat.slice(i, i + width);
		list.push({ index: list.length, lane, begin, end: begin + ns, cause, detail, by, link, parent, children: [] });
		if (parent >= 0)
			list[parent].children.push(list.length - 1);
	}
	return list;
}

const model = {
	window: data.window, duration: data.duration, causes: data.causes, strings: data.strings,
	kinds: { names: kindNames, ofCause: kindOfCause.map(kind => kindNames.indexOf(kind)) },
	lanes: data.lanes.map(readLane), steps: readSteps(data.steps), messages: readMessages(data.messages),
	blockings: readBlockings(data.blockings),
};
if (model.window[1] <= model.window[0])
	model.window = [model.window[0], model.window[0] + 1000];
model.stepsOfLane = model.lanes.map(() => []);
for (let i = 0; i < model.steps.count; i++)
	model.stepsOfLane[model.steps.lane[i]].push(i);
/* Steps that begin where a message of the path does are drawn as arrows, not as rules between lanes. */
model.isMessage = new Uint8Array(model.steps.count);
{
	const sent = new Set();
	for (let i = 0; i < model.messages.count; i++)
		if (model.messages.onPath[i])
			sent.add(model.messages.sent[i]);
	for (let i = 0; i < model.steps.count; i++)
		model.isMessage[i] = sent.has(model.steps.begin[i]) && model.steps.hop[i] ? 1 : 0;
}

function nameLane(index) {
	const lane = model.lanes[index];
	return lane.name + (lane.tid >= 0 ? " " + lane.tid : "") + " on " + lane.node;
}

const at = (begin, end) => formatDuration(end - begin) + " at " + formatDuration(begin);

model.describe = found => {
	const lines = [], s = model.steps, m = model.messages, i = found.index;
	const add = text => text && lines.push(text);
	if (found.type === "step") {
		add(data.causes[s.cause[i]] + ", " + at(s.begin[i], s.end[i]));
		add(nameLane(s.lane[i]));
		add(model.strings[s.detail[i]]);
		add(s.folded[i] > 1 ? s.folded[i] + " segments of the path together" : "on the critical path");
		if (s.hop[i] || s.link[i])
			add("link " + data.links[s.link[i]] + (s.uncertainty[i] ? ", " + formatUncertainty(s.uncertainty[i]) : ""));
	} else if (found.type === "bar") {
		const lane = model.lanes[found.lane];
		add((lane.count[i] > 1 ? "mostly " : "") + data.causes[lane.cause[i]] + ", " + at(lane.begin[i], lane.end[i]));
		add(nameLane(found.lane));
		add(model.strings[lane.detail[i]]);
		add(lane.count[i] > 1 ? lane.count[i] + " intervals too short to be kept apart" : "not on the critical path");
	} else if (found.type === "message") {
		add("message, " + at(m.sent[i], m.received[i]));
		add(nameLane(m.from[i]) + " → " + nameLane(m.to[i]));
		add(model.strings[m.detail[i]]);
		add("link " + data.links[m.link[i]] + ", " + formatUncertainty(m.uncertainty[i]));
	} else if (found.type === "blocking") {
		const b = model.blockings[i];
		add(data.causes[b.cause] + ", " + at(b.begin, b.end));
		add(nameLane(b.lane));
		add(model.strings[b.detail]);
		add(b.by ? "woken by " + model.strings[b.by] : "");
	} else {
		const lane = model.lanes[found.lane];
		add(nameLane(found.lane));
		add("process " + lane.process + (lane.pid >= 0 ? " " + lane.pid : "") + (lane.kernel ? ", kernel thread" : ""));
	}
	return lines;
};

/* --- causes --- */

/* A cause leads to what it means, further down on this page. */
function linkCause(cause, text) {
	const link = make("a", "cause", text || data.causes[cause]);
	link.href = "#cause-" + data.causes[cause];
	return link;
}

/* Sections of docs/causes.md, of the causes on the path: paragraphs, and items that begin with "- ". */
function showCauses() {
	const used = new Set();
	for (const tier of data.tiers)
		for (let i = 0; i < tier.rows.length; i += 5)
			used.add(tier.rows[i]);
	for (const cause of [...used].sort((a, b) => a - b)) {
		const box = make("details"), summary = make("summary"), list = make("ul");
		box.id = "cause-" + data.causes[cause];
		summary.append(swatch(cause), data.causes[cause]);
		box.append(summary);
		for (const line of data.pages[cause].split("\n"))
			if (line.startsWith("- "))
				list.append(make("li", "", line.slice(2)));
			else
				box.append(make("p", "", line));
		box.append(list);
		$("cause-list").append(box);
	}
	addEventListener("hashchange", openCause);
	openCause();
}

function openCause() {
	const box = location.hash.startsWith("#cause-") && $(location.hash.slice(1));
	if (box) {
		box.open = true;
		box.scrollIntoView();
	}
}

/* --- headline --- */

/* Digits of a 64-bit time, cut as text: a number would lose some. */
function formatMoment(ns) {
	const sign = ns.startsWith("-") ? "-" : "";
	const digits = ns.replace("-", "").padStart(10, "0");
	return sign + digits.slice(0, -9) + "." + digits.slice(-9) + " s";
}

function formatThread(who) {
	if (who.comm === null && who.tid < 0)
		return who.process;
	return (who.comm || "thread") + (who.tid >= 0 ? " " + who.tid : "");
}

function showHead() {
	const thread = formatThread(data.target);
	$("subject").textContent = data.request !== null ? data.request : thread + " on " + data.target.node;
	$("total").textContent = formatDuration(data.duration);
	$("total").title = data.duration + " ns";
	const what = [];
	if (data.method || data.url)
		what.push([data.method, data.url].filter(Boolean).join(" "));
	if (data.status)
		what.push("status " + data.status);
	for (const source of data.sources)
		if (source.value !== data.request)
			what.push(source.source + " " + source.value);
	$("what").textContent = what.join("  ·  ") || (data.request !== null ? "request" : "thread");
	const verdict = $("verdict");
	if (data.dominant)
		verdict.append(swatch(data.dominant.cause), data.verdict + ". ", linkCause(data.dominant.cause,
			"What " + data.causes[data.dominant.cause] + " means"));
	else
		verdict.textContent = "Nothing to explain: the span is empty.";
	for (const machine of data.machines) {
		const item = make("li");
		item.append(make("b", "", machine.node), " ", make("b", "", formatDuration(machine.ns)),
			" " + percent(machine.ns, data.duration) + " %  " + machine.parts);
		$("machines").append(item);
	}
	const beside = [data.waited, data.usual].filter(Boolean);
	$("beside").hidden = !beside.length;
	$("beside").textContent = beside.join(". ") + ".";
	$("incomplete").hidden = data.complete;
	$("outside").hidden = !data.outside;
	if (data.outside)
		$("outside").textContent = "The request " + data.outside + ".";
	$("meta").textContent = "Seen by " + thread + " on " + data.target.node + ", from " + (data.wall ? data.wall + ", " : "") +
		formatMoment(data.begin) + " on the clock of " + data.reference + ".";
}

/* --- breakdown --- */

function showBreakdown() {
	const sums = new Map(kindNames.map(kind => [kind, 0])), largest = new Map();
	const body = $("tiers").tBodies[0];
	for (const tier of data.tiers) {
		const rows = [];
		for (let i = 0; i < tier.rows.length; i += 5)
			rows.push({ cause: tier.rows[i], ns: tier.rows[i + 1], detail: tier.rows[i + 2] });
		for (const row of rows) {
			const kind = kindOfCause[row.cause];
			sums.set(kind, sums.get(kind) + row.ns);
			if (!largest.has(kind) || largest.get(kind).ns < row.ns)
				largest.set(kind, row);
		}
		addTier(body, tier, rows);
	}
	for (const [kind, ns] of sums) {
		if (!ns)
			continue;
		const part = make("i", "k-" + kind);
		part.style.flex = ns + " 0 0";
		$("stack").append(part);
		const entry = make("li");
		entry.append(make("i", "swatch k-" + kind), linkCause(largest.get(kind).cause, KINDS[kind]), " ",
			make("b", "", formatDuration(ns)), " " + percent(ns, data.duration) + " %");
		$("stack-legend").append(entry);
	}
}

function addTier(body, tier, rows) {
	const head = body.insertRow();
	head.className = "tier";
	const name = make("th", "", tier.tier);
	name.scope = "row";
	const bars = make("td", "bars"), meter = make("span", "meter");
	meter.setAttribute("aria-hidden", "true");
	meter.style.width = percent(tier.ns, data.duration) + "%";
	for (const row of rows) {
		const part = make("i", "k-" + kindOfCause[row.cause]);
		part.style.flex = row.ns + " 0 0";
		meter.append(part);
	}
	bars.append(meter);
	head.append(name, bars, figure(tier.ns), make("td", "figure", percent(tier.ns, data.duration)), make("td", "wide"));
	/* what is less than half a percent of the whole waits behind a button, unless it is all there is */
	const small = rows.filter((row, i) => i > 0 && row.ns < data.duration / 200);
	for (const row of rows)
		addRow(body, row).hidden = small.length > 1 && small.includes(row);
	if (small.length > 1) {
		const hidden = [...body.rows].slice(-small.length);
		const more = body.insertRow(), cell = make("th"), button = make("button", "", small.length + " more causes");
		more.className = "row more";
		button.type = "button";
		button.addEventListener("click", () => { more.remove(); hidden.forEach(row => { row.hidden = false; }); });
		cell.colSpan = 5;
		cell.append(button);
		more.append(cell);
	}
}

function addRow(body, row) {
	const line = body.insertRow();
	line.className = "row";
	const name = make("th");
	name.scope = "row";
	name.append(swatch(row.cause), linkCause(row.cause));
	const bars = make("td", "bars"), meter = make("span", "meter k-" + kindOfCause[row.cause]);
	meter.setAttribute("aria-hidden", "true");
	meter.style.width = percent(row.ns, data.duration) + "%";
	bars.append(meter);
	line.append(name, bars, figure(row.ns), make("td", "figure", percent(row.ns, data.duration)),
		make("td", "wide", data.strings[row.detail]));
	return line;
}

function figure(ns) {
	const cell = make("td", "figure", formatDuration(ns));
	cell.title = ns + " ns";
	return cell;
}

/* --- timeline --- */

const timeline = new Timeline(model, {
	lanes: $("lanes"), scroll: $("lanes-scroll"), height: $("lanes-height"), overview: $("overview"), tip: $("tip"),
	range: $("range"),
});

function showLegend() {
	/* the bar above has the kinds of the path */
	const used = new Set();
	for (const lane of model.lanes)
		for (const cause of new Set(lane.cause))
			used.add(kindOfCause[cause]);
	for (let i = 0; i < model.steps.count; i++)
		used.delete(kindOfCause[model.steps.cause[i]]);
	for (const kind of kindNames.filter(name => used.has(name))) {
		const entry = make("li");
		entry.append(make("i", "swatch k-" + kind), KINDS[kind]);
		$("legend").append(entry);
	}
	$("legend").append(make("li", "", "Strong and underlined: the critical path. Pale: what else the threads did."));
	const notes = [];
	if (data.merged)
		notes.push("intervals shorter than " + formatDuration(data.merged) + " are drawn together");
	if (data.messagesLeftOut)
		notes.push(data.messagesLeftOut + " messages off the path are left out");
	const lost = [...model.steps.folded].reduce((sum, count) => sum + count - 1, 0);
	if (lost)
		notes.push(lost + " segments of the path are drawn with their neighbours");
	if (notes.length)
		$("legend").append(make("li", "", "Level of detail: " + notes.join("; ")));
}

function showSelection(selection) {
	const box = $("selection");
	box.replaceChildren();
	if (!selection) {
		box.append(make("span", "note", "Choose a bar, a message or a line below to see it here."));
	} else {
		const [first, ...rest] = model.describe(selection);
		box.append(make("b", "", first));
		for (const line of rest)
			box.append(" · ", line);
	}
	for (const row of document.querySelectorAll("#path tr.is-selected"))
		row.classList.remove("is-selected");
	if (selection && selection.type === "step") {
		const row = document.querySelector("#path tr[data-step='" + selection.index + "']");
		if (row)
			row.classList.add("is-selected");
	}
	if (!selection || selection.type !== "blocking")
		tree.mark(null);
}

/* Lanes by name; texts by what they say; causes by their name. */
let hits = [], hitAt = -1;
function search(text) {
	const wanted = text.trim().toLowerCase();
	hits = [];
	hitAt = -1;
	if (!wanted) {
		timeline.query = null;
		$("hits").textContent = "";
		timeline.layout();
		return;
	}
	const has = value => value && String(value).toLowerCase().includes(wanted);
	const strings = new Set(), causes = new Set(), lanes = new Set();
	data.strings.forEach((value, index) => has(value) && strings.add(index));
	data.causes.forEach((value, index) => has(value) && causes.add(index));
	let intervals = 0;
	model.lanes.forEach((lane, index) => {
		const isNamed = has(lane.name) || has(lane.process) || has(lane.node) || has(lane.tid >= 0 ? lane.tid : "");
		let inside = 0;
		for (let i = 0; i < lane.begin.length; i++)
			inside += strings.has(lane.detail[i]) || causes.has(lane.cause[i]) ? 1 : 0;
		intervals += inside;
		if (isNamed || inside)
			lanes.add(index);
	});
	const s = model.steps;
	for (let i = 0; i < s.count; i++) {
		const lane = model.lanes[s.lane[i]];
		if (strings.has(s.detail[i]) || causes.has(s.cause[i])) {
			hits.push(i);
			lanes.add(s.lane[i]);
		} else if (has(lane.name) || has(lane.tid >= 0 ? lane.tid : "")) {
			hits.push(i);
		}
	}
	timeline.query = { lanes, strings, causes };
	$("hits").textContent = lanes.size || hits.length ? lanes.size + " threads, " + intervals + " intervals, " + hits.length +
		" segments" : "nothing found";
	timeline.layout();
}

function nextHit(by) {
	if (!hits.length)
		return;
	hitAt = (hitAt + by + hits.length) % hits.length;
	timeline.select(timeline.stepSelection(hits[hitAt]), { reveal: true });
	$("hits").textContent = "segment " + (hitAt + 1) + " of " + hits.length;
}

function listenToTools() {
	$("zoom-in").addEventListener("click", () => timeline.zoom(1.8));
	$("zoom-out").addEventListener("click", () => timeline.zoom(1 / 1.8));
	$("zoom-all").addEventListener("click", () => timeline.showAll());
	$("step-next").addEventListener("click", () => timeline.walk(1));
	$("step-previous").addEventListener("click", () => timeline.walk(-1));
	$("search").addEventListener("input", event => search(event.target.value));
	$("search").addEventListener("keydown", event => {
		if (event.key === "Enter")
			nextHit(event.shiftKey ? -1 : 1);
	});
	$("only-path").addEventListener("change", event => {
		timeline.onlyPath = event.target.checked;
		timeline.layout();
	});
	$("all-messages").addEventListener("change", event => {
		timeline.allMessages = event.target.checked;
		timeline.request();
	});
	const others = model.lanes.filter(lane => !lane.path).length;
	$("only-path").parentElement.hidden = !others;
	const s = model.steps, hops = s.hop.reduce((sum, hop) => sum + hop, 0);
	$("lanes").setAttribute("aria-label", "Timeline of " + model.lanes.length + " threads over " + formatDuration(data.duration) +
		". The critical path has " + s.count + " segments and changes its node " + hops + " times. The table below has the same.");
}

/* --- the path as a table --- */

const PATH_ROWS = 300;

function addPathRows(from, to) {
	const body = $("path").tBodies[0], s = model.steps, rows = document.createDocumentFragment();
	for (let i = from; i < to; i++) {
		const row = make("tr");
		row.dataset.step = i;
		row.append(make("td", "figure", formatDuration(s.begin[i])), figure(s.end[i] - s.begin[i]));
		const thread = make("td", "", nameLane(s.lane[i])), cause = make("td", "", data.causes[s.cause[i]]);
		cause.prepend(swatch(s.cause[i]));
		if (s.folded[i] > 1)
			cause.append(" and more (" + s.folded[i] + " segments)");
		const link = s.hop[i] || s.link[i] ? data.links[s.link[i]] + (s.uncertainty[i] ? " " + formatUncertainty(s.uncertainty[i]) : "") : "";
		row.append(thread, cause, make("td", "wide", data.strings[s.detail[i]]), make("td", "", link));
		rows.append(row);
	}
	body.append(rows);
}

function showPath() {
	const count = model.steps.count;
	addPathRows(0, Math.min(count, PATH_ROWS));
	$("path-more").hidden = count <= PATH_ROWS;
	$("path-more").textContent = "Show all " + count + " segments";
	$("path-more").addEventListener("click", () => {
		addPathRows(PATH_ROWS, count);
		$("path-more").hidden = true;
	});
	$("path").tBodies[0].addEventListener("click", event => {
		const row = event.target.closest("tr");
		if (row)
			timeline.select(timeline.stepSelection(Number(row.dataset.step)), { reveal: true });
	});
}

/* --- causality --- */

const TREE_PART = 150; /* items that are shown before a button asks for more */

const tree = {
	root: $("tree"),
	items: new Map(), /* index of the blocking -> its element, as far as it was opened */

	build() {
		const roots = model.blockings.filter(b => b.parent < 0).map(b => b.index);
		this.add(this.root, roots, 0, 1);
		if (!roots.length) {
			this.root.removeAttribute("role");
			this.root.append(make("li", "hint", "It waited for nobody."));
		}
		if (data.blockingsLeftOut)
			$("causality-hint").append(" The " + data.blockingsLeftOut + " shortest are left out.");
		const first = this.root.querySelector('[role="treeitem"]');
		if (first)
			first.tabIndex = 0;
		/* the way down along the longest, so that the reason is seen without a click */
		for (let list = roots, depth = 0; list.length && depth < 4; depth++) {
			const longest = list.reduce((a, b) => this.ns(b) > this.ns(a) ? b : a);
			this.setOpen(longest, true);
			list = model.blockings[longest].children;
		}
		this.root.addEventListener("click", event => this.click(event));
		this.root.addEventListener("keydown", event => this.key(event));
		$("tree-open").addEventListener("click", () => this.openAll());
		$("tree-close").addEventListener("click", () => {
			for (const index of this.items.keys())
				this.setOpen(index, false);
		});
	},

	ns(index) {
		return model.blockings[index].end - model.blockings[index].begin;
	},

	add(list, indexes, from, level) {
		for (const index of indexes.slice(from, from + TREE_PART))
			list.append(this.makeItem(index, level));
		const rest = indexes.length - from - TREE_PART;
		if (rest <= 0)
			return;
		const more = make("li"), button = make("button", "", rest + " more");
		more.setAttribute("role", "none");
		button.type = "button";
		button.addEventListener("click", () => {
			more.remove();
			this.add(list, indexes, from + TREE_PART, level);
		});
		more.append(button);
		list.append(more);
	},

	makeItem(index, level) {
		const b = model.blockings[index];
		const item = make("li");
		item.setAttribute("role", "treeitem");
		item.setAttribute("aria-level", level);
		item.setAttribute("aria-selected", "false");
		item.tabIndex = -1;
		item.dataset.blocking = index;
		const node = make("div", "node"), text = make("div", "text");
		node.append(make("span", "fold", b.children.length ? "▸" : ""), make("span", "ns", formatDuration(b.end - b.begin)), text);
		text.append(swatch(b.cause), data.causes[b.cause] + ": ", make("span", "who", nameLane(b.lane)));
		/* how much of its time it ran is no place to be in */
		if (b.detail)
			text.append((data.strings[b.detail].startsWith("on the CPU for ") ? ", " : " in ") + data.strings[b.detail]);
		if (b.by)
			text.append(make("span", "by", ", woken by " + data.strings[b.by]));
		if (b.link)
			text.append(make("span", "by", " (" + data.links[b.link] + ")"));
		const place = make("span", "place"), mark = make("i", "k-" + kindOfCause[b.cause]);
		const [low, high] = [0, Math.max(data.duration, 1)];
		place.setAttribute("aria-hidden", "true");
		mark.style.left = Math.max(0, Math.min((b.begin - low) / (high - low) * 100, 99.5)) + "%";
		mark.style.width = Math.min((b.end - b.begin) / (high - low) * 100, 100) + "%";
		place.append(mark);
		text.append(place);
		item.append(node);
		if (b.children.length)
			item.setAttribute("aria-expanded", "false");
		this.items.set(index, item);
		return item;
	},

	setOpen(index, isOpen) {
		const item = this.items.get(index), b = model.blockings[index];
		if (!item || !b.children.length)
			return;
		item.setAttribute("aria-expanded", String(isOpen));
		item.querySelector(".fold").textContent = isOpen ? "▾" : "▸";
		let group = item.querySelector(":scope > ul");
		if (isOpen && !group) {
			group = make("ul");
			group.setAttribute("role", "group");
			this.add(group, b.children, 0, Number(item.getAttribute("aria-level")) + 1);
			item.append(group);
		}
		if (group)
			group.hidden = !isOpen;
	},

	openAll() {
		/* children come after their parents, so one pass opens every level */
		for (let i = 0; i < Math.min(model.blockings.length, 2000); i++)
			this.setOpen(i, true);
	},

	mark(index) {
		for (const item of this.root.querySelectorAll('[aria-selected="true"]'))
			item.setAttribute("aria-selected", "false");
		if (index !== null)
			this.items.get(index).setAttribute("aria-selected", "true");
	},

	choose(index) {
		const b = model.blockings[index];
		this.mark(index);
		timeline.select({ type: "blocking", index, lane: b.lane, begin: b.begin, end: b.end }, { reveal: true });
		this.mark(index);
		$("timeline").scrollIntoView({ block: "start" });
	},

	focus(item) {
		if (!item)
			return;
		for (const other of this.root.querySelectorAll('[tabindex="0"]'))
			other.tabIndex = -1;
		item.tabIndex = 0;
		item.focus();
	},

	click(event) {
		const item = event.target.closest('[role="treeitem"]');
		if (!item || event.target.closest("button"))
			return;
		const index = Number(item.dataset.blocking);
		if (event.target.closest(".fold"))
			this.setOpen(index, item.getAttribute("aria-expanded") !== "true");
		else
			this.choose(index);
		this.focus(item);
		if (!event.target.closest(".fold"))
			$("timeline").scrollIntoView({ block: "start" });
	},

	key(event) {
		const item = event.target.closest('[role="treeitem"]');
		if (!item || event.target.closest("button"))
			return;
		const index = Number(item.dataset.blocking), isOpen = item.getAttribute("aria-expanded") === "true";
		const visible = [...this.root.querySelectorAll('[role="treeitem"]')].filter(other => other.offsetParent !== null);
		const at = visible.indexOf(item);
		const parent = item.parentElement.closest('[role="treeitem"]');
		const actions = {
			ArrowDown: () => this.focus(visible[at + 1]), ArrowUp: () => this.focus(visible[at - 1]),
			ArrowRight: () => isOpen || !item.hasAttribute("aria-expanded") ? this.focus(item.querySelector('[role="treeitem"]')) :
				this.setOpen(index, true),
			ArrowLeft: () => isOpen ? this.setOpen(index, false) : this.focus(parent),
			Home: () => this.focus(visible[0]), End: () => this.focus(visible[visible.length - 1]),
			Enter: () => this.choose(index), " ": () => this.choose(index),
		};
		if (!actions[event.key])
			return;
		event.preventDefault();
		actions[event.key]();
	},
};

/* --- start --- */

timeline.onSelect = showSelection;
showHead();
showBreakdown();
showLegend();
showPath();
tree.build();
showClocks({ reference: data.reference, nodes: data.nodes, pairs: data.pairs, span: [0, data.duration] });
showFindings();
showCauses();
listenToTools();
theme.onChange = () => timeline.setTheme();
window.addEventListener("beforeprint", () => { timeline.printing = true; });
window.addEventListener("afterprint", () => { timeline.printing = false; });
theme.listen();
theme.apply();
window.addEventListener("beforeprint", () => { timeline.layout(); timeline.draw(); });
window.addEventListener("afterprint", () => timeline.layout());
showSelection(null);
document.documentElement.dataset.ready = "yes";
