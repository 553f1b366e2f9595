// SPDX-License-Identifier: MIT
// Draws the report from the data of the page (harness/report/html_data.c says what each place of an
// array means). Text reaches the document as text only: nothing here makes markup of a string.
"use strict";

(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.getElementById("report");
const symbols = {
	pass: "\u2713", fail: "\u2717", mismatch: "\u2260", skip: "\u2212", hung: "\u221e", crashed: "\u203c", error: "?",
};
const comparing = data.runs.length > 1;

// Places of the arrays.
const C = {
	cell: 0, name: 1, vendor: 2, family: 3, model: 4, stepping: 5, uarch: 6, verdict: 7, reason: 8, command: 9,
	list: 10, difference: 11, host: 12, logs: 13, kernel: 14, program: 15, pack: 16, tries: 17,
	seconds: 18,
};
const P = {
	op: 0, class: 1, size: 2, expected: 3, says: 4, does: 5, row: 6, executable: 7, verdict: 8, depends: 9, traces: 10,
};
const D = { missing: 0, extra: 1, identity: 2, forced: 3, unavailable: 4 };
const H = { run: 0, image: 1, subject: 2, accel: 3, qemu: 4, libvirt: 5, kernel: 6, libc: 7 };

// --- small helpers -------------------------------------------------------------------------------

// An element: attributes by name, then children, which are elements or text.
function make(name, attributes, ...children)
{
	const element = document.createElement(name);

	for (const [key, value] of Object.entries(attributes || {})) {
		if (value === true)
			element.setAttribute(key, "");
		else if (value !== false && value !== null && value !== undefined)
			element.setAttribute(key, value);
	}
	element.append(...children.filter(child => child !== null && child !== undefined));
	return element;
}

const hex = number => number.toString(16).toUpperCase().padStart(2, "0");
const word = verdict => data.verdicts[verdict];
const symbol = verdict => symbols[word(verdict)] || "?";
const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;
const signature = cell => `${cell[C.family]}:${cell[C.model]}:${cell[C.stepping]}`;
const vendorName = vendor => vendor.trim() || "(blank vendor)";
const pickName = pick => `${pick[P.op]}@${pick[P.class]}`;

// short: the symbol alone to the eye, the word for who listens
function badge(verdict, short)
{
	return make("span", { class: `badge ${word(verdict)}`, title: short ? word(verdict) : null }, symbol(verdict),
		short ? make("span", { class: "said" }, word(verdict)) : ` ${word(verdict)}`);
}

function bytes(size)
{
	for (const [unit, factor] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
		if (size >= factor && size % factor === 0)
			return `${size / factor} ${unit}`;
	return `${size} B`;
}

// --- what is shown ----------------------------------------------------------------------------------

// One for each cell that any run has: `cells` is [before, after] or [the only one].
const items = [];
const picksOf = new Map();

function addItem(cells, what)
{
	items.push({ cells, cell: cells[cells.length - 1] || cells[0], what: what || "", number: items.length });
}

function collect()
{
	const last = data.runs[data.runs.length - 1].cells;
	const changed = new Map(), only = [], before = new Map();

	if (!comparing) {
		for (const cell of last)
			if (cell)
				addItem([cell]);
		arrange();
		return;
	}
	for (const [from, to, what] of data.changes) {
		if (to < 0)
			only.push([from, what]);
		else
			changed.set(to, what);
	}
	for (const cell of data.runs[0].cells)
		if (cell)
			before.set(cell[C.cell], cell);
	last.forEach((cell, at) => {
		if (cell)
			addItem([before.get(cell[C.cell]) || null, cell], changed.get(at));
	});
	for (const [from, what] of only)
		addItem([data.runs[0].cells[from], null], what);
	arrange();
}

// Vendors with many cells first; within one, by what the CPU is.
function arrange()
{
	const counts = new Map();

	for (const item of items)
		counts.set(item.cell[C.vendor], (counts.get(item.cell[C.vendor]) || 0) + 1);
	items.sort((a, b) => counts.get(b.cell[C.vendor]) - counts.get(a.cell[C.vendor]) || order(a.cell, b.cell));
	items.forEach((item, number) => { item.number = number; });
}

function order(a, b)
{
	for (const key of [C.vendor, C.family, C.model, C.stepping, C.cell]) {
		if (a[key] < b[key])
			return -1;
		if (a[key] > b[key])
			return 1;
	}
	return 0;
}

// The picks of a list by name; lists are shared, so this is done once for each.
function picksByName(list)
{
	if (!picksOf.has(list))
		picksOf.set(list, new Map(data.lists[list].map(number => {
			const pick = data.picks[number];

			return [pickName(pick), pick];
		})));
	return picksOf.get(list);
}

const listWords = new Map(), differenceWords = new Map();

function cached(map, key, make_)
{
	if (!map.has(key))
		map.set(key, make_());
	return map.get(key);
}

// All that the search looks at, in lower case.
function words(cell)
{
	const list = cached(listWords, cell[C.list], () => {
		const seen = new Set();

		for (const number of data.lists[cell[C.list]])
			for (const key of [P.expected, P.says, P.does, P.row])
				seen.add(data.picks[number][key]);
		return [...seen].join(" ");
	});
	const difference = cached(differenceWords, cell[C.difference], () => data.differences[cell[C.difference]].flat().join(" "));

	return [cell[C.cell], cell[C.vendor], signature(cell), `${cell[C.family]}:0x${hex(cell[C.model])}`,
		`0x${hex(cell[C.family])}:0x${hex(cell[C.model])}`, cell[C.uarch], word(cell[C.verdict]), cell[C.reason], list,
		difference].join(" ").toLowerCase();
}

// --- the state of the controls --------------------------------------------------------------------------

const state = { search: [], verdicts: new Set(), vendor: "", look: "model", changed: false, current: 0, open: -1 };
let visible = []; // numbers of the items that are shown, in order
const ui = {};

// What a tile stands for: the verdict of the cell, or of the pick that is looked at.
function shownVerdict(cell)
{
	if (!cell)
		return -1;
	if (state.look === "model" || state.look === "name")
		return cell[C.verdict];

	const pick = picksByName(cell[C.list]).get(state.look);

	return pick ? pick[P.verdict] : -1;
}

function shownLabel(cell)
{
	if (state.look === "model")
		return hex(cell[C.model]);
	if (state.look === "name")
		return cell[C.name];

	const pick = picksByName(cell[C.list]).get(state.look);

	return pick ? pick[P.says] || pick[P.does].split(";")[0] || "none" : "none";
}

function paint(item)
{
	const verdicts = item.cells.map(shownVerdict);
	const last = verdicts[verdicts.length - 1];
	const turned = comparing && verdicts[0] !== last;
	const mark = verdict => verdict < 0 ? "\u00b7" : symbol(verdict);
	const spoken = verdict => verdict < 0 ? "none" : word(verdict);
	let text = `${turned ? `${mark(verdicts[0])}\u2192` : ""}${mark(last)} ${shownLabel(item.cell)}`;

	if (item.what && !turned)
		text = `\u0394${text}`;
	item.verdict = last >= 0 ? last : verdicts[0];
	if (item.text === text)
		return; // the symbol and the label are all that there is to paint
	item.text = text;
	item.tile.className = `tile ${last < 0 ? "none" : word(last)}${item.what ? " changed" : ""}`;
	item.tile.textContent = text;
	item.tile.setAttribute("aria-label",
			       `${item.cell[C.name]}, ${signature(item.cell)}, ` +
			       (turned ? `${spoken(verdicts[0])}, now ${spoken(last)}` : spoken(last)) +
			       (state.look === "model" || state.look === "name" ? "" : `, ${shownLabel(item.cell)}`) +
			       (item.what && !turned ? ", changed" : ""));
}

function matches(item)
{
	if (state.vendor && item.cell[C.vendor] !== state.vendor)
		return false;
	if (state.changed && !item.what)
		return false;
	return state.search.every(part => item.words.includes(part));
}

// Shows what the controls say. Rows and vendors without a tile go too.
function apply()
{
	const counts = new Array(data.verdicts.length).fill(0);
	const looked = state.look !== "model" && state.look !== "name";

	visible = [];
	for (const item of items) {
		let show = matches(item) && !(looked && shownVerdict(item.cell) < 0);

		if (show)
			counts[item.verdict]++;
		if (state.verdicts.size && !state.verdicts.has(item.verdict))
			show = false;
		if (item.tile.hidden === show)
			item.tile.hidden = !show;
		if (show)
			visible.push(item.number);
	}
	for (const row of ui.rows)
		row.element.hidden = !row.items.some(item => !item.tile.hidden);
	for (const vendor of ui.vendors) {
		const shown = vendor.items.filter(item => !item.tile.hidden);

		vendor.element.hidden = !shown.length;
		vendor.count.textContent = tally(shown);
	}
	data.verdicts.forEach((name, verdict) => {
		const chip = ui.chips[verdict];

		chip.count.textContent = counts[verdict];
		chip.element.hidden = !counts[verdict] && !state.verdicts.has(verdict) && !chip.used;
	});
	ui.count.textContent = visible.length === items.length ? plural(items.length, "cell")
							       : `${visible.length} of ${plural(items.length, "cell")}`;
	ui.empty.hidden = visible.length > 0;
	if (!visible.includes(state.current))
		setCurrent(visible.length ? visible[0] : -1, false);
}

function tally(list)
{
	const counts = new Map();

	for (const item of list)
		counts.set(item.verdict, (counts.get(item.verdict) || 0) + 1);
	return [...counts].sort((a, b) => a[0] - b[0])
		.map(([verdict, count]) => `${symbol(verdict)} ${count} ${word(verdict)}`).join("   ");
}

function repaint()
{
	items.forEach(paint);
	apply();
}

// One tile is in the order of the Tab key; the arrows move it.
function setCurrent(number, focus)
{
	const before = items[state.current];

	if (before)
		before.tile.tabIndex = -1;
	state.current = number;
	if (number < 0)
		return;
	items[number].tile.tabIndex = 0;
	if (focus)
		items[number].tile.focus();
}

// --- the head and the controls ----------------------------------------------------------------------------

function drawHead()
{
	const runs = make("dl", { class: "runs" });
	const head = make("header", { class: "head" }, make("h1", null, "quirklab",
		make("span", null, comparing ? "two runs, compared" : "which memory path each CPU takes")), runs);

	data.runs.forEach((run, at) => {
		runs.append(make("dt", null, comparing ? ["before", "after"][at] : "run"),
			    make("dd", null, run.summary, make("span", { class: "mono" }, run.label)));
		if (run.unfinished.length)
			head.append(make("details", { class: "notice" },
				make("summary", null, `${plural(run.unfinished.length, "planned cell")} without a result` +
					(comparing ? ` (${["before", "after"][at]})` : "")),
				make("ul", null, ...run.unfinished.map(cell => make("li", { class: "mono" }, cell)))));
	});
	document.title = `quirklab: ${data.runs[data.runs.length - 1].summary}`;
	return head;
}

function drawChips()
{
	const group = make("div", { class: "chips", role: "group", "aria-label": "Only these verdicts" });

	ui.chips = data.verdicts.map((name, verdict) => {
		const count = make("i", null);
		const element = make("button", { type: "button", class: "chip", "aria-pressed": "false" },
			make("b", { "aria-hidden": "true" }, symbol(verdict)), name, count);

		element.addEventListener("click", () => {
			const pressed = !state.verdicts.delete(verdict);

			if (pressed)
				state.verdicts.add(verdict);
			element.setAttribute("aria-pressed", String(pressed));
			apply();
		});
		group.append(element);
		return { element, count, used: items.some(item => item.cells.some(cell => cell && cell[C.verdict] === verdict)) };
	});
	return group;
}

function drawSelect(label, options, change)
{
	const select = make("select", { "aria-label": label }, ...options.map(([value, text]) => make("option", { value }, text)));

	select.addEventListener("change", () => change(select.value));
	return [make("label", null, label, select), select];
}

function drawBar()
{
	const vendors = [...new Set(items.map(item => item.cell[C.vendor]))];
	const looks = new Set();

	for (const list of data.lists)
		for (const number of list)
			looks.add(pickName(data.picks[number]));
	ui.search = make("input", {
		type: "search", placeholder: "Search: name, 6:85, path \u2026  ( / )", "aria-label": "Search cells",
		autocomplete: "off", spellcheck: "false",
	});
	ui.search.addEventListener("input", () => {
		state.search = ui.search.value.toLowerCase().split(/\s+/).filter(Boolean);
		apply();
	});
	const [vendor, vendorSelect] = drawSelect("Vendor", [["", "all"], ...vendors.map(name => [name, vendorName(name)])],
		value => { state.vendor = value; apply(); });
	const [look, lookSelect] = drawSelect("Show", [["model", "verdict, model"], ["name", "verdict, name"],
		...[...looks].map(name => [name, name])], value => { state.look = value; repaint(); });
	const reset = make("button", { type: "button", class: "plain" }, "Reset");

	ui.vendor = vendorSelect;
	ui.look = lookSelect;
	ui.count = make("output", { class: "count", "aria-live": "polite" });
	reset.addEventListener("click", resetAll);
	const bar = make("div", { class: "bar", role: "search" }, ui.search, drawChips(), vendor, look);

	if (comparing) {
		ui.changed = make("button", { type: "button", class: "chip", "aria-pressed": "false" },
			make("b", { "aria-hidden": "true" }, "\u0394"), "changed", make("i", null, String(data.changes.length)));
		ui.changed.addEventListener("click", () => {
			state.changed = !state.changed;
			ui.changed.setAttribute("aria-pressed", String(state.changed));
			apply();
		});
		bar.append(ui.changed);
	}
	bar.append(reset, ui.count);
	return bar;
}

function resetAll()
{
	state.search = [];
	state.verdicts.clear();
	state.vendor = "";
	state.look = "model";
	state.changed = false;
	ui.search.value = ui.vendor.value = "";
	ui.look.value = "model";
	for (const chip of [...ui.chips.map(entry => entry.element), ui.changed])
		if (chip)
			chip.setAttribute("aria-pressed", "false");
	repaint();
}

// --- the matrix -------------------------------------------------------------------------------------------

// [[key, items]...] in the order in which the keys come.
function groupBy(list, key)
{
	const groups = new Map();

	for (const item of list)
		cached(groups, key(item), () => []).push(item);
	return [...groups];
}

function drawRow(family, first, uarch, list)
{
	const tiles = make("div", { class: "tiles" });
	const row = make("tr", null,
		make("td", { class: "family" }, first ? `${family} \u00b7 0x${hex(family)}` : make("span", { class: "said" }, String(family))),
		make("th", { scope: "row", class: "uarch", title: uarch || null }, uarch || "(none known)"), make("td", null, tiles));

	for (const item of list) {
		item.tile = make("button", { type: "button", tabindex: "-1", "data-number": item.number });
		paint(item);
		tiles.append(item.tile);
	}
	ui.rows.push({ element: row, items: list });
	return row;
}

function drawVendor(vendor, list)
{
	const count = make("span", null), body = make("tbody", null);
	const section = make("section", { class: "vendor", "aria-label": vendorName(vendor) },
		make("h2", null, vendorName(vendor), count),
		make("table", null, make("thead", null, make("tr", null, make("th", { scope: "col", class: "family" }, "family"),
			make("th", { scope: "col", class: "uarch" }, "microarchitecture"), make("th", { scope: "col" }, "cells"))), body));

	for (const [family, cells] of groupBy(list, item => item.cell[C.family]))
		groupBy(cells, item => item.cell[C.uarch]).forEach(([uarch, tiles], at) =>
			body.append(drawRow(family, at === 0, uarch, tiles)));
	ui.vendors.push({ element: section, items: list, count });
	return section;
}

function drawChanges()
{
	const most = 500;
	const list = items.filter(item => item.what);
	const entries = list.slice(0, most).map(item => {
		const button = make("button", { type: "button", "data-number": item.number, class: "mono" }, item.cell[C.cell]);

		return make("li", null, button, make("span", null, item.what.trim().split("\n").join("; ").replaceAll(" -> ", " \u2192 ")));
	});

	return make("section", { class: "changes", "aria-label": "Changes" },
		make("h2", null, list.length ? `${plural(list.length, "cell")} changed` : "No cell changed"),
		list.length ? make("ul", null, ...entries, list.length > most
			? make("li", null, `and ${list.length - most} more: the button \u201cchanged\u201d shows them all`) : null) : null);
}

function drawMatrix()
{
	const matrix = make("div", { class: "matrix" });
	const key = name => make("kbd", null, name);

	ui.rows = [];
	ui.vendors = [];
	if (comparing)
		matrix.append(drawChanges());
	for (const [vendor, list] of groupBy(items, item => item.cell[C.vendor]))
		matrix.append(drawVendor(vendor, list));
	ui.empty = make("p", { class: "empty", hidden: true }, "No cell matches.");
	matrix.append(ui.empty, make("p", { class: "keys" }, key("/"), " search  ", key("\u2190"), key("\u2192"), key("\u2191"), key("\u2193"),
		" or ", key("h"), key("j"), key("k"), key("l"), " move  ", key("Enter"), " open  ", key("Esc"), " close"));
	matrix.addEventListener("pointerover", event => {
		const tile = event.target.closest(".tile");

		if (tile && !tile.title) {
			const cell = items[tile.dataset.number].cell;

			tile.title = `${cell[C.cell]}  ${signature(cell)}${cell[C.reason] ? `\n${cell[C.reason]}` : ""}`;
		}
	});
	matrix.addEventListener("click", event => {
		const target = event.target.closest("[data-number]");

		if (target)
			openCell(Number(target.dataset.number));
	});
	return matrix;
}

// --- one cell ---------------------------------------------------------------------------------------------

const ends = {
	returned: "followed to its return", abandoned: "left after some rounds of its main loop",
	faulted: "ended by an exception", limit: "left at the limit of steps",
};

function drawTrace(number)
{
	const [end, ...steps] = data.traces[number];
	const rows = steps.map(([offset, rounds, flag, code, text, kind]) => make("tr", null,
		make("td", { class: "offset" }, offset.toString(16)), make("td", { class: "bytes" }, code || "?"),
		make("td", { class: "times" }, rounds > 1 ? `${rounds}${rounds > 6 ? "+" : ""}\u00d7` : ""),
		make("td", { class: kind ? "store" : null }, text),
		make("td", null, [kind, flag === 1 ? "emulated" : "", flag === 2 ? "raised an exception" : ""].filter(Boolean).join(", "))));

	return make("div", null, make("p", null, ends[end] || end),
		make("table", { class: "asm" }, make("caption", { class: "said" }, "instructions in the order of their first execution"),
			make("tbody", null, ...rows)));
}

function drawListing(picks, columns)
{
	const cell = make("div", null);

	picks.forEach((pick, at) => {
		if (!pick || !pick[P.traces].length)
			return;
		if (comparing)
			cell.append(make("p", null, ["before", "after"][at]));
		cell.append(make("div", { class: "traces" }, ...pick[P.traces].map(drawTrace)));
	});
	return make("tr", { class: "listing" }, make("td", { colspan: columns }, cell));
}

// verdict, says, does of one pick, for one run
function drawOutcome(pick, other)
{
	const differs = key => other && pick && other[key] !== pick[key] ? " differs" : "";

	if (!pick)
		return [make("td", { class: "group", colspan: 3 }, "not there")];
	if (other && [P.verdict, P.says, P.does, P.row].every(key => other[key] === pick[key]))
		return [make("td", { class: "group", colspan: 3 }, make("span", { class: "note" }, "the same"))];
	return [
		make("td", { class: "group" }, badge(pick[P.verdict], comparing), pick[P.depends].length
			? make("div", { class: "note" }, pick[P.depends].join(", ")) : null),
		make("td", { class: differs(P.says).trim() || null }, pick[P.says] || "\u2212",
			pick[P.row] ? make("div", { class: "note" }, `row ${pick[P.row]}`) : null),
		make("td", { class: `does${differs(P.does)}` }, pick[P.does] || "\u2212",
			pick[P.executable] === "yes" ? null : make("div", { class: "note" },
				pick[P.executable] === "no" ? "not executable here" : "emulated")),
	];
}

function drawPicks(cells)
{
	const maps = cells.map(cell => cell ? picksByName(cell[C.list]) : new Map());
	const names = [...new Set(maps.flatMap(map => [...map.keys()]))];
	const columns = 3 + 3 * cells.length;
	const body = make("tbody", null);
	const headings = cells.flatMap(() => [make("th", { scope: "col", class: "group" }, "verdict"), make("th", { scope: "col" }, "says"),
		make("th", { scope: "col" }, "does")]);
	let opened = false;

	for (const name of names) {
		const picks = maps.map(map => map.get(name));
		const pick = picks[picks.length - 1] || picks[0];
		const has = picks.some(one => one && one[P.traces].length);
		const button = make("button", { type: "button", class: "pick", "aria-expanded": "false", disabled: !has }, name);
		const row = make("tr", null, make("th", { scope: "row" }, button),
			...picks.flatMap((one, at) => drawOutcome(one, at ? picks[0] : null)),
			make("td", { class: "group" }, pick[P.expected] || "\u2212"), make("td", null, pick[P.size] === null ? "" : bytes(pick[P.size])));
		let listing = null;

		button.addEventListener("click", () => {
			if (!listing) {
				listing = drawListing(picks, columns);
				row.after(listing);
			} else {
				listing.hidden = !listing.hidden;
			}
			button.setAttribute("aria-expanded", String(!listing.hidden));
		});
		body.append(row);
		if (!opened && has && picks.some(one => one && word(one[P.verdict]) === "fail")) {
			button.click();
			opened = true;
		}
	}
	if (!names.length)
		return make("p", { class: "sub" }, "No pick was reported.");
	return make("div", { class: "wide" }, make("table", { class: "list" }, make("thead", null,
		cells.length > 1 ? make("tr", null, make("th", null), make("th", { scope: "colgroup", class: "group", colspan: 3 }, "before"),
			make("th", { scope: "colgroup", class: "group", colspan: 3 }, "after"), make("th", { class: "group", colspan: 2 })) : null,
		make("tr", null, make("th", { scope: "col" }, "pick"), ...headings, make("th", { scope: "col", class: "group" }, "expected"),
			make("th", { scope: "col" }, "size"))), body));
}

// Asked, told to the hypervisor, seen by the guest: a row for each bit or field where they are not all one.
function drawDifference(cell)
{
	const difference = data.differences[cell[C.difference]];
	const rows = new Map();
	const put = (names, values) => {
		for (const name of names)
			rows.set(name, { ...(rows.get(name) || {}), ...values });
	};

	put(difference[D.forced], { asked: "on", told: "forced on", seen: "on" });
	put(difference[D.missing], { asked: "on", seen: "off" });
	put(difference[D.unavailable], { asked: "on", told: "cannot be presented" });
	put(difference[D.extra], { asked: "off", seen: "on" });
	put(difference[D.identity], { asked: "as named", told: "as asked", seen: "another" });
	if (!rows.size)
		return make("p", { class: "sub" }, "None: the guest saw the CPU that was asked for.");
	return make("table", { class: "list" }, make("thead", null, make("tr", null, ...["bit or field", "asked", "told the hypervisor", "seen in the guest"]
		.map(text => make("th", { scope: "col" }, text)))), make("tbody", null, ...[...rows].map(([name, row]) =>
		make("tr", null, make("th", { scope: "row", class: "mono" }, name), make("td", null, row.asked),
			make("td", null, row.told || "as asked"),
			make("td", { class: row.seen && row.seen !== row.asked ? "differs" : null },
				!row.seen ? "off" : row.seen !== row.asked ? `${row.seen} \u2260` : row.seen)))));
}

function drawLogs(cell)
{
	const [console_, qemu] = data.logs[cell[C.logs]];
	const parts = [["Console, its end", console_], ["QEMU\u2019s messages, their end", qemu]].filter(([, text]) => text)
		.map(([title, text], at) => make("details", { open: at === 0 && word(cell[C.verdict]) !== "pass" },
			make("summary", null, title), make("pre", { class: "log", tabindex: "0" }, text)));

	if (!parts.length)
		return [make("p", { class: "sub" }, console_ === null ? "The results folder with this cell\u2019s logs was not given to the report."
			: "The console stayed empty.")];
	return parts;
}

function drawKernel(cell)
{
	const kernel = data.kernels[cell[C.kernel]];

	if (!kernel)
		return [];
	const table = (title, rows) => rows.length ? make("details", null, make("summary", null, title),
		make("table", { class: "list" }, make("tbody", null, ...rows.map(([name, value]) =>
			make("tr", null, make("th", { scope: "row", class: "mono" }, name), make("td", null, String(value))))))) : null;

	return [make("h3", null, "Kernel"), table("Vulnerabilities", kernel[1]), table("Callers of each routine", kernel[2]),
		make("details", null, make("summary", null, "Flags"), make("p", { class: "mono flags" }, kernel[0]))];
}

function drawProgram(cell)
{
	const program = data.programs[cell[C.program]];

	if (!program)
		return [];
	const [version, end, tests, values, notes] = program;
	const facts = [["version", version], ["ended with", end], ["its tests", tests], ...values].filter(([, text]) => text);

	return [make("h3", null, "Program"), make("table", { class: "list" }, make("tbody", null, ...facts.map(([name, text]) =>
		make("tr", null, make("th", { scope: "row" }, name), make("td", null, text))))),
		...notes.map(note => make("p", { class: "sub" }, note))];
}

function drawCommand(cell)
{
	const code = make("code", { tabindex: "0" }, cell[C.command]);
	const button = make("button", { type: "button", class: "plain" }, "Copy");
	const said = make("span", { class: "said", role: "status" });

	button.addEventListener("click", async () => {
		try {
			await navigator.clipboard.writeText(cell[C.command]);
			button.textContent = "Copied";
			said.textContent = "copied";
		} catch {
			// No clipboard for a page of this kind: it is selected, for Ctrl-C.
			getSelection().selectAllChildren(code);
			button.textContent = "Selected";
			said.textContent = "selected";
		}
	});
	return make("div", { class: "command" }, code, button, said);
}

function drawRun(cell)
{
	const host = data.hosts[cell[C.host]];
	const facts = [
		["run", host[H.run]], ["image", host[H.image]], ["subject", host[H.subject]], ["accelerator", host[H.accel]],
		["CPUs in its guest", cell[C.pack]], ["tries", cell[C.tries]], ["its share of the time", `${cell[C.seconds]} s`],
		["QEMU", host[H.qemu]], ["libvirt", host[H.libvirt]], ["kernel", host[H.kernel]], ["libc", host[H.libc]],
	].filter(([, value]) => value !== "");

	return make("table", { class: "list" }, make("tbody", null, ...facts.map(([name, value]) =>
		make("tr", null, make("th", { scope: "row" }, name), make("td", null, String(value))))));
}

function drawCell(item)
{
	const cell = item.cell;
	const close = make("button", { type: "button", class: "plain close", "aria-label": "Close", title: "Close (Esc)" }, "\u00d7");
	const panel = ui.cell;

	close.addEventListener("click", closeCell);
	panel.replaceChildren(
		make("header", null, make("div", null, make("h2", { id: "cell-title" }, cell[C.cell]),
			make("p", { class: "sub" }, `${vendorName(cell[C.vendor])}  family ${cell[C.family]} (0x${hex(cell[C.family])}), model ` +
				`${cell[C.model]} (0x${hex(cell[C.model])}), stepping ${cell[C.stepping]}${cell[C.uarch] ? `  ${cell[C.uarch]}` : ""}`)),
		close),
		...item.cells.map((one, at) => make("p", { class: "reason" },
			comparing ? `${["before", "after"][at]}: ` : "", one ? badge(one[C.verdict]) : "not in this run",
			one && one[C.reason] ? `  ${one[C.reason]}` : "")),
		make("h3", null, "Reproduce"), drawCommand(cell),
		make("h3", null, "Picks"), drawPicks(item.cells),
		make("h3", null, "Asked, told, seen"), drawDifference(cell),
		...drawKernel(cell), ...drawProgram(cell),
		make("h3", null, "Logs"), ...drawLogs(cell),
		make("h3", null, "Where it ran"), drawRun(cell));
	panel.scrollTop = 0;
}

const narrow = matchMedia("(max-width: 900px)");

// On a narrow screen the cell covers the rest, which then takes no focus.
function cover()
{
	const covered = narrow.matches && state.open >= 0;

	for (const element of [ui.head, ui.bar, ui.matrix])
		element.inert = covered;
}

function markOpen(number, on)
{
	if (number >= 0 && on)
		items[number].tile.setAttribute("aria-current", "true");
	else if (number >= 0)
		items[number].tile.removeAttribute("aria-current");
}

function openCell(number)
{
	markOpen(state.open, false);
	state.open = number;
	setCurrent(number, false);
	markOpen(number, true);
	drawCell(items[number]);
	ui.cell.hidden = false;
	ui.body.classList.add("open");
	cover();
	ui.cell.focus({ preventScroll: true });
	history.replaceState(null, "", `#${encodeURIComponent(items[number].cell[C.cell])}`);
}

function closeCell()
{
	const number = state.open;

	if (number < 0)
		return;
	markOpen(number, false);
	state.open = -1;
	ui.cell.hidden = true;
	ui.cell.replaceChildren();
	ui.body.classList.remove("open");
	cover();
	history.replaceState(null, "", "#");
	if (!items[number].tile.hidden)
		setCurrent(number, true);
}

// --- keys ---------------------------------------------------------------------------------------------------

// Left and right go along the tiles, up and down to the nearest tile of the next line on the screen.
function move(step, line)
{
	const at = visible.indexOf(state.current);
	let to = at + step;

	if (at < 0)
		return;
	if (line) {
		const box = number => items[number].tile.getBoundingClientRect();
		const from = box(visible[at]);
		let top = null, best = -1, distance = Infinity;

		for (; to >= 0 && to < visible.length; to += step) {
			const rect = box(visible[to]);

			if (Math.abs(rect.top - from.top) < 4)
				continue;
			if (top === null)
				top = rect.top;
			if (Math.abs(rect.top - top) >= 4)
				break;
			if (Math.abs(rect.left - from.left) < distance) {
				distance = Math.abs(rect.left - from.left);
				best = to;
			}
		}
		to = best;
	}
	if (to >= 0 && to < visible.length)
		setCurrent(visible[to], true);
}

const moves = {
	ArrowLeft: [-1, false], ArrowRight: [1, false], ArrowUp: [-1, true], ArrowDown: [1, true],
	h: [-1, false], l: [1, false], k: [-1, true], j: [1, true],
};

function onKey(event)
{
	const target = event.target;
	const typing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;

	if (event.ctrlKey || event.altKey || event.metaKey)
		return;
	if (event.key === "Escape") {
		if (target === ui.search && ui.search.value) {
			ui.search.value = "";
			state.search = [];
			apply();
		} else if (state.open >= 0) {
			closeCell();
		} else if (typing && state.current >= 0) {
			setCurrent(state.current, true);
		}
	} else if (event.key === "/" && !typing && !ui.bar.inert) {
		ui.search.focus();
		ui.search.select();
	} else if (event.key === "Enter" && target === ui.search && visible.length) {
		setCurrent(visible[0], true);
	} else if (moves[event.key] && !typing && (target === document.body || target.classList.contains("tile"))) {
		if (target === document.body && state.current >= 0)
			setCurrent(state.current, true);
		else
			move(...moves[event.key]);
	} else if ((event.key === "Home" || event.key === "End") && target.classList.contains("tile")) {
		setCurrent(visible[event.key === "Home" ? 0 : visible.length - 1], true);
	} else {
		return;
	}
	event.preventDefault();
}

function openFromAddress()
{
	let name = "";

	try {
		name = decodeURIComponent(location.hash.slice(1));
	} catch {
		return; // no name of a cell
	}
	const item = name ? items.find(one => one.cell[C.cell] === name) : null;

	if (item) {
		openCell(item.number);
		item.tile.scrollIntoView({ block: "center" });
	}
}

collect();
for (const item of items)
	item.words = item.cells.filter(Boolean).map(words).join(" ");
ui.head = drawHead();
ui.bar = drawBar();
ui.matrix = drawMatrix();
ui.cell = make("aside", { class: "cell", tabindex: "-1", hidden: true, role: "region", "aria-labelledby": "cell-title" });
ui.body = make("div", { class: "body" }, ui.matrix, ui.cell);
apply();
root.append(ui.head, ui.bar, ui.body);
setCurrent(visible.length ? visible[0] : -1, false);
document.addEventListener("keydown", onKey);
narrow.addEventListener("change", cover);
openFromAddress();
})();
