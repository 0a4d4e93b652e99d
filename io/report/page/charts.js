// Drawing: figures in, elements out. Colours are those of the style sheet, so that pictures follow
// light, dark and print. Every picture has a title that says in words what it shows.
"use strict";

function element(tag, attributes, ...children) {
  const isSvg = /^(svg|g|path|rect|line|text|title|circle|polyline)$/.test(tag);
  const out = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
                    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) out.setAttribute(name, value);
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) out.append(child);
  }
  return out;
}

const colour = name => `var(--${name})`;

// ---- numbers as text

function digits(value, count = 4) {
  if (!isFinite(value)) return "–";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude >= count) return Math.round(value).toLocaleString("en");
  return value.toFixed(Math.min(9, Math.max(0, count - 1 - magnitude)));
}

const kLarge = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const kSmall = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

function scaled(value, unit, steps) {
  const [size, prefix] = steps.find(step => Math.abs(value) >= step[0]) || [1, ""];
  return `${digits(value / size)} ${prefix}${unit}`.trim();
}

const timeText = ps => scaled(ps * 1e-12, "s", kSmall);
const bytesText = bytes => scaled(bytes, "B", kLarge);
const wattsText = watts => scaled(watts, "W", kLarge);
const joulesText = joules => scaled(joules, "J", kLarge);
const rateText = value => scaled(value, "", kLarge);
const percentText = share => `${(100 * share).toFixed(2)} %`;
// At an axis: without the zeros that say how sure a figure is.
const short = text => value =>
  text(value).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

// Round numbers from 0 to `most`, about `count` of them.
function ticks(most, count = 8) {
  if (!(most > 0)) return [0];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough);
  const out = [];
  for (let value = 0; value <= most * 1.0001; value += step) out.push(value);
  return out;
}

function legend(entries) {
  return element("div", {class: "legend"}, entries.map(([name, fill]) =>
    element("span", {}, element("i", {style: `background:${fill}`}), name)));
}

// A table; the first column has names.
function table(head, rows) {
  return element("div", {class: "scroll"}, element("table", {},
    element("thead", {}, element("tr", {}, head.map(text => element("th", {scope: "col"}, text)))),
    element("tbody", {}, rows.map(row => element("tr", {}, row.map(cell =>
      cell instanceof Node ? element("td", {}, cell) : element("td", {}, String(cell))))))));
}

const hidden = (what, ...content) =>
  element("details", {}, element("summary", {}, what), ...content);

// ---- bars

// rows: [{name, parts: [[key, value, tip]]}]; keys are names of colours. `most`: the axis' end;
// `mark`: {at, name}, a line across all bars.
function stackedBars({title, rows, most, axis, mark}) {
  const left = Math.min(190, 16 + 7 * Math.max(...rows.map(row => row.name.length)));
  const width = 1040, bar = 18, gap = 8, top = mark ? 18 : 4;
  const plot = width - left - 60, height = top + rows.length * (bar + gap) + 26;
  const x = value => left + plot * value / most;
  const svg = element("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0});
  svg.append(element("title", {}, title));
  for (const tick of ticks(most)) {
    svg.append(element("line", {class: "axis", x1: x(tick), x2: x(tick), y1: top,
                                y2: height - 22}),
               element("text", {class: "soft", x: x(tick), y: height - 6,
                                "text-anchor": "middle"}, short(axis)(tick)));
  }
  rows.forEach((row, i) => {
    const y = top + i * (bar + gap) + gap / 2;
    svg.append(element("text", {x: left - 8, y: y + 13, "text-anchor": "end"}, row.name));
    let sum = 0;
    for (const [key, value, tip] of row.parts) {
      if (!(value > 0)) continue;
      svg.append(element("rect", {x: x(sum), y, width: Math.max(0, x(sum + value) - x(sum)),
                                  height: bar, fill: colour(key)},
                         element("title", {}, `${row.name}: ${tip}`)));
      sum += value;
    }
  });
  if (mark) {
    svg.append(element("line", {x1: x(mark.at), x2: x(mark.at), y1: top - 4, y2: height - 22,
                                stroke: colour("bad"), "stroke-width": 1.5}),
               element("text", {x: x(mark.at), y: top - 7, "text-anchor": "end"}, mark.name));
  }
  return svg;
}

// ---- the pipeline

const kPhases = [["forward", "forward"], ["backward", "backward"], ["recompute", "recompute"],
                 ["weights", "weights"], ["weight_gradient", "weights"],
                 ["optimizer", "optimizer"], ["accumulate", "context"],
                 ["overlapped", "expert"]];
const colourOfPhase = phase => (kPhases.find(([name]) => name === phase) || ["", "other"])[1];
const kClassColours = {compute: "compute", tensor: "tensor", context: "context",
                       expert: "expert", data: "data", pipeline: "pipeline", waiting: "bubble",
                       idle: "idle"};
const colourOfClass = name => kClassColours[name] || "other";

// Two lanes a device: passes of micro-batches, and what the device as a whole is at.
function pipelinePicture(pipeline) {
  const lane = 17, strip = 6, gap = 9, left = 92, width = 1040, top = 6;
  const devices = pipeline.devices, plot = width - left - 34;
  const height = top + devices.length * (lane + strip + gap) + 26;
  const x = ps => left + plot * ps / pipeline.end_ps;
  const svg = element("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0});
  svg.append(element("title", {}, `What ${devices.length} devices do over ` +
                                  timeText(pipeline.end_ps)));
  const blocks = element("g", {});
  for (const tick of ticks(pipeline.end_ps, 9)) {
    svg.append(element("line", {class: "axis", x1: x(tick), x2: x(tick), y1: top,
                                y2: height - 22}),
               element("text", {class: "soft", x: x(tick), y: height - 6,
                                "text-anchor": "middle"}, short(timeText)(tick)));
  }
  svg.append(blocks);
  devices.forEach((device, i) => {
    const y = top + i * (lane + strip + gap);
    svg.append(element("text", {x: left - 8, y: y + 14, "text-anchor": "end"},
                       device.name || `device ${device.device}`));
    const paths = {};
    for (const [phase, microBatch, from, until] of device.passes) {
      const key = colourOfPhase(phase), wide = x(until) - x(from);
      const seam = wide > 3 ? 0.6 : 0;
      paths[key] = (paths[key] || "") +
        `M${x(from).toFixed(2)} ${y}h${Math.max(0.15, wide - seam).toFixed(2)}v${lane}` +
        `H${x(from).toFixed(2)}z`;
      if (wide > 15 && microBatch >= 0) {
        svg.append(element("text", {x: (x(from) + x(until)) / 2, y: y + 12.5,
                                    "text-anchor": "middle", style: "fill:#fff;font-size:10px"},
                           microBatch));
      }
    }
    for (const [key, path] of Object.entries(paths)) {
      blocks.append(element("path", {d: path, fill: colour(key)}));
    }
    svg.append(stripOf(device.doing, pipeline.classes, left, plot, y + lane + 1, strip));
  });
  return svg;
}

function stripOf(doing, classes, left, plot, y, height) {
  const group = element("g", {}), part = plot / doing.length;
  for (let from = 0; from < doing.length;) {
    let until = from;
    while (until < doing.length && doing[until] === doing[from]) ++until;
    const name = classes[doing.charCodeAt(from) - 97];
    group.append(element("rect", {x: (left + from * part).toFixed(2), y, height,
                                  width: ((until - from) * part).toFixed(2),
                                  fill: colour(colourOfClass(name))},
                         element("title", {}, name)));
    from = until;
  }
  return group;
}

// ---- links

// A cell a port, line by line; colours from no use to full use.
function portsPicture(tier) {
  const width = 1040, columns = 128, cell = (width - 4) / columns;
  const lines = Math.ceil(tier.use.length / columns), tall = Math.min(cell, 14);
  const svg = element("svg", {viewBox: `0 0 ${width} ${Math.max(1, lines) * tall + 2}`,
                              role: "img", tabindex: 0});
  svg.append(element("title", {}, `Use of ${tier.ports} ports of ${tier.name}`));
  tier.use.forEach((use, i) => {
    svg.append(element("rect", {x: (i % columns) * cell, y: Math.floor(i / columns) * tall,
                                width: cell - 1, height: tall - 1, fill: heat(use)},
                       element("title", {}, percentText(use))));
  });
  return svg;
}

const heat = share =>
  `color-mix(in srgb, var(--warm) ${Math.round(100 * Math.min(1, share))}%, var(--cold))`;

// ---- over time

// series: [{label, values, colour}] at 0, width_ps, ...
function overTime({title, width_ps, series, unit, text}) {
  const box = element("div", {class: "chart", role: "img", "aria-label": title});
  const style = getComputedStyle(document.documentElement);
  const of = name => style.getPropertyValue(`--${name}`).trim();
  const times = series[0].values.map((_, i) => i * width_ps * 1e-12);
  const axis = {stroke: of("soft"), grid: {stroke: of("line"), width: 1},
                ticks: {stroke: of("line")}};
  const draw = () => {
    box.replaceChildren();
    new uPlot({
      width: Math.min(1080, box.clientWidth || 1000), height: 210,
      scales: {x: {time: false}},
      axes: [{...axis, space: 90, values: (_, all) => all.map(s => short(timeText)(s * 1e12))},
             {...axis, size: 78, values: (_, all) => all.map(short(text))}],
      series: [{label: "time", value: (_, s) => s === null ? "" : timeText(s * 1e12)},
               ...series.map(line => ({label: line.label, stroke: of(line.colour), width: 1.5,
                                       dash: line.dash,
                                       value: (_, v) => v === null ? "" : text(v)}))],
    }, [times, ...series.map(line => line.values)], box);
  };
  requestAnimationFrame(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return box;
}
