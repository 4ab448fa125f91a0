/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All requests of a bundle. The data is the document dtrace-chain/requests/1; start times are beyond 2^53 and lose up to
 * 256 ns here, which no figure of this page shows.
 */
"use strict";

const ROWS = 200; /* that are shown before a button asks for more */
const origin = data.clocks.origin; /* where the recordings begin */
const requests = data.requests.map(request => ({
	...request,
	at: request.start_ns - origin,
	kind: request.dominant ? KIND_OF[request.dominant.cause] || "none" : "none",
	mostly: request.dominant ? request.dominant.tier + ": " + request.dominant.cause : "",
	text: [request.id, request.method, request.url, request.status, request.target.comm,
		...request.breakdown.slice(0, 5).flatMap(part => [part.tier, part.cause, part.detail])].join("\n").toLowerCase(),
}));

/* Parts of a duration as one bar, at the scale of the longest. */
function makeBar(parts, whole, longest) {
	const bar = make("span", "meter parts");
	const sums = new Map();
	for (const part of parts) {
		const kind = KIND_OF[part.cause] || "none";
		sums.set(kind, (sums.get(kind) || 0) + part.ns);
	}
	bar.style.width = percent(whole, longest) + "%";
	for (const kind of kindNames.filter(name => sums.has(name))) {
		const part = make("i", "k-" + kind);
		part.style.flex = sums.get(kind) + " 0 0";
		bar.append(part);
	}
	bar.setAttribute("aria-hidden", "true");
	return bar;
}

const describePart = part => part.tier + " " + part.cause + " " + formatDuration(part.ns);

function showHead() {
	const s = data.summary;
	$("headline").textContent = requests.length + (requests.length === 1 ? " request" : " requests");
	const why = s.skipped_reasons, what = ["on the clock of " + data.reference];
	for (const [count, text] of [[why.began_before, "began before the kernel trace and are left out"],
		[why.ended_after, "ended after the kernel trace and are left out"],
		[why.not_traced, "are only in captures, without a kernel trace"]])
		if (count)
			what.push(count + " more " + text);
	$("what").textContent = what.join("; ");
	if (requests.length) {
		$("verdict").append("Half took up to ", make("b", "", formatDuration(s.p50_ns)), ", nine of ten up to ",
			make("b", "", formatDuration(s.p90_ns)), ", 99 % up to ", make("b", "", formatDuration(s.p99_ns)), ".");
		const growth = findGrowth(s.bands.filter(band => band.to_ns <= s.p50_ns), s.bands.filter(band => band.above_ns >= s.p90_ns));
		if (growth && growth.by > 0)
			$("verdict").append(" What grows most, from the faster half to the slowest tenth: ",
				make("b", "", growth.tier + " " + growth.cause), ", " + formatDuration(growth.by) + " more.");
	} else {
		$("verdict").textContent = "No request was found.";
	}
	$("incomplete").hidden = data.complete;
}

/* The mean request of several bands, part by part. */
function joinBands(bands) {
	const count = bands.reduce((sum, band) => sum + band.requests, 0), parts = new Map();
	for (const band of bands)
		for (const part of band.breakdown) {
			const key = part.tier + "\n" + part.cause;
			const known = parts.get(key) || { ...part, ns: 0 };
			known.ns += part.ns * band.requests / count;
			parts.set(key, known);
		}
	return parts;
}

/* The part that is longer in slow requests than in fast ones by most. */
function findGrowth(fast, slow) {
	const before = joinBands(fast);
	return [...joinBands(slow)].map(([key, part]) => ({ ...part, by: part.ns - (before.has(key) ? before.get(key).ns : 0) }))
		.reduce((best, part) => !best || part.by > best.by ? part : best, null);
}

/* --- histogram --- */

const BINS = 40;
let chosen = null; /* the range of durations in the table: [from, to) */

/* Durations span decades: ranges of equal ratio. */
function makeBins() {
	const sizes = requests.map(request => Math.max(request.duration_ns, 1));
	const low = Math.log(Math.min(...sizes)), high = Math.max(Math.log(Math.max(...sizes) + 1), low + 1e-6);
	const toBin = ns => Math.min(BINS - 1, Math.max(0, Math.floor((Math.log(Math.max(ns, 1)) - low) / (high - low) * BINS)));
	const edge = i => Math.exp(low + (high - low) * i / BINS);
	const bins = Array.from({ length: BINS }, (_, i) => ({ from: i ? edge(i) : 0, to: i === BINS - 1 ? Infinity : edge(i + 1),
		label: edge(i), requests: [] }));
	for (const request of requests)
		bins[toBin(request.duration_ns)].requests.push(request);
	return { bins, toShare: ns => (Math.log(Math.max(ns, 1)) - low) / (high - low), edge };
}

function showHistogram() {
	if (!requests.length)
		return;
	const { bins, toShare, edge } = makeBins();
	const width = 1000, height = 200, bottom = 24, top = 30;
	const tallest = Math.max(...bins.map(bin => bin.requests.length));
	const svg = document.createElementNS(SVG, "svg");
	svg.setAttribute("viewBox", "0 0 " + width + " " + height);
	svg.setAttribute("role", "group");
	svg.setAttribute("aria-label", "Histogram of durations from " + formatDuration(edge(0)) + " to " + formatDuration(edge(BINS)));
	const used = new Set();
	bins.forEach((bin, i) => {
		if (!bin.requests.length)
			return;
		const x = i * width / BINS, bar = width / BINS - 2, scale = (height - bottom - top) / tallest;
		const group = draw(svg, "g", { class: "bin", tabindex: 0, role: "button", "aria-pressed": "false", "aria-label":
			bin.requests.length + " requests from " + formatDuration(edge(i)) + " to " + formatDuration(edge(i + 1)) });
		draw(group, "title", {}, group.getAttribute("aria-label"));
		draw(group, "rect", { class: "bin-back", x, y: top, width: bar, height: height - bottom - top });
		let y = height - bottom;
		for (const kind of kindNames) {
			const size = bin.requests.filter(request => request.kind === kind).length * scale;
			if (!size)
				continue;
			used.add(kind);
			y -= size;
			draw(group, "rect", { class: "f-" + kind, x, y, width: bar, height: Math.max(size - .6, .8) });
		}
		draw(group, "text", { x: x + bar / 2, y: y - 3, "text-anchor": "middle" }, bin.requests.length);
		const choose = () => chooseRange(group, chosen && chosen[0] === bin.from ? null : [bin.from, bin.to]);
		group.addEventListener("click", choose);
		group.addEventListener("keydown", event => {
			if (event.key === "Enter" || event.key === " ") {
				event.preventDefault();
				choose();
			}
		});
	});
	draw(svg, "line", { class: "axis", x1: 0, x2: width, y1: height - bottom, y2: height - bottom });
	for (let i = 0; i <= BINS; i += 8)
		draw(svg, "text", { x: Math.min(i * width / BINS, width - 4), y: height - 8, "text-anchor": i === 0 ? "start" :
			i === BINS ? "end" : "middle" }, formatDuration(edge(i)));
	for (const [name, ns] of [["p50", data.summary.p50_ns], ["p90", data.summary.p90_ns], ["p99", data.summary.p99_ns]]) {
		const x = toShare(ns) * width;
		draw(svg, "line", { class: "percentile", x1: x, x2: x, y1: 12, y2: height - bottom });
		draw(svg, "text", { x: Math.min(x + 3, width - 26), y: 10 }, name);
	}
	$("histogram").append(svg);
	for (const kind of kindNames.filter(name => used.has(name))) {
		const entry = make("li");
		entry.append(make("i", "swatch f-" + kind), KINDS[kind] + " ",
			make("b", "", requests.filter(request => request.kind === kind).length));
		$("legend").append(entry);
	}
}

function chooseRange(group, range) {
	chosen = range;
	for (const other of document.querySelectorAll(".bin"))
		other.setAttribute("aria-pressed", String(other === group && range !== null));
	$("clear").hidden = !range;
	showRows();
}

/* --- bands --- */

function showBands() {
	const longest = Math.max(...data.summary.bands.map(band => band.mean_ns), 1);
	for (const band of data.summary.bands) {
		const row = $("band-table").tBodies[0].insertRow();
		const name = make("th", "", band.name);
		name.scope = "row";
		const bars = make("td", "bars");
		bars.append(makeBar(band.breakdown, band.mean_ns, longest));
		row.append(name, make("td", "figure", band.requests), make("td", "figure", formatDuration(band.mean_ns)), bars,
			make("td", "wide", band.breakdown.slice(0, 3).map(describePart).join(" · ")));
	}
}

/* --- when they ran --- */

const scatter = {
	canvas: $("scatter"), spots: [], chosen: null,

	draw() {
		const canvas = this.canvas, c = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
		const width = canvas.clientWidth || 300, height = 220, left = 64, right = 8, top = 8, bottom = 24;
		const style = getComputedStyle(document.documentElement), color = name => style.getPropertyValue("--" + name).trim();
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		const begin = requests.reduce((low, request) => Math.min(low, request.at), Infinity);
		const end = requests.reduce((high, request) => Math.max(high, request.at + request.duration_ns), begin + 1);
		const { toShare, edge } = makeBins();
		const x = t => left + (t - begin) / (end - begin) * (width - left - right);
		const y = ns => height - bottom - 6 - toShare(ns) * (height - top - bottom - 12);
		c.font = "11px system-ui, sans-serif";
		for (const share of [0, .25, .5, .75, 1]) {
			const ns = edge(share * BINS), at = Math.round(y(ns)) + .5;
			c.strokeStyle = color("line");
			c.beginPath();
			c.moveTo(left, at);
			c.lineTo(width - right, at);
			c.stroke();
			c.fillStyle = color("soft");
			c.textAlign = "right";
			c.fillText(formatDuration(ns), left - 6, at + 4);
		}
		const ticks = Math.max(2, Math.floor((width - left) / 160));
		for (let i = 0; i <= ticks; i++) {
			c.textAlign = i === 0 ? "left" : i === ticks ? "right" : "center";
			c.fillText(formatDuration(begin + (end - begin) * i / ticks), left + (width - left - right) * i / ticks, height - 6);
		}
		this.spots = requests.map(request => ({ request, x: x(request.at), y: y(request.duration_ns),
			width: Math.max(x(request.at + request.duration_ns) - x(request.at), 4) }));
		c.globalAlpha = requests.length > 2000 ? .5 : .9;
		for (const spot of this.spots) {
			c.fillStyle = color(spot.request.kind);
			c.fillRect(spot.x, spot.y - 3, spot.width, 6);
		}
		c.globalAlpha = 1;
		const at = this.spots.find(spot => spot.request === this.chosen);
		if (at) {
			c.strokeStyle = color("mark");
			c.lineWidth = 2;
			c.strokeRect(at.x - 2, at.y - 5, at.width + 4, 10);
		}
		canvas.setAttribute("aria-label", "Durations of " + requests.length + " requests over " + formatDuration(end - begin) +
			". The table below has the same.");
	},

	find(event) {
		const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
		let best = null, nearest = 12;
		for (const spot of this.spots) {
			const away = Math.hypot(Math.max(spot.x - x, 0, x - spot.x - spot.width), spot.y - y);
			if (away < nearest)
				[best, nearest] = [spot.request, away];
		}
		return best;
	},

	hover(event) {
		const request = this.find(event), tip = $("tip");
		tip.hidden = !request;
		this.canvas.style.cursor = request ? "pointer" : "default";
		if (!request)
			return;
		tip.replaceChildren(make("b", "", request.id + ", " + formatDuration(request.duration_ns) + " at " + formatDuration(request.at)),
			...request.breakdown.slice(0, 4).map(part => make("span", "", describePart(part))));
		tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
		tip.style.top = Math.max(4, Math.min(event.clientY + 18, window.innerHeight - tip.offsetHeight - 8)) + "px";
	},

	listen() {
		if (!requests.length) {
			$("when").hidden = true;
			return;
		}
		this.canvas.addEventListener("pointermove", event => this.hover(event));
		this.canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
		this.canvas.addEventListener("click", event => {
			const request = this.find(event);
			if (request)
				openRow(request);
		});
		new ResizeObserver(() => this.draw()).observe(this.canvas);
		this.draw();
	},
};

/* --- table --- */

const KEYS = {
	id: request => request.id, url: request => (request.method || "") + " " + (request.url || ""),
	status: request => request.status || 0, start: request => request.at, duration: request => request.duration_ns,
	dominant: request => request.mostly,
};
const order = { key: "duration", down: true };
let showsAll = false;

/* An argument as a shell reads it. */
const quote = text => /^[A-Za-z0-9._:@%+=-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";

/* All parts of one request, and how to see its threads. */
function makeDetails(request) {
	const line = make("tr", "details"), cell = make("td"), list = make("ul", "parts-list");
	cell.colSpan = [...$("rows").tHead.rows[0].cells].filter(head => head.offsetParent).length;
	let shown = 0, sum = 0;
	for (const part of request.breakdown) {
		/* what is less than a hundredth, all together, is not worth a line each */
		if (request.duration_ns - sum < request.duration_ns / 100)
			break;
		shown++;
		sum += part.ns;
		const item = make("li"), kind = KIND_OF[part.cause] || "none", meter = make("span", "meter k-" + kind);
		meter.style.width = percent(part.ns, request.duration_ns) + "%";
		meter.setAttribute("aria-hidden", "true");
		const track = make("span", "track"), text = make("span", "", part.tier + ": " + part.cause);
		track.append(meter);
		if (part.detail)
			text.append(make("span", "by", ", " + part.detail));
		item.append(make("span", "figure", formatDuration(part.ns)), make("span", "figure by", percent(part.ns, request.duration_ns) + " %"),
			track, text);
		list.append(item);
	}
	if (shown < request.breakdown.length) {
		const item = make("li");
		item.append(make("span", "figure", formatDuration(request.duration_ns - sum)), make("span", "figure by",
			percent(request.duration_ns - sum, request.duration_ns) + " %"), make("span", "track"),
			make("span", "by", request.breakdown.length - shown + " more parts"));
		list.append(item);
	}
	const file = request.id.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 60) + ".html";
	const hint = make("p", "hint", "Its threads, path and messages: ");
	hint.append(make("code", "", "dtrace-chain --bundle BUNDLE --request-id " + quote(request.id) + " --html " + file));
	cell.append(list, hint);
	line.append(cell);
	return line;
}

function toggleRow(row, button, request) {
	const isOpen = button.getAttribute("aria-expanded") === "true";
	button.setAttribute("aria-expanded", String(!isOpen));
	if (isOpen)
		row.nextElementSibling.remove();
	else
		row.after(makeDetails(request));
	scatter.chosen = isOpen ? null : request;
	scatter.draw();
}

/* Shows a request in the table, whatever was chosen or searched before. */
function openRow(request) {
	const find = () => [...$("rows").tBodies[0].rows].find(row => row.dataset.id === request.id);
	if (!find()) {
		$("search").value = "";
		showsAll = true;
		chooseRange(null, null);
	}
	const row = find(), button = row.querySelector("button");
	if (button.getAttribute("aria-expanded") !== "true")
		button.click();
	row.scrollIntoView({ block: "center" });
	button.focus({ preventScroll: true });
}

function listRows() {
	const wanted = $("search").value.trim().toLowerCase(), get = KEYS[order.key];
	const list = requests.filter(request => (!wanted || request.text.includes(wanted)) &&
		(!chosen || (request.duration_ns >= chosen[0] && request.duration_ns < chosen[1])));
	/* the order of equal ones is that of the document, both ways */
	return list.map((request, index) => ({ request, index, key: get(request) })).sort((a, b) =>
		(a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * (order.down ? -1 : 1) || a.index - b.index).map(entry => entry.request);
}

function showRows() {
	const list = listRows(), body = $("rows").tBodies[0];
	const longest = Math.max(...requests.map(request => request.duration_ns), 1);
	body.replaceChildren();
	for (const request of showsAll ? list : list.slice(0, ROWS)) {
		const row = body.insertRow(), name = make("th"), bars = make("td", "bars"), button = make("button", "fold", request.id);
		button.type = "button";
		button.setAttribute("aria-expanded", "false");
		button.addEventListener("click", () => toggleRow(row, button, request));
		row.dataset.id = request.id;
		name.scope = "row";
		name.append(button);
		bars.append(makeBar(request.breakdown, request.duration_ns, longest));
		const mostly = make("td", "", request.mostly);
		mostly.prepend(make("i", "swatch k-" + request.kind));
		const duration = make("td", "figure", formatDuration(request.duration_ns));
		duration.title = request.duration_ns + " ns";
		row.title = request.breakdown.slice(0, 6).map(describePart).join("\n");
		row.append(name, make("td", "", [request.method, request.url].filter(Boolean).join(" ")),
			make("td", "figure", request.status || ""), make("td", "figure", formatDuration(request.at)), duration, bars, mostly);
	}
	$("shown").textContent = list.length === requests.length ? "" : list.length + " of " + requests.length;
	$("more").hidden = showsAll || list.length <= ROWS;
	$("more").textContent = "Show all " + list.length;
}

function listen() {
	$("rows").tHead.addEventListener("click", event => {
		const button = event.target.closest("button");
		if (!button)
			return;
		order.down = order.key === button.dataset.key ? !order.down : button.dataset.key === "duration";
		order.key = button.dataset.key;
		for (const cell of $("rows").tHead.querySelectorAll("[aria-sort]"))
			cell.setAttribute("aria-sort", cell.contains(button) ? (order.down ? "descending" : "ascending") : "none");
		showRows();
	});
	$("search").addEventListener("input", showRows);
	$("clear").addEventListener("click", () => chooseRange(null, null));
	$("more").addEventListener("click", () => {
		showsAll = true;
		showRows();
	});
}

theme.listen();
theme.apply();
showHead();
showHistogram();
showBands();
showRows();
showClocks({ reference: data.reference, nodes: data.clocks.nodes, pairs: data.clocks.pairs, span: null });
showFindings();
listen();
scatter.listen();
theme.onChange = () => scatter.draw();
document.documentElement.dataset.ready = "yes";
