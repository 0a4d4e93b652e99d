// A sweep or a search: a curve along one key, a heat map over two, the Pareto front, the best.
"use strict";

const shortKey = key => key.split(".").pop().replace(/_/g, " ");

// Of a file, what it is called.
const valueOf = value => value !== "" && isFinite(value) ? Number(value)
  : value.replace(/^.*\/([^/]+)\.yaml$/, "$1");

// The points that are done, with numbers where values are numbers.
function donePoints(sweep) {
  return sweep.points.filter(point => point.state === "done").map(point => ({
    number: point.number, figures: point.figures,
    values: point.values.map(valueOf)}));
}

const distinct = (points, key) => [...new Set(points.map(point => point.values[key]))]
  .sort((a, b) => typeof a === "number" && typeof b === "number" ? a - b
                                                               : String(a).localeCompare(b));

function measureText(measure) {
  if (measure.name === "mfu") return percentText;
  if (measure.unit === "s") return value => timeText(value * 1e12);
  return measure.unit === "" ? rateText : value => `${digits(value)} ${measure.unit}`;
}

const betterOf = measure => (a, b) => measure.more_is_better ? b - a : a - b;
const bestOf = (points, m, measure) => points
  .filter(point => point.figures[m] !== null)
  .sort((a, b) => betterOf(measure)(a.figures[m], b.figures[m]) || a.number - b.number);

// ---- a plane with two axes

function plane({title, x, y, height = 330}) {
  const width = 1040, left = 80, top = 8, right = 20, bottom = 44;
  const svg = element("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0});
  svg.append(element("title", {}, title));
  const at = {
    x: value => left + (width - left - right) * x.place(value),
    y: value => top + (height - top - bottom) * (1 - y.place(value))};
  for (const tick of x.ticks) {
    svg.append(element("line", {class: "axis", x1: at.x(tick), x2: at.x(tick), y1: top,
                                y2: height - bottom}),
               element("text", {class: "soft", x: at.x(tick), y: height - bottom + 16,
                                "text-anchor": "middle"}, short(x.text)(tick)));
  }
  for (const tick of y.ticks) {
    svg.append(element("line", {class: "axis", x1: left, x2: width - right, y1: at.y(tick),
                                y2: at.y(tick)}),
               element("text", {class: "soft", x: left - 8, y: at.y(tick) + 4,
                                "text-anchor": "end"}, short(y.text)(tick)));
  }
  svg.append(element("text", {x: width - right, y: height - 8, "text-anchor": "end"}, x.name));
  return {svg, at};
}

const linear = (most, text, name) =>
  ({name, text, ticks: ticks(most, 6), place: value => value / (most || 1)});
// Values of a key at equal distances, as they mostly are powers of two.
const ordinal = (values, name) => ({name, text: String, ticks: values,
  place: value => (values.indexOf(value) + 0.5) / values.length});

// The best figure for each value of a key.
function curve(sweep, points, key, m) {
  const measure = sweep.measures[m], values = distinct(points, key);
  const best = values.map(value =>
    bestOf(points.filter(point => point.values[key] === value), m, measure)[0])
    .filter(point => point);
  if (best.length === 0) return element("p", {class: "soft"}, "no figures");
  const most = Math.max(...best.map(point => point.figures[m]));
  const text = measureText(measure);
  const {svg, at} = plane({title: `${measure.name} by ${shortKey(sweep.keys[key])}`,
    x: ordinal(values, shortKey(sweep.keys[key])), y: linear(most * 1.06, text, measure.name)});
  if (values.every(value => typeof value === "number")) {  // else nothing lies between two
    svg.append(element("polyline", {fill: "none", stroke: colour("compute"), "stroke-width": 2,
      points: best.map(p => `${at.x(p.values[key])},${at.y(p.figures[m])}`).join(" ")}));
  }
  for (const point of best) {
    svg.append(element("circle", {cx: at.x(point.values[key]), cy: at.y(point.figures[m]), r: 4,
                                  fill: colour("compute")},
      element("title", {}, `point ${point.number}: ${text(point.figures[m])}`)));
  }
  return svg;
}

// The best figure for each pair of values of two keys.
function heatMap(sweep, points, across, down, m) {
  const measure = sweep.measures[m], columns = distinct(points, across);
  const lines = distinct(points, down), text = measureText(measure);
  const left = 120, top = 24, width = 1040, tall = 34;
  const cell = Math.min(110, (width - left) / columns.length);
  const height = top + lines.length * tall + 8;
  const svg = element("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0});
  svg.append(element("title", {}, `${measure.name} by ${shortKey(sweep.keys[across])} and ` +
                                  shortKey(sweep.keys[down])));
  const figures = points.map(p => p.figures[m]).filter(f => f !== null);
  const low = Math.min(...figures), high = Math.max(...figures);
  columns.forEach((value, c) => svg.append(element("text", {class: "soft", y: 15,
    x: left + (c + 0.5) * cell, "text-anchor": "middle"}, value)));
  lines.forEach((line, l) => {
    const y = top + l * tall;
    svg.append(element("text", {class: "soft", x: left - 10, y: y + 21, "text-anchor": "end"},
                       line));
    columns.forEach((column, c) => {
      const best = bestOf(points.filter(p => p.values[across] === column &&
                                             p.values[down] === line), m, measure)[0];
      const share = best ? (high > low ? (best.figures[m] - low) / (high - low) : 1) : 0;
      svg.append(element("rect", {x: left + c * cell, y, width: cell - 2, height: tall - 2,
        fill: best ? `color-mix(in srgb, var(--compute) ${Math.round(15 + 85 * share)}%, ` +
                     "var(--paper))" : colour("idle")},
        element("title", {}, best ? `point ${best.number}: ${text(best.figures[m])}` : "none")));
      svg.append(element("text", {x: left + (c + 0.5) * cell - 1, y: y + 21,
        "text-anchor": "middle", style: best && share > 0.55 ? "fill:var(--paper)" : ""},
        best ? text(best.figures[m]) : "–"));
    });
  });
  return svg;
}

// ---- the front

function front(points, measures, a, b) {
  const noWorse = (p, q, m) => betterOf(measures[m])(p.figures[m], q.figures[m]) <= 0;
  const equal = (p, q, m) => p.figures[m] === q.figures[m];
  return points.filter(p => !points.some(q => q !== p && noWorse(q, p, a) && noWorse(q, p, b) &&
    !(equal(q, p, a) && equal(q, p, b))));
}

function scatter(sweep, points, a, b) {
  const known = points.filter(p => p.figures[a] !== null && p.figures[b] !== null);
  if (known.length === 0) return element("p", {class: "soft"}, "no figures");
  const most = m => Math.max(...known.map(p => p.figures[m])) * 1.06;
  const text = m => measureText(sweep.measures[m]);
  const {svg, at} = plane({
    title: `${sweep.measures[b].name} against ${sweep.measures[a].name}`,
    x: linear(most(a), text(a), sweep.measures[a].name),
    y: linear(most(b), text(b), sweep.measures[b].name)});
  const best = new Set(front(known, sweep.measures, a, b));
  for (const point of known) {
    const is = best.has(point);
    svg.append(element("circle", {cx: at.x(point.figures[a]), cy: at.y(point.figures[b]),
      r: is ? 5 : 2.6, fill: colour(is ? "tensor" : "compute"),
      "fill-opacity": is ? 1 : 0.45},
      element("title", {}, `point ${point.number}: ${text(a)(point.figures[a])}, ` +
                           text(b)(point.figures[b]))));
  }
  return svg;
}

// ---- the section

function chooser(name, entries, chosen, changed) {
  const select = element("select", {"aria-label": name}, entries.map(([value, text]) =>
    element("option", value === chosen ? {value, selected: ""} : {value}, text)));
  select.addEventListener("change", () => changed(Number(select.value)));
  return element("label", {class: "choice"}, ` ${name} `, select);
}

// Tensor by pipeline parallelism where a sweep has both.
function planeOf(sweep, varied) {
  const by = name => varied.find(k => shortKey(sweep.keys[k]) === name);
  const both = by("tensor") !== undefined && by("pipeline") !== undefined;
  return both ? {across: by("tensor"), down: by("pipeline")}
              : {across: varied[0], down: varied[1]};
}

function sweepSection(sweep, index) {
  const points = donePoints(sweep), failed = sweep.points.filter(p => p.state === "failed");
  const named = name => sweep.measures.findIndex(measure => measure.name === name);
  const has = m => m >= 0 && points.some(point => point.figures[m] !== null);
  const measures = sweep.measures.map((_, m) => m).filter(has);
  const out = section(`sweep-${index}`, sweep.name, element("p", {class: "soft"}, sweep.path),
    element("p", {}, `${sweep.points.length.toLocaleString("en")} points: ${points.length} done, ` +
                     `${failed.length} failed.`));
  if (measures.length === 0) return out;
  const varied = sweep.keys.map((_, k) => k).filter(k => distinct(points, k).length > 1);
  varied.sort((a, b) => distinct(points, b).length - distinct(points, a).length || a - b);
  const chosen = {m: has(named("tokens_per_s")) ? named("tokens_per_s") : measures[0],
                  key: varied[0], ...planeOf(sweep, varied)};
  const keys = varied.map(k => [k, shortKey(sweep.keys[k])]);
  const all = measures.map(m => [m, sweep.measures[m].name.replace(/_/g, " ")]);
  const places = {curve: element("div", {class: "chart"}), map: element("div", {class: "chart"})};
  const draw = () => {
    if (varied.length > 0) places.curve.replaceChildren(curve(sweep, points, chosen.key, chosen.m));
    if (varied.length > 1) {
      places.map.replaceChildren(heatMap(sweep, points, chosen.across, chosen.down, chosen.m));
    }
  };
  const choose = field => value => { chosen[field] = value; draw(); };
  out.append(chooser("figure", all, chosen.m, choose("m")));
  if (varied.length > 0) {
    out.append(element("h3", {}, "The best for each value of a key"),
               chooser("key", keys, chosen.key, choose("key")), places.curve);
  }
  if (varied.length > 1) {
    out.append(element("h3", {}, "The best for each pair of values"),
               chooser("across", keys, chosen.across, choose("across")),
               chooser("down", keys, chosen.down, choose("down")), places.map);
  }
  draw();
  const tokens = named("tokens_per_s"), memory = named("memory");
  if (has(tokens) && has(memory)) {
    out.append(element("h3", {}, "Pareto front: tokens a second and memory"),
      legend([["no other point is better in both", colour("tensor")],
              ["the others", colour("compute")]]),
      scatter(sweep, points, tokens, memory));
  }
  out.append(element("h3", {}, "The best"),
    table(["point", ...varied.map(k => shortKey(sweep.keys[k])),
           ...measures.map(m => sweep.measures[m].name)],
      bestOf(points, chosen.m, sweep.measures[chosen.m]).slice(0, 15).map(point => [point.number,
        ...varied.map(k => point.values[k]), ...measures.map(m => point.figures[m] === null ? "–"
          : measureText(sweep.measures[m])(point.figures[m]))])));
  if (failed.length > 0) out.append(failuresOf(failed));
  return out;
}

function failuresOf(failed) {
  const reasons = new Map();
  for (const point of failed) {
    const reason = point.reason.replace(/[\d.,]+/g, "…");
    reasons.set(reason, (reasons.get(reason) || 0) + 1);
  }
  return hidden("why points failed", table(["reason", "points"],
    [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 12)));
}
