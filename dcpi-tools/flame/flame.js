/*
 * flame.js - a flame graph that zooms by click and searches, in its own file and in dcpiweb's page
 *
 * Without it the picture is whole: titles of frames say what does not fit.
 */
"use strict";
(() => {
	const svg = document.querySelector("svg.flame");
	const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
	const WIDTH = 1200, CHARACTER = 7.25, PADDING = 3, CUT_LEAST = 3; /* as in svg.c */
	const FOUND = "#ff8ae2", NEAR = 0.05; /* NEAR: more than numbers of two digits are off */

	if (!svg)
		return;
	const frames = [...svg.querySelectorAll("g.f")].map((group) => {
		const rect = group.querySelector("rect"), lines = group.querySelector("title").textContent.split("\n");
		return {
			group, rect, text: group.querySelector("text"), name: lines[0],
			sought: (lines[0] + "\n" + lines[1]).toLowerCase(), fill: rect.getAttribute("fill"),
			x: Number(rect.getAttribute("x")), y: Number(rect.getAttribute("y")),
			width: Number(rect.getAttribute("width")),
		};
	});
	let zoomed = frames[0];

	const element = (space, name, attributes, parent) => {
		const made = document.createElementNS(space, name);
		for (const key in attributes)
			made.setAttribute(key, attributes[key]);
		parent.append(made);
		return made;
	};

	/* What has the role of a button is pressed by these keys. */
	const presses = (event) => event.key === "Enter" || event.key === " ";

	/* What fits of a name. */
	const cut = (name, width) => {
		const letters = Array.from(name), fitting = Math.floor((width - 2 * PADDING) / CHARACTER);
		if (fitting < CUT_LEAST)
			return "";
		return letters.length <= fitting ? name : letters.slice(0, fitting - 1).join("") + "\u2026";
	};

	const contains = (outer, inner) =>
		outer.x <= inner.x + NEAR && outer.x + outer.width >= inner.x + inner.width - NEAR;

	/* Callers of the frame are as wide as the picture, and pale; what it does not call is hidden. */
	const zoom = (to) => {
		zoomed = to;
		for (const frame of frames) {
			const isCaller = frame.y < to.y && contains(frame, to);
			const isShown = isCaller || (frame.y >= to.y && contains(to, frame));
			const x = isCaller ? 0 : (frame.x - to.x) / to.width * WIDTH;
			const width = isCaller ? WIDTH : frame.width / to.width * WIDTH;

			frame.group.setAttribute("display", isShown ? "inline" : "none");
			if (!isShown)
				continue;
			frame.rect.setAttribute("fill-opacity", isCaller ? 0.5 : 1); /* names stay black */
			frame.rect.setAttribute("x", x.toFixed(2));
			frame.rect.setAttribute("width", width.toFixed(2));
			frame.text.setAttribute("x", (x + PADDING).toFixed(2));
			frame.text.textContent = cut(frame.name, width);
		}
		if (to === frames[0] && document.activeElement === reset)
			to.group.focus(); /* what is hidden cannot keep the focus */
		reset.setAttribute("display", to === frames[0] ? "none" : "inline");
	};

	/* The share of the samples that have such a frame: of frames within each other, the outermost one counts. */
	const search = (wanted) => {
		let end = -1, share = 0;
		const found = frames.slice(1).filter((frame) => wanted && frame.sought.includes(wanted.toLowerCase()));

		for (const frame of frames)
			frame.rect.setAttribute("fill", frame.fill);
		for (const frame of found.sort((a, b) => a.x - b.x || a.y - b.y)) {
			frame.rect.setAttribute("fill", FOUND);
			if (frame.x < end - NEAR)
				continue;
			share += frame.width;
			end = frame.x + frame.width;
		}
		matched.textContent = wanted ? `found: ${(100 * share / WIDTH).toFixed(2)}%` : "";
	};

	const reset = element(SVG, "text", {x: 915, y: 24, "text-anchor": "end", fill: "#0b57d0", class: "reset",
		"text-decoration": "underline", cursor: "pointer", display: "none", role: "button", tabindex: 0}, svg);
	reset.textContent = "Reset zoom (Esc)";
	reset.addEventListener("click", () => zoom(frames[0]));
	reset.addEventListener("keydown", (event) => {
		if (!presses(event))
			return;
		zoom(frames[0]);
		event.preventDefault();
	});

	const box = element(SVG, "foreignObject", {x: 930, y: 6, width: 260, height: 28}, svg);
	const field = element(HTML, "input", {type: "search", placeholder: "Search names and images ( / )",
		"aria-label": "Search names and images"}, box);
	Object.assign(field.style, {boxSizing: "border-box", width: "258px", height: "26px", margin: "0",
		padding: "0 6px", font: "12px monospace", color: "#000", background: "#fff", border: "1px solid #767676"});
	field.addEventListener("input", () => search(field.value.trim()));
	const matched = element(SVG, "text", {x: 1190, y: 50, "text-anchor": "end", class: "matched",
		"font-weight": "bold", role: "status"}, svg);

	/* The neighbour that an arrow key leads to; what is hidden is none. */
	const neighbour = (from, key) => {
		const step = {ArrowUp: -1, ArrowDown: 1}[key] || 0;
		const height = frames.length > 1 ? Math.min(...frames.slice(1).map((frame) => frame.y)) - frames[0].y : 0;
		const row = frames.filter((frame) => frame.y === from.y + step * height &&
			frame.group.getAttribute("display") !== "none").sort((a, b) => a.x - b.x);

		if (key === "ArrowUp")
			return row.find((frame) => contains(frame, from));
		if (key === "ArrowDown")
			return row.find((frame) => contains(from, frame));
		return row[row.indexOf(from) + (key === "ArrowLeft" ? -1 : 1)];
	};

	/* Screen readers call a frame by its title. */
	for (const frame of frames) {
		frame.group.setAttribute("role", "button");
		frame.group.setAttribute("tabindex", frame === frames[0] ? 0 : -1);
		frame.group.setAttribute("cursor", "pointer");
		frame.group.addEventListener("click", () => zoom(frame));
		frame.group.addEventListener("keydown", (event) => {
			const next = event.key.startsWith("Arrow") ? neighbour(frame, event.key) : null;

			if (presses(event))
				zoom(frame);
			else if (next)
				next.group.focus();
			if (presses(event) || event.key.startsWith("Arrow"))
				event.preventDefault();
		});
	}
	document.addEventListener("keydown", (event) => {
		if (event.key === "Escape") {
			if (field.value || zoomed === frames[0]) {
				field.value = "";
				field.blur();
				search("");
			} else {
				zoom(frames[0]);
			}
		} else if (event.key === "/" && !event.target.closest("input, select, textarea")) {
			field.focus();
			event.preventDefault();
		}
	});
})();
