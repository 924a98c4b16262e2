// Charts that tell their figures, lines on and off, a closer look at a time, tables that sort and filter. Without it the page
// has the same content.
"use strict";
(() => {
  const all = (query, of = document) => [...of.querySelectorAll(query)];
  const SVG = document.querySelector("svg")?.namespaceURI;
  const make = (name, attributes, ...inside) => {
    const made = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...inside);
    return made;
  };

  // Figures at the pointer, or by the arrow keys.
  const charted = (svg, number) => {
    const figure = svg.closest("figure");
    const table = figure.querySelector("table");
    const names = all("thead th", table).map((cell) => cell.textContent);
    const rows = all("tbody tr", table).map((row) => all("th, td", row).map((cell) => cell.textContent));
    const places = svg.dataset.x.split(" ").map(Number);
    const [left, right, top, bottom] = svg.dataset.box.split(" ").map(Number);
    const { width, height } = svg.viewBox.baseVal;
    const drawn = new Set(all("[data-line]", svg).map((part) => part.dataset.line));
    const off = new Set();
    let closer = () => {};
    let at = null;
    let zoom = [left, right];
    const seen = (x) => left + ((x - zoom[0]) / (zoom[1] - zoom[0])) * (right - left);
    const guide = make("svg:path", { class: "guide" });
    const told = make("div", { class: "told", role: "status" });
    svg.append(guide);
    figure.append(told);
    svg.tabIndex = 0;
    const show = (index) => {
      at = index;
      told.replaceChildren();
      guide.setAttribute("d", "");
      if (index === null) return;
      const x = seen(places[index]);
      guide.setAttribute("d", `M${x} ${top}V${bottom}`);
      const lines = names.slice(1).map((name, line) => [name, rows[index][line + 1], line]);
      const shown = lines.filter(([, text, line]) => text !== "–" && drawn.has(String(line)) && !off.has(String(line)));
      told.append(make("strong", {}, `${names[0]} ${rows[index][0]}`));
      shown.forEach(([name, text, line]) => {
        told.append(make("span", { style: `--mark: var(--line-${line})` }, `${name} `, make("b", {}, text)));
      });
      const [frame, outer] = [svg.getBoundingClientRect(), figure.getBoundingClientRect()];
      const middle = frame.left - outer.left + (x / width) * frame.width;
      const beside = Math.min(Math.max(middle - told.offsetWidth / 2, 0), outer.width - told.offsetWidth);
      told.style.left = `${beside}px`;
      told.style.top = `${frame.bottom - outer.top - 0.15 * frame.height}px`;
    };
    const inside = (event) => {
      const frame = svg.getBoundingClientRect();
      return Math.min(Math.max(((event.clientX - frame.left) / frame.width) * width, left), right);
    };
    const nearest = (event) => {
      const x = inside(event);
      const far = (index) => Math.abs(seen(places[index]) - x);
      const visible = places.map((_, index) => index).filter((index) => places[index] >= zoom[0] && places[index] <= zoom[1]);
      return visible.reduce((one, other) => (one === null || far(other) < far(one) ? other : one), null);
    };
    svg.addEventListener("pointermove", (event) => show(nearest(event)));
    svg.addEventListener("pointerleave", () => document.activeElement === svg || show(null));
    svg.addEventListener("blur", () => show(null));
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        show(Math.min(Math.max(at === null ? 0 : at + step, 0), places.length - 1));
        event.preventDefault();
      }
      if (event.key === "Escape") (show(null), closer([left, right]));
      if ((event.key === "+" || event.key === "-") && "zoom" in svg.dataset && at !== null) {
        const half = ((zoom[1] - zoom[0]) / 2) * (event.key === "+" ? 0.5 : 2);
        closer([Math.max(places[at] - half, left), Math.min(places[at] + half, right)]);
        show(at);
      }
    });

    // A line that its legend turns off.
    all(".legend li[data-line]", figure).forEach((entry) => {
      const button = make("button", { type: "button", "aria-pressed": "true" }, ...entry.childNodes);
      button.addEventListener("click", () => {
        const line = entry.dataset.line;
        off.delete(line) || off.add(line);
        button.setAttribute("aria-pressed", String(!off.has(line)));
        all(`[data-line="${line}"]`, svg).forEach((part) => part.classList.toggle("off", off.has(line)));
      });
      entry.append(button);
    });
    if (!("zoom" in svg.dataset)) return;

    // A closer look at a part of the time: drag across it.
    const plot = svg.querySelector(".plot");
    const clip = make("svg:clipPath", { id: `zoom-${number}` });
    clip.append(make("svg:rect", { x: left, y: 0, width: right - left, height }));
    const kept = make("svg:g", { "clip-path": `url(#zoom-${number})` });
    plot.replaceWith(kept);
    kept.append(plot);
    const chosen = make("svg:rect", { class: "chosen", y: top, height: bottom - top, width: 0 });
    svg.append(clip, chosen);
    const ticks = svg.querySelector(".ticks");
    const original = [...ticks.childNodes];
    closer = ([from, to]) => {
      zoom = [from, to];
      const scale = (right - left) / (to - from);
      plot.setAttribute("transform", `matrix(${scale} 0 0 1 ${left - scale * from} 0)`);
      svg.classList.toggle("zoomed", scale > 1.001);
      if (scale <= 1.001) return ticks.replaceChildren(...original);
      const shown = rows.map((row, index) => [seen(places[index]), row[0]]);
      const inside = shown.filter(([x]) => x >= left && x <= right);
      const every = Math.max(1, Math.ceil(inside.length / 5));
      const label = ([x, text]) => make("svg:text", { x, y: bottom + 18 }, text);
      ticks.replaceChildren(...inside.filter((_, index) => index % every === 0).map(label));
    };
    let from = null;
    svg.addEventListener("pointerdown", (event) => {
      from = inside(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const ends = [from, inside(event)].sort((one, other) => one - other);
      chosen.setAttribute("x", ends[0]);
      chosen.setAttribute("width", ends[1] - ends[0]);
    });
    svg.addEventListener("pointerup", (event) => {
      const ends = [from ?? 0, inside(event)].sort((one, other) => one - other);
      chosen.setAttribute("width", 0);
      if (from !== null && ends[1] - ends[0] > 8) {
        const real = (x) => zoom[0] + ((x - left) / (right - left)) * (zoom[1] - zoom[0]);
        closer(ends.map(real));
      }
      from = null;
    });
    svg.addEventListener("dblclick", () => closer([left, right]));
    figure.querySelector("figcaption").append(" Drag across a part to see it closer; double-click, or Esc, for the whole.");
  };
  all("svg.chart[data-x]").forEach(charted);

  // Tables that sort by a column, filter, and leave as CSV.
  const UNITS = {
    B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9,
    ns: 1e-9, "µs": 1e-6, ms: 1e-3, min: 60, h: 3600,
  };
  const amount = (text) => {
    const [, number, unit] = /^([+−-]?[\d\u202f\u00a0 ]*\.?\d+)\s*(\S*)/.exec(text) ?? [];
    return number === undefined ? null : Number(number.replace(/[\u202f\u00a0 ]/g, "").replace("−", "-")) * (UNITS[unit] ?? 1);
  };
  const tabled = (scroll) => {
    const table = scroll.querySelector("table.figures");
    const body = table && table.tBodies[0];
    if (!body || body.rows.length < 3 || !table.tHead) return;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const key = (row) => row.cells[column].textContent;
        const compare = (one, other) => {
          const [a, b] = [amount(key(one)), amount(key(other))];
          if (a === null || b === null) return a !== null ? -1 : b !== null ? 1 : key(one).localeCompare(key(other));
          return a - b;
        };
        const rows = [...body.rows].sort(compare);
        body.append(...(falls ? rows.reverse() : rows));
      });
    });
    if (body.rows.length < 10) return;
    const filter = make("input", { type: "search", placeholder: "filter", "aria-label": `Filter ${scroll.ariaLabel}` });
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/);
      [...body.rows].forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      });
    });
    const csv = make("button", { type: "button" }, "CSV");
    csv.addEventListener("click", () => {
      const quoted = (cell) => `"${cell.textContent.replaceAll('"', '""')}"`;
      const text = [...table.rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(quoted).join(",")).join("\r\n");
      const name = `${scroll.ariaLabel.replace(/\W+/g, "-").toLowerCase()}.csv`;
      make("a", { href: `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`, download: name }).click();
    });
    scroll.before(make("div", { class: "tools" }, filter, csv));
  };
  all(".scroll").forEach(tabled);

  // A link into what is folded opens it.
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();
