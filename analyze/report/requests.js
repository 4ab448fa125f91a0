/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All requests of a bundle. The data is the document dtrace-chain/requests/1; start times are beyond 2^53 and lose up to
 * 256 ns here, which no figure of this page shows.
 */
"use strict";

const ROWS = 200; /* that are shown before a button asks for more */
const origin = data.requests.reduce((first, request) => Math.min(first, request.start_ns), Infinity);
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
	$("what").textContent = "on the clock of " + data.reference + (s.skipped ? "; " + s.skipped +
		" more are only in captures, without a kernel trace" : "");
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

const SVG = "http://www.w3.org/2000/svg";
const BINS = 40;
let chosen = null; /* the range of durations in the table: [from, to) */

function draw(parent, tag, attributes, text) {
	const element = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, value);
	if (text !== undefined)
		element.textContent = text;
	parent.append(element);
	return element;
}

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

/* --- table --- */

const KEYS = {
	id: request => request.id, url: request => (request.method || "") + " " + (request.url || ""),
	status: request => request.status || 0, start: request => request.at, duration: request => request.duration_ns,
	dominant: request => request.mostly,
};
const order = { key: "duration", down: true };
let showsAll = false;

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
		const row = body.insertRow(), name = make("th", "", request.id), bars = make("td", "bars");
		name.scope = "row";
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
showFindings();
listen();
document.documentElement.dataset.ready = "yes";
