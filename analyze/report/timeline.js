/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The swim lanes: a canvas that draws what is in view and nothing else. Intervals shorter than a pixel are summed per
 * pixel, so that a hundred thousand of them cost one pass over typed arrays and a few thousand rectangles. Times are
 * nanoseconds since the begin of the span, which a double holds exactly for a hundred days.
 */
"use strict";

/* What occupies a CPU is drawn in full height, what waits in half. */
const IS_RUNNING = { run: true, kernel: true, irq: true };

/* First index whose time is after t; times are sorted. */
function firstAfter(times, t) {
	let low = 0, high = times.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle] <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

class Timeline {
	constructor(model, parts) {
		this.model = model;
		this.parts = parts; /* lanes, scroll, height, overview, tip, range */
		this.context = parts.lanes.getContext("2d");
		this.view = { begin: model.window[0], end: model.window[1] };
		this.onlyPath = true;
		this.allMessages = false;
		this.query = null; /* lanes: Set, strings: Set */
		this.selection = null;
		this.drag = null;
		this.pointers = new Map();
		this.lastScroll = 0;
		this.onSelect = () => {};
		this.listen();
		this.setTheme();
		this.layout();
	}

	/* --- layout --- */

	setTheme() {
		const style = getComputedStyle(document.documentElement);
		const read = name => style.getPropertyValue("--" + name).trim();
		this.colors = {};
		for (const name of ["paper", "ink", "soft", "line", "lane", "accent", "mark", ...Object.keys(KINDS)])
			this.colors[name] = read(name);
		this.patterns = {};
		for (const kind of Object.keys(KINDS))
			this.patterns[kind] = this.makePattern(kind);
		this.request();
	}

	/* Textures as in page.css: kinds can be told apart without colours. */
	makePattern(kind) {
		const tile = document.createElement("canvas");
		const size = tile.width = tile.height = 12;
		const c = tile.getContext("2d");
		c.fillStyle = this.colors[kind];
		c.fillRect(0, 0, size, size);
		c.strokeStyle = kind === "lock" || kind === "timer" ? "#00000038" : "#ffffff59";
		c.fillStyle = c.strokeStyle;
		c.lineWidth = 2;
		c.beginPath();
		if (kind === "cpu" || kind === "vm" || kind === "loss")
			for (const at of [-6, 0, 6]) { c.moveTo(at - 1, 13); c.lineTo(at + 13, -1); }
		else if (kind === "lock")
			for (const at of [-6, 0, 6]) { c.moveTo(at - 1, -1); c.lineTo(at + 13, 13); }
		else if (kind === "disk")
			for (const at of [1, 5, 9]) c.rect(at, -2, .1, 20);
		else if (kind === "none")
			for (const at of [1, 5, 9]) c.rect(-2, at, 20, .1);
		else if (kind === "timer")
			for (const x of [2, 8]) for (const y of [2, 8]) c.fillRect(x + (y === 8 ? 3 : 0), y, 2, 2);
		c.stroke();
		return this.context.createPattern(tile, "repeat");
	}

	layout() {
		const width = this.parts.scroll.clientWidth || 300;
		this.narrow = width < 620;
		this.gutter = this.narrow ? 0 : 216;
		this.axisHeight = 26;
		const laneHeight = this.narrow ? 44 : 28;
		this.rows = [];
		this.rowOfLane = new Map();
		let y = this.axisHeight, node = null;
		this.model.lanes.forEach((lane, index) => {
			if (this.onlyPath && !lane.path && !(this.query && this.query.lanes.has(index)) &&
			    !(this.selection && this.selection.lane === index))
				return;
			if (lane.node !== node) {
				node = lane.node;
				this.rows.push({ node, y, height: 25 });
				y += 25;
			}
			const row = { lane: index, y, height: laneHeight };
			row.barY = y + (this.narrow ? 18 : 5);
			row.barHeight = this.narrow ? 20 : 18;
			row.middle = row.barY + row.barHeight / 2;
			this.rowOfLane.set(index, row);
			this.rows.push(row);
			y += laneHeight;
		});
		this.contentHeight = y + 8;
		const limit = this.printing ? 1e6 : parseFloat(getComputedStyle(this.parts.scroll).maxHeight) || 600;
		this.height = Math.min(this.contentHeight, limit);
		this.width = width;
		this.resize(this.parts.lanes, width, this.height);
		this.parts.height.style.height = Math.max(0, this.contentHeight - this.height) + "px";
		this.resize(this.parts.overview, this.parts.overview.clientWidth || width, 34);
		this.request();
	}

	resize(canvas, width, height) {
		const ratio = window.devicePixelRatio || 1;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.height = height + "px";
		canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
	}

	get scale() {
		return (this.width - this.gutter - 1) / (this.view.end - this.view.begin);
	}

	toX(t) {
		return this.gutter + (t - this.view.begin) * this.scale;
	}

	toTime(x) {
		return this.view.begin + (x - this.gutter) / this.scale;
	}

	/* --- view --- */

	setView(begin, end) {
		const [low, high] = this.model.window;
		const whole = high - low;
		const span = Math.min(Math.max(end - begin, Math.min(200, whole)), whole);
		const middle = (begin + end) / 2;
		begin = Math.min(Math.max(middle - span / 2, low), high - span);
		this.view = { begin, end: begin + span };
		this.request();
	}

	zoom(factor, at = (this.view.begin + this.view.end) / 2) {
		const { begin, end } = this.view;
		this.setView(at - (at - begin) / factor, at + (end - at) / factor);
	}

	pan(share) {
		const by = (this.view.end - this.view.begin) * share;
		this.setView(this.view.begin + by, this.view.end + by);
	}

	showAll() {
		this.setView(...this.model.window);
	}

	/* Brings a span into view with room around it, and its lane. */
	reveal(lane, begin, end, zoom) {
		const span = this.view.end - this.view.begin;
		const size = end - begin;
		if (zoom || size > span || size < span / 400)
			this.setView(begin - Math.max(size, 100) * 1.5, end + Math.max(size, 100) * 1.5);
		else if (begin < this.view.begin || end > this.view.end)
			this.setView((begin + end - span) / 2, (begin + end + span) / 2);
		if (!this.rowOfLane.has(lane))
			this.layout();
		const row = this.rowOfLane.get(lane), top = this.parts.scroll.scrollTop;
		if (row && (row.y - this.axisHeight < top || row.y + row.height > top + this.height))
			this.parts.scroll.scrollTop = row.y - this.height / 2;
	}

	select(selection, options = {}) {
		this.selection = selection;
		this.parts.lanes.dataset.selected = selection ? selection.type + ":" + selection.index : "";
		if (selection && !this.rowOfLane.has(selection.lane))
			this.layout();
		if (selection && options.reveal)
			this.reveal(selection.lane, selection.begin, selection.end, options.zoom);
		this.request();
		this.onSelect(selection, options);
	}

	stepSelection(index) {
		const s = this.model.steps;
		return { type: "step", index, lane: s.lane[index], begin: s.begin[index], end: s.end[index] };
	}

	walk(by) {
		const s = this.model.steps;
		if (!s.count)
			return;
		let index;
		if (this.selection && this.selection.type === "step")
			index = Math.min(Math.max(this.selection.index + by, 0), s.count - 1);
		else
			index = Math.min(Math.max(firstAfter(s.begin, this.view.begin) - (by < 0 ? 1 : 0), 0), s.count - 1);
		this.select(this.stepSelection(index), { reveal: true });
	}

	/* --- drawing --- */

	request() {
		if (this.pending || !this.rows)
			return;
		this.pending = requestAnimationFrame(() => {
			this.pending = 0;
			this.draw();
		});
	}

	draw() {
		const started = performance.now();
		const c = this.context, top = this.parts.scroll.scrollTop;
		c.clearRect(0, 0, this.width, this.height);
		c.fillStyle = this.colors.paper;
		c.fillRect(0, 0, this.width, this.height);
		c.save();
		c.translate(0, -top);
		this.visibleRows = this.rows.filter(row => row.y + row.height > top && row.y < top + this.height);
		for (const row of this.visibleRows)
			this.drawRow(c, row);
		c.save();
		c.beginPath();
		c.rect(this.gutter, top + this.axisHeight, this.width, this.height);
		c.clip();
		this.drawOutside(c, top);
		for (const row of this.visibleRows)
			if (row.lane !== undefined)
				this.drawPathOf(c, row);
		this.drawMessages(c);
		this.drawConnectors(c);
		this.drawSelection(c, top);
		c.restore();
		for (const row of this.visibleRows)
			this.drawLabel(c, row);
		c.restore();
		this.drawAxis(c);
		this.drawRubber(c);
		this.drawOverview();
		const { begin, end } = this.view;
		const data = this.parts.lanes.dataset;
		data.begin = begin;
		data.end = end;
		data.lanes = this.rowOfLane.size;
		data.drawMs = (performance.now() - started).toFixed(2);
		this.parts.range.textContent = formatDuration(end - begin) + " in view";
	}

	drawRow(c, row) {
		if (row.node !== undefined) {
			c.fillStyle = this.colors.lane;
			c.fillRect(0, row.y, this.width, row.height);
			return;
		}
		const lane = this.model.lanes[row.lane];
		const isHit = this.query && this.query.lanes.has(row.lane);
		c.fillStyle = this.colors.line;
		c.globalAlpha = .6;
		c.fillRect(0, row.y + row.height - 1, this.width, 1);
		c.globalAlpha = 1;
		c.save();
		c.beginPath();
		c.rect(this.gutter, row.y, this.width, row.height);
		c.clip();
		c.globalAlpha = this.query && !isHit ? .22 : .45;
		this.drawRuns(c, lane, null, row.barY, row.barHeight, false);
		c.globalAlpha = 1;
		if (this.query)
			this.drawHits(c, lane, row);
		c.restore();
	}

	/* Last of all, on a plate: where there is no gutter, arrows pass beneath the names. */
	drawLabel(c, row) {
		if (row.node !== undefined) {
			c.font = "600 12px system-ui, sans-serif";
			c.fillStyle = this.colors.lane;
			c.fillRect(6, row.y + 2, c.measureText(row.node).width + 8, row.height - 4);
			c.fillStyle = this.colors.ink;
			c.fillText(row.node, 10, row.y + 17);
			return;
		}
		const lane = this.model.lanes[row.lane];
		const isHit = this.query && this.query.lanes.has(row.lane);
		const limit = this.narrow ? this.width - 20 : this.gutter - 22;
		c.font = "12.5px system-ui, sans-serif";
		const id = lane.tid >= 0 ? " " + lane.tid : "";
		const idWidth = c.measureText(id).width;
		const name = this.fit(c, lane.name, limit - idWidth);
		const y = this.narrow ? row.y + 13 : row.y + 18;
		if (this.narrow) {
			c.fillStyle = this.colors.paper;
			c.globalAlpha = .8;
			c.fillRect(14, row.y + 2, c.measureText(name).width + idWidth + 4, 14);
			c.globalAlpha = 1;
		}
		c.fillStyle = isHit ? this.colors.mark : lane.path ? this.colors.ink : this.colors.soft;
		if (isHit)
			c.font = "600 12.5px system-ui, sans-serif";
		c.fillText(name, 16, y);
		c.fillStyle = this.colors.soft;
		const nameWidth = c.measureText(name).width;
		c.font = "12.5px system-ui, sans-serif";
		c.fillText(id, 16 + nameWidth, y);
	}

	fit(c, text, width) {
		if (c.measureText(text).width <= width)
			return text;
		let low = 0, high = text.length;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (c.measureText(text.slice(0, middle) + "…").width <= width)
				low = middle;
			else
				high = middle - 1;
		}
		return text.slice(0, low) + "…";
	}

	/*
	 * Spans of a lane's bars, or (with order) of the path's steps on it. What is narrower than a pixel is summed by kind
	 * until the pixel is over, and the kind with most time gets the column.
	 */
	drawRuns(c, set, order, y, height, isPath) {
		const { begin, end } = this.view;
		const scale = this.scale, origin = this.gutter - begin * scale;
		const kinds = this.model.kinds;
		const sums = new Float64Array(kinds.names.length);
		let column = -1, used = 0;
		const flush = () => {
			if (column < 0)
				return;
			let best = 0;
			for (let k = 1; k < sums.length; k++)
				if (sums[k] > sums[best])
					best = k;
			this.drawBar(c, kinds.names[best], column, y, 1, height, isPath);
			sums.fill(0);
			column = -1;
		};
		const count = order ? order.length : set.begin.length;
		let i = order ? this.firstEndingAfter(k => set.end[order[k]], count, begin) :
				this.firstEndingAfter(k => set.end[k], count, begin);
		for (; i < count; i++) {
			const at = order ? order[i] : i;
			if (set.begin[at] >= end)
				break;
			used++;
			const left = origin + set.begin[at] * scale, right = origin + set.end[at] * scale;
			const kind = kinds.ofCause[set.cause[at]];
			if (right - left < 1.5) {
				const pixel = Math.floor((left + right) / 2);
				if (pixel !== column) {
					flush();
					column = pixel;
				}
				sums[kind] += right - left;
				continue;
			}
			flush();
			const x = Math.max(left, this.gutter - 2), width = Math.min(right, this.width + 2) - x;
			this.drawBar(c, kinds.names[kind], x, y, width, height, isPath);
			if (isPath && width > 34)
				this.drawBarText(c, set, at, kinds.names[kind], x, y, width, height);
		}
		flush();
		return used;
	}

	firstEndingAfter(getEnd, count, t) {
		let low = 0, high = count;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (getEnd(middle) <= t)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	drawBar(c, kind, x, y, width, height, isPath) {
		if (!isPath && !IS_RUNNING[kind]) {
			y += height * .3;
			height *= .4;
		}
		c.fillStyle = width > 6 ? this.patterns[kind] : this.colors[kind];
		c.fillRect(x, y, width, height);
	}

	drawBarText(c, set, at, kind, x, y, width, height) {
		const cause = this.model.causes[set.cause[at]];
		const detail = this.model.strings[set.detail[at]];
		c.font = "600 11px system-ui, sans-serif";
		const time = formatDuration(set.end[at] - set.begin[at]);
		let text = cause + " " + time;
		if (detail && c.measureText(text + " · " + detail).width < width - 10)
			text += " · " + detail;
		if (c.measureText(text).width > width - 8)
			text = c.measureText(cause).width <= width - 8 ? cause : "";
		if (!text)
			return;
		/* a plain plate under the text: textures would make it hard to read */
		const textWidth = c.measureText(text).width;
		c.fillStyle = this.colors[kind];
		c.fillRect(x + 2, y + 2, textWidth + 5, height - 4);
		c.fillStyle = this.getTextColor(kind);
		c.fillText(text, x + 4, y + height / 2 + 4);
	}

	getTextColor(kind) {
		const hex = this.colors[kind].replace("#", "");
		const part = at => {
			const v = parseInt(hex.slice(at, at + 2), 16) / 255;
			return v <= .04 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
		};
		const light = .2126 * part(0) + .7152 * part(2) + .0722 * part(4);
		return (light + .05) / .05 > 1.05 / (light + .05) ? "#000000" : "#ffffff";
	}

	drawPathOf(c, row) {
		const order = this.model.stepsOfLane[row.lane];
		if (!order.length)
			return;
		c.globalAlpha = this.query && !this.query.lanes.has(row.lane) ? .55 : 1;
		this.drawRuns(c, this.model.steps, order, row.barY, row.barHeight, true);
		c.globalAlpha = 1;
		/* a dark rule under the path's part of the lane, one per stretch of pixels */
		const s = this.model.steps;
		c.fillStyle = this.colors.ink;
		let from = -1, to = -1;
		const rule = () => from >= 0 && c.fillRect(from, row.barY + row.barHeight, Math.max(to - from, 1), 2);
		for (let i = this.firstEndingAfter(k => s.end[order[k]], order.length, this.view.begin); i < order.length; i++) {
			const at = order[i];
			if (s.begin[at] >= this.view.end)
				break;
			const left = Math.max(this.toX(s.begin[at]), this.gutter), right = Math.min(this.toX(s.end[at]), this.width);
			if (from < 0 || left > to + 1) {
				rule();
				from = left;
			}
			to = Math.max(right, from);
		}
		rule();
	}

	drawHits(c, lane, row) {
		const strings = this.query.strings;
		let last = -9;
		c.fillStyle = this.colors.mark;
		for (let i = this.firstEndingAfter(k => lane.end[k], lane.begin.length, this.view.begin); i < lane.begin.length; i++) {
			if (lane.begin[i] >= this.view.end)
				break;
			if (!strings.has(lane.detail[i]) && !this.query.causes.has(lane.cause[i]))
				continue;
			const x = this.toX(lane.begin[i]);
			if (x < last + 1)
				continue;
			const width = Math.max(this.toX(lane.end[i]) - x, 2);
			c.fillRect(x, row.barY - 4, width, 3);
			last = x + width;
		}
	}

	drawOutside(c, top) {
		const left = this.toX(0), right = this.toX(this.model.duration);
		c.fillStyle = this.colors.paper;
		c.globalAlpha = .55;
		if (left > this.gutter)
			c.fillRect(this.gutter, top, left - this.gutter, this.height);
		if (right < this.width)
			c.fillRect(right, top, this.width - right, this.height);
		c.globalAlpha = 1;
		c.fillStyle = this.colors.accent;
		for (const x of [left, right])
			c.fillRect(x - .5, top, 1, this.height);
	}

	/*
	 * Arrows of messages; those of the path with what the clocks leave open as a band around them. Where they are many
	 * they get fainter and lose their heads, so that the lanes beneath stay visible.
	 */
	drawMessages(c) {
		const m = this.model.messages, drawn = new Set();
		this.arrows = [];
		for (let i = 0; i < m.count; i++) {
			if (m.from[i] === m.to[i] || (!m.onPath[i] && !this.allMessages))
				continue;
			const from = this.rowOfLane.get(m.from[i]), to = this.rowOfLane.get(m.to[i]);
			if (!from || !to || m.received[i] < this.view.begin || m.sent[i] > this.view.end)
				continue;
			const x0 = this.toX(m.sent[i]), x1 = this.toX(m.received[i]);
			const key = this.toKey(x0, x1, m.from[i], m.to[i]);
			if (drawn.has(key))
				continue;
			drawn.add(key);
			this.arrows.push({ index: i, x0, y0: from.middle, x1, y1: to.middle });
		}
		const strength = this.getStrength(this.arrows.length);
		for (const { index, x0, y0, x1, y1 } of this.arrows) {
			if (m.onPath[index])
				this.drawBand(c, x0, y0, x1, y1, m.uncertainty[index]);
			this.drawArrow(c, x0, y0, x1, y1, m.onPath[index], m.link[index], strength);
		}
		/* last, and where they do not hide each other; of many, none */
		if (strength < .4)
			return;
		let right = -1e9, line = NaN;
		for (const { index, x0, y0, x1, y1 } of this.arrows.filter(a => m.onPath[a.index]).sort((a, b) => a.y0 + a.y1 - b.y0 - b.y1 || a.x0 - b.x0)) {
			if (line !== y0 + y1)
				right = -1e9;
			line = y0 + y1;
			right = this.drawUncertainty(c, x0, y0, x1, y1, m.uncertainty[index], right);
		}
	}

	/* What looks the same on the screen: pixels of both ends, and two lanes. A number, since there may be many thousands. */
	toKey(x0, x1, from, to) {
		const clamp = x => Math.min(Math.max(Math.round(x), -9), 8180) + 10;
		return ((clamp(x0) * 8192 + clamp(x1)) * 1024 + from % 1024) * 1024 + to % 1024;
	}

	/* Opacity of lines of which there are so many. */
	getStrength(count) {
		return Math.max(Math.min(1, (this.width - this.gutter) / 8 / Math.max(count, 1)), .1);
	}

	drawBand(c, x0, y0, x1, y1, uncertainty) {
		const half = uncertainty * this.scale;
		if (uncertainty <= 0 || half < .7)
			return;
		c.fillStyle = this.colors.net;
		c.globalAlpha = .2;
		c.beginPath();
		c.moveTo(x0 - half, y0);
		c.lineTo(x0 + half, y0);
		c.lineTo(x1 + half, y1);
		c.lineTo(x1 - half, y1);
		c.fill();
		c.globalAlpha = 1;
	}

	/* What the clocks leave open, in words, right of the arrow's middle; gives where free room begins. */
	drawUncertainty(c, x0, y0, x1, y1, uncertainty, free) {
		const half = uncertainty * this.scale;
		if (uncertainty <= 0 || half < .7 || Math.max(half, x1 - x0) < 14)
			return free;
		const text = formatUncertainty(uncertainty);
		c.font = "11px system-ui, sans-serif";
		const width = c.measureText(text).width, x = (x0 + x1) / 2 + 8 + Math.abs(x1 - x0) / 12, y = (y0 + y1) / 2;
		if (x < free || x + width > this.width)
			return free;
		c.fillStyle = this.colors.paper;
		c.globalAlpha = .85;
		c.fillRect(x - 3, y - 8, width + 6, 14);
		c.globalAlpha = 1;
		c.fillStyle = this.colors.soft;
		c.fillText(text, x, y + 3);
		return x + width + 8;
	}

	drawArrow(c, x0, y0, x1, y1, isPath, link, strength) {
		c.strokeStyle = c.fillStyle = isPath ? this.colors.ink : this.colors.soft;
		c.globalAlpha = (isPath ? 1 : .55) * strength;
		c.lineWidth = isPath && strength > .5 ? 1.8 : 1;
		c.setLineDash(link === 0 ? [] : link === 1 ? [5, 3] : [2, 3]);
		c.beginPath();
		c.moveTo(x0, y0);
		c.lineTo(x1, y1);
		c.stroke();
		c.setLineDash([]);
		c.globalAlpha = isPath ? 1 : .55;
		if (strength < .4) {
			c.globalAlpha = 1;
			return;
		}
		const angle = Math.atan2(y1 - y0, x1 - x0), size = isPath ? 8 : 6;
		c.beginPath();
		c.moveTo(x1, y1);
		c.lineTo(x1 - size * Math.cos(angle - .4), y1 - size * Math.sin(angle - .4));
		c.lineTo(x1 - size * Math.cos(angle + .4), y1 - size * Math.sin(angle + .4));
		c.fill();
		c.globalAlpha = 1;
	}

	/* Where the path goes from one thread to another without a message: a rule between their lanes. */
	drawConnectors(c) {
		const s = this.model.steps, drawn = new Set();
		const lines = [];
		for (let i = Math.max(firstAfter(s.begin, this.view.begin) - 1, 1); i < s.count; i++) {
			if (s.begin[i] > this.view.end)
				break;
			if (s.lane[i] === s.lane[i - 1] || this.model.isMessage[i])
				continue;
			const from = this.rowOfLane.get(s.lane[i - 1]), to = this.rowOfLane.get(s.lane[i]);
			if (!from || !to)
				continue;
			const x = Math.round(this.toX(s.begin[i])) + .5;
			const key = this.toKey(x, 0, Math.min(s.lane[i - 1], s.lane[i]), Math.max(s.lane[i - 1], s.lane[i]));
			if (drawn.has(key))
				continue;
			drawn.add(key);
			lines.push([x, Math.min(from.middle, to.middle), Math.max(from.middle, to.middle)]);
		}
		c.strokeStyle = this.colors.ink;
		c.lineWidth = 1.3;
		c.globalAlpha = this.getStrength(lines.length);
		for (const [x, high, low] of lines) {
			c.beginPath();
			c.moveTo(x, high);
			c.lineTo(x, low);
			c.stroke();
		}
		c.globalAlpha = 1;
	}

	drawSelection(c, top) {
		const s = this.selection, row = s && this.rowOfLane.get(s.lane);
		if (!row)
			return;
		const x = Math.max(this.toX(s.begin), this.gutter - 4), right = Math.min(this.toX(s.end), this.width + 4);
		const width = Math.max(right - x, 2);
		c.fillStyle = this.colors.mark;
		c.globalAlpha = .1;
		c.fillRect(x, top, width, this.height);
		c.globalAlpha = 1;
		c.strokeStyle = this.colors.mark;
		c.lineWidth = 2.5;
		c.strokeRect(x - 1, row.barY - 3, width + 2, row.barHeight + 6);
	}

	drawAxis(c) {
		c.fillStyle = this.colors.paper;
		c.fillRect(0, 0, this.width, this.axisHeight);
		c.fillStyle = this.colors.line;
		c.fillRect(0, this.axisHeight - 1, this.width, 1);
		if (!this.narrow)
			c.fillRect(this.gutter - 1, 0, 1, this.height);
		const span = this.view.end - this.view.begin;
		const rough = span / Math.max((this.width - this.gutter) / 105, 1);
		const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
		const step = Math.max([1, 2, 5, 10].map(f => f * power).find(v => v >= rough), 1);
		const largest = Math.max(Math.abs(this.view.begin), Math.abs(this.view.end));
		const [unit, scale] = largest >= 1e9 ? ["s", 1e9] : largest >= 1e6 ? ["ms", 1e6] : largest >= 1e3 ? ["µs", 1e3] : ["ns", 1];
		const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / scale) + 1e-9)));
		c.font = "11px system-ui, sans-serif";
		for (let t = Math.ceil(this.view.begin / step) * step; t <= this.view.end; t += step) {
			const x = this.toX(t);
			c.fillStyle = this.colors.line;
			c.fillRect(x, this.axisHeight - 7, 1, 6);
			c.fillStyle = this.colors.soft;
			const text = (t / scale).toFixed(digits) + " " + unit;
			if (x + c.measureText(text).width + 4 < this.width)
				c.fillText(text, x + 3, 15);
		}
		if (!this.narrow) {
			c.fillStyle = this.colors.paper;
			c.fillRect(0, 0, this.gutter - 1, this.axisHeight - 1);
			c.fillStyle = this.colors.soft;
			c.fillText("since the begin", 10, 15);
		}
	}

	drawRubber(c) {
		if (!this.drag || this.drag.mode !== "select" || !this.drag.moved)
			return;
		const x = Math.min(this.drag.x, this.drag.to), width = Math.abs(this.drag.to - this.drag.x);
		c.fillStyle = this.colors.accent;
		c.globalAlpha = .16;
		c.fillRect(x, 0, width, this.height);
		c.globalAlpha = 1;
		c.font = "600 12px system-ui, sans-serif";
		c.fillText(formatDuration(width / this.scale), x + 6, this.axisHeight + 16);
	}

	/* The whole path as one strip, with what the lanes show framed. */
	drawOverview() {
		const canvas = this.parts.overview, c = canvas.getContext("2d");
		const width = canvas.clientWidth, [low, high] = this.model.window;
		const saved = [this.view, this.width, this.gutter];
		c.clearRect(0, 0, width, 34);
		c.fillStyle = this.colors.lane;
		c.fillRect(0, 5, width, 22);
		this.view = { begin: low, end: high };
		this.width = width;
		this.gutter = 0;
		this.drawRuns(c, this.model.steps, null, 5, 22, true);
		[this.view, this.width, this.gutter] = saved;
		const left = (this.view.begin - low) / (high - low) * width, right = (this.view.end - low) / (high - low) * width;
		c.fillStyle = this.colors.paper;
		c.globalAlpha = .7;
		c.fillRect(0, 5, left, 22);
		c.fillRect(right, 5, width - right, 22);
		c.globalAlpha = 1;
		c.strokeStyle = this.colors.ink;
		c.lineWidth = 2;
		c.strokeRect(Math.max(left, 1), 3, Math.max(Math.min(right, width - 1) - Math.max(left, 1), 3), 26);
	}

	/* --- pointing --- */

	/* What is under a point of the canvas: a message of the path, a step of the path, or a bar. */
	find(x, y) {
		y += this.parts.scroll.scrollTop;
		for (const a of this.arrows || []) {
			const length = (a.x1 - a.x0) ** 2 + (a.y1 - a.y0) ** 2;
			const at = length ? ((x - a.x0) * (a.x1 - a.x0) + (y - a.y0) * (a.y1 - a.y0)) / length : 0;
			const near = Math.min(Math.max(at, .15), .85);
			if (Math.hypot(x - a.x0 - near * (a.x1 - a.x0), y - a.y0 - near * (a.y1 - a.y0)) < 5) {
				const m = this.model.messages;
				return { type: "message", index: a.index, lane: m.to[a.index], begin: m.sent[a.index], end: m.received[a.index] };
			}
		}
		const row = this.rows.find(r => r.lane !== undefined && y >= r.y && y < r.y + r.height);
		if (!row || x < this.gutter)
			return row ? { type: "lane", index: row.lane, lane: row.lane } : null;
		const t = this.toTime(x), slack = 2 / this.scale;
		const order = this.model.stepsOfLane[row.lane], s = this.model.steps;
		const step = order[this.firstEndingAfter(k => s.end[order[k]], order.length, t - slack)];
		if (step !== undefined && s.begin[step] <= t + slack)
			return this.stepSelection(step);
		const lane = this.model.lanes[row.lane];
		const bar = this.firstEndingAfter(k => lane.end[k], lane.begin.length, t - slack);
		if (bar < lane.begin.length && lane.begin[bar] <= t + slack)
			return { type: "bar", index: bar, lane: row.lane, begin: lane.begin[bar], end: lane.end[bar] };
		return { type: "lane", index: row.lane, lane: row.lane };
	}

	hover(event) {
		const box = this.parts.lanes.getBoundingClientRect();
		const found = this.find(event.clientX - box.left, event.clientY - box.top);
		const tip = this.parts.tip;
		if (!found || this.drag) {
			tip.hidden = true;
			return;
		}
		const lines = this.model.describe(found);
		tip.replaceChildren();
		lines.forEach((line, index) => {
			const part = document.createElement(index ? "span" : "b");
			part.textContent = line;
			tip.append(part);
		});
		tip.hidden = false;
		const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
		const y = event.clientY + 18 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
		tip.style.left = Math.max(x, 4) + "px";
		tip.style.top = Math.max(y, 4) + "px";
	}

	listen() {
		const { lanes, overview, scroll, tip } = this.parts;
		const at = (event, canvas) => event.clientX - canvas.getBoundingClientRect().left;
		lanes.addEventListener("pointerdown", event => {
			if (event.button > 1)
				return;
			lanes.focus({ preventScroll: true });
			lanes.setPointerCapture(event.pointerId);
			this.pointers.set(event.pointerId, at(event, lanes));
			const isPan = event.pointerType === "touch" || event.shiftKey || event.button === 1;
			const x = at(event, lanes);
			this.drag = { mode: isPan ? "pan" : "select", x, to: x, view: this.view, moved: false };
			this.pinch = this.pointers.size === 2 ? { xs: [...this.pointers.values()], view: this.view } : null;
			tip.hidden = true;
		});
		lanes.addEventListener("pointermove", event => {
			const x = at(event, lanes);
			if (this.pointers.has(event.pointerId))
				this.pointers.set(event.pointerId, x);
			if (this.pinch && this.pointers.size === 2)
				this.movePinch();
			else if (this.drag)
				this.moveDrag(x);
			else
				this.hover(event);
		});
		const end = event => {
			this.pointers.delete(event.pointerId);
			const drag = this.drag;
			this.drag = null;
			this.pinch = null;
			if (!drag)
				return;
			if (!drag.moved && event.type === "pointerup")
				this.click(event);
			else if (drag.mode === "select" && drag.moved)
				this.setView(...[this.toTime(drag.x), this.toTime(drag.to)].sort((a, b) => a - b));
			this.request();
		};
		lanes.addEventListener("pointerup", end);
		lanes.addEventListener("pointercancel", end);
		lanes.addEventListener("pointerleave", () => { tip.hidden = true; });
		lanes.addEventListener("dblclick", () => {
			if (this.selection)
				this.reveal(this.selection.lane, this.selection.begin, this.selection.end, true);
		});
		lanes.addEventListener("wheel", event => this.wheel(event), { passive: false });
		lanes.addEventListener("keydown", event => this.key(event));
		scroll.addEventListener("scroll", () => this.request());
		window.addEventListener("scroll", () => { this.lastScroll = performance.now(); tip.hidden = true; }, { passive: true });
		this.listenToOverview(overview, at);
		new ResizeObserver(() => {
			if (scroll.clientWidth !== this.width)
				this.layout();
		}).observe(scroll);
	}

	listenToOverview(overview, at) {
		const toTime = x => {
			const [low, high] = this.model.window;
			return low + x / overview.clientWidth * (high - low);
		};
		let drag = null;
		overview.addEventListener("pointerdown", event => {
			overview.setPointerCapture(event.pointerId);
			const t = toTime(at(event, overview)), [low, high] = this.model.window;
			const isPart = this.view.end - this.view.begin < (high - low) * .98;
			drag = { t, view: this.view, isMove: isPart && t > this.view.begin && t < this.view.end };
		});
		overview.addEventListener("pointermove", event => {
			if (!drag)
				return;
			const t = toTime(at(event, overview));
			if (drag.isMove)
				this.setView(drag.view.begin + t - drag.t, drag.view.end + t - drag.t);
			else if (t !== drag.t)
				this.setView(Math.min(t, drag.t), Math.max(t, drag.t));
		});
		overview.addEventListener("pointerup", event => {
			const t = toTime(at(event, overview)), span = this.view.end - this.view.begin;
			if (drag && !drag.isMove && t === drag.t)
				this.setView(t - span / 2, t + span / 2);
			drag = null;
		});
		overview.addEventListener("pointercancel", () => { drag = null; });
	}

	moveDrag(x) {
		const drag = this.drag;
		drag.to = Math.min(Math.max(x, this.gutter), this.width);
		drag.moved = drag.moved || Math.abs(x - drag.x) > 3;
		if (drag.mode === "pan" && drag.moved) {
			const by = (drag.x - x) / this.scale;
			this.setView(drag.view.begin + by, drag.view.end + by);
		}
		this.request();
	}

	movePinch() {
		const [a0, b0] = this.pinch.xs, [a1, b1] = [...this.pointers.values()];
		const { begin, end } = this.pinch.view;
		const factor = Math.max(Math.abs(b1 - a1), 8) / Math.max(Math.abs(b0 - a0), 8);
		const perPixel = (end - begin) / (this.width - this.gutter);
		const anchor = begin + ((a0 + b0) / 2 - this.gutter) * perPixel;
		const start = anchor - ((a1 + b1) / 2 - this.gutter) * perPixel / factor;
		this.drag.moved = true;
		this.setView(start, start + (end - begin) / factor);
	}

	click(event) {
		const box = this.parts.lanes.getBoundingClientRect();
		const found = this.find(event.clientX - box.left, event.clientY - box.top);
		this.select(found && found.type !== "lane" ? found : null);
	}

	/* A page that is being scrolled past must not start to zoom under the pointer. */
	wheel(event) {
		const isFocused = document.activeElement === this.parts.lanes;
		if (event.altKey || (!isFocused && !event.ctrlKey && performance.now() - this.lastScroll < 250))
			return;
		event.preventDefault();
		const x = event.clientX - this.parts.lanes.getBoundingClientRect().left;
		if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
			this.pan((event.deltaX || event.deltaY) / 700);
		else
			this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? .05 : .0022)), this.toTime(Math.max(x, this.gutter)));
	}

	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const actions = {
			"+": () => this.zoom(1.6), "=": () => this.zoom(1.6), "-": () => this.zoom(1 / 1.6), "_": () => this.zoom(1 / 1.6),
			"ArrowLeft": () => this.pan(-.15), "ArrowRight": () => this.pan(.15),
			"ArrowUp": () => { this.parts.scroll.scrollTop -= 60; }, "ArrowDown": () => { this.parts.scroll.scrollTop += 60; },
			"0": () => this.showAll(), "Home": () => this.showAll(),
			"n": () => this.walk(1), "p": () => this.walk(-1), "Escape": () => this.select(null),
			"Enter": () => this.selection && this.reveal(this.selection.lane, this.selection.begin, this.selection.end, true),
		};
		const action = actions[event.key];
		if (!action)
			return;
		event.preventDefault();
		action();
	}
}
