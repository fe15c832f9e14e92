// dcpi.js - what a page can do better with a script: drag over the time line, sort a table. Everything works without.
"use strict";

// A drag over the time line selects a stretch; a click stays a link to one column.
for (const picture of document.querySelectorAll("svg.timeline")) {
	const start = Number(picture.dataset.start), end = Number(picture.dataset.end);
	const chosen = document.createElementNS("http://www.w3.org/2000/svg", "rect");
	let from = null, moved = false;

	const place = event => {
		const box = picture.getBoundingClientRect();
		return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
	};
	chosen.setAttribute("class", "chosen");
	chosen.setAttribute("height", "240");
	picture.append(chosen);
	picture.addEventListener("dragstart", event => event.preventDefault());
	picture.addEventListener("pointerdown", event => {
		if (event.button === 0) {
			from = place(event);
			moved = false;
		}
	});
	picture.addEventListener("pointermove", event => {
		if (from === null)
			return;
		const to = place(event);
		if (Math.abs(to - from) * picture.clientWidth > 4 && !moved) {
			moved = true;
			picture.setPointerCapture(event.pointerId);
		}
		chosen.setAttribute("x", String(1000 * Math.min(from, to)));
		chosen.setAttribute("width", String(moved ? 1000 * Math.abs(to - from) : 0));
	});
	picture.addEventListener("pointerup", event => {
		const to = place(event), first = from;
		from = null;
		if (!moved || first === null)
			return;
		const url = new URL(location.href);
		url.searchParams.set("since", "@" + Math.ceil(start + Math.min(first, to) * (end - start)));
		url.searchParams.set("until", "@" + Math.ceil(start + Math.max(first, to) * (end - start)));
		url.searchParams.delete("epoch");
		location.assign(url);
	});
	picture.addEventListener("click", event => {
		if (moved)
			event.preventDefault();
		moved = false;
	}, true);
	picture.addEventListener("pointercancel", () => {
		from = null;
		chosen.setAttribute("width", "0");
	});
}

// A heading sorts its table: numbers from the largest on, names from A on; once more turns it around.
const cellValue = (row, index) => {
	const text = row.cells[index].textContent.trim();
	const number = Number(text.replace(/[,x%*+]/g, ""));
	return text !== "" && Number.isFinite(number) ? number : text;
};

const compareValues = (one, other) => {
	if (typeof one === "number" && typeof other === "number")
		return other - one;
	if (typeof one !== typeof other)
		return typeof one === "number" ? -1 : 1;
	return one.localeCompare(other);
};

const sortBy = (table, heading) => {
	const index = heading.cellIndex, body = table.tBodies[0];
	const again = heading.dataset.order === "first";
	const rows = [...body.rows].sort((one, other) =>
		(again ? -1 : 1) * compareValues(cellValue(one, index), cellValue(other, index)));
	const isNumber = heading.classList.contains("number");

	for (const other of heading.parentElement.cells) {
		delete other.dataset.order;
		other.removeAttribute("aria-sort");
	}
	heading.dataset.order = again ? "second" : "first";
	heading.setAttribute("aria-sort", isNumber !== again ? "descending" : "ascending");
	body.append(...rows);
};

for (const table of document.querySelectorAll("table.sortable")) {
	for (const heading of table.tHead.rows[0].cells) {
		if (heading.querySelector("a, .unseen"))
			continue; // the server sorts by events, of all rows and not only of those that are here
		const button = document.createElement("button");
		button.type = "button";
		button.append(...heading.childNodes);
		heading.append(button);
		button.addEventListener("click", () => sortBy(table, heading));
	}
}
