/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How well the clocks are known: a table of the pairs, and a picture of each with the clouds of its fastest messages,
 * their hulls, and what is left open between them. The data is what analyze/report/quality_json.c wrote.
 */
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function draw(parent, tag, attributes, text) {
	const element = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, value);
	if (text !== undefined)
		element.textContent = text;
	parent.append(element);
	return element;
}

function formatUncertainty(ns) {
	return ns < 0 ? "clocks not aligned" : "± " + formatDuration(ns);
}

/* clocks: reference, nodes, pairs; span: what the page is about, since its origin, or null. */
function showClocks(clocks) {
	const groups = new Set(clocks.nodes.map(node => node.group));
	const others = clocks.nodes.filter(node => node.node !== clocks.reference);
	$("clocks-hint").textContent = (others.length ? "Times are on the clock of " + clocks.reference + ". " + others.map(node =>
		node.node + (node.uncertainty < 0 ? " cannot be aligned with it" : " is known to " + formatUncertainty(node.uncertainty)))
		.join(", ") + "." : "One node: its own clock.") + (groups.size > 1 ? " Nodes that no messages join are not compared." : "");
	const body = $("pairs").tBodies[0];
	$("pairs").hidden = !clocks.pairs.length;
	for (const pair of clocks.pairs) {
		const row = body.insertRow(), isAligned = pair.status === "aligned";
		const name = make("th", "", pair.a + " ↔ " + pair.b);
		name.scope = "row";
		row.append(name, make("td", "figure", formatUncertainty(pair.uncertainty)));
		for (const width of pair.width)
			row.append(make("td", "figure", isAligned ? formatDuration(width) : "–"));
		const notes = [pair.trimmed ? pair.trimmed + " contradict" : "", pair.steps ? pair.steps + " clock steps" : "",
			pair.ambiguous ? pair.ambiguous + " ambiguous" : ""].filter(Boolean);
		row.append(make("td", "figure", isAligned ? pair.drift.toFixed(3) + " ppm" : "–"),
			make("td", "figure", pair.ab + " + " + pair.ba), make("td", "", [pair.status, ...notes].join(", ")));
		if (pair.points.length)
			$("plots").append(makePlot(pair, clocks.span));
	}
}

/* Corners of the line under points that are sorted by time. */
function findHull(points) {
	const hull = [];
	for (const point of points) {
		while (hull.length > 1) {
			const a = hull[hull.length - 2], b = hull[hull.length - 1];
			if ((b.t - a.t) * (point.ns - a.ns) - (b.ns - a.ns) * (point.t - a.t) > 0)
				break;
			hull.pop();
		}
		hull.push(point);
	}
	return hull;
}

/*
 * One-way delays as aligned: there upward, back downward. The fastest of each stretch of time come close to the line in
 * the middle; a line that is wrong would cut into one of the two clouds. The band is what the clocks leave open.
 */
function makePlot(pair, span) {
	const width = 560, height = 230, left = 62, right = 10, top = 12, bottom = 38;
	const points = [];
	for (let i = 0; i < pair.points.length; i += 3)
		points.push({ t: pair.points[i], ns: pair.points[i + 1], back: pair.points[i + 2] });
	const widths = [];
	for (let i = 0; i < pair.widths.length; i += 2)
		if (pair.widths[i + 1] >= 0)
			widths.push({ t: pair.widths[i], ns: pair.widths[i + 1] });
	const times = [...points, ...widths].map(point => point.t);
	const begin = Math.min(...times), end = Math.max(...times, begin + 1);
	const sizes = points.map(point => Math.abs(point.ns)).sort((a, b) => a - b);
	/* slow messages say nothing: the scale is that of the fast ones */
	const limit = Math.max(sizes[Math.floor(sizes.length * .8)] * 1.3, ...widths.map(w => w.ns * 1.2), 1);
	const x = t => left + (t - begin) / (end - begin) * (width - left - right);
	const y = ns => top + (limit - Math.max(-limit, Math.min(limit, ns))) / (2 * limit) * (height - top - bottom);
	const box = make("figure"), svg = document.createElementNS(SVG, "svg");
	svg.setAttribute("viewBox", "0 0 " + width + " " + height);
	svg.setAttribute("role", "img");
	svg.setAttribute("aria-label", "One-way delays between " + pair.a + " and " + pair.b + ", certified to " +
		formatUncertainty(pair.uncertainty));
	const from = span ? x(Math.max(span[0], begin)) : 0, to = span ? x(Math.min(span[1], end)) : 0;
	if (span && to >= left && from <= width)
		draw(svg, "rect", { class: "now", x: Math.min(from, to), y: top, width: Math.max(to - from, 2), height: height - top - bottom });
	if (widths.length)
		draw(svg, "polygon", { class: "band", points: [...widths.map(w => x(w.t) + "," + y(w.ns)),
			...widths.reverse().map(w => x(w.t) + "," + y(-w.ns))].join(" ") });
	for (const ns of [limit, 0, -limit]) {
		draw(svg, "line", { class: "axis", x1: left, x2: width - right, y1: y(ns), y2: y(ns) });
		draw(svg, "text", { x: left - 6, y: y(ns) + 4, "text-anchor": "end" }, ns ? formatDuration(limit) : "0");
	}
	for (const back of [0, 1]) {
		const sign = back ? -1 : 1, cloud = points.filter(point => point.back === back).sort((a, b) => a.t - b.t);
		for (const point of cloud.filter(p => Math.abs(p.ns) <= limit))
			if (back)
				draw(svg, "path", { class: "back", d: "M" + (x(point.t) - 3) + " " + y(-point.ns) + "h6m-3 -3v6" });
			else
				draw(svg, "circle", { class: "there", cx: x(point.t), cy: y(point.ns), r: 2.4 });
		const hull = findHull(cloud);
		if (hull.length > 1)
			draw(svg, "polyline", { class: "hull " + (back ? "back" : "there"),
				points: hull.map(point => x(point.t) + "," + y(sign * point.ns)).join(" ") });
	}
	draw(svg, "text", { x: left, y: height - 22 }, formatDuration(begin));
	draw(svg, "text", { x: (left + width - right) / 2, y: height - 22, "text-anchor": "middle" },
		span ? "since the begin" : "since the recordings' begin");
	draw(svg, "text", { x: width - right, y: height - 22, "text-anchor": "end" }, formatDuration(end));
	const legend = [["there", pair.a + " to " + pair.b], ["back", pair.b + " to " + pair.a]];
	legend.forEach(([name, text], i) => {
		const at = left + i * 190;
		draw(svg, "line", { class: "hull " + name, x1: at, x2: at + 22, y1: height - 9, y2: height - 9 });
		if (name === "back")
			draw(svg, "path", { class: "back", d: "M" + (at + 8) + " " + (height - 9) + "h6m-3 -3v6" });
		else
			draw(svg, "circle", { class: "there", cx: at + 11, cy: height - 9, r: 2.4 });
		draw(svg, "text", { x: at + 28, y: height - 5 }, text.length > 24 ? text.slice(0, 23) + "…" : text);
	});
	const caption = make("figcaption");
	caption.append(make("b", "", pair.a + " ↔ " + pair.b), ": delays of the fastest messages as aligned, there above and back " +
		"below, with the hulls of both clouds. The band is what the clocks leave open" + (span ? ", the stripe is now." : "."));
	box.append(svg, caption);
	return box;
}
