// The page: runs side by side, each run by itself, then sweeps. Its data are in the block `data`.
"use strict";

const kClasses = ["compute", "tensor", "context", "expert", "data", "pipeline", "other", "bubble",
                  "idle"];

function sharesOf(breakdown) {
  const exposed = breakdown.exposed_communication_by_kind || {};
  return {compute: breakdown.compute, ...exposed, bubble: breakdown.waiting,
          idle: breakdown.idle};
}

const stepOf = summary => summary.iteration_time_ps || summary.simulated_time_ps;
const largestMemory = summary =>
  Math.max(0, ...((summary.memory || {}).programs || []).map(p => p.peak_bytes));

// [name, figure, text, more is better] of a run.
const kFigures = [
  ["step time", stepOf, timeText, false],
  ["tokens a second", s => s.tokens_per_s, rateText, true],
  ["model FLOPs utilisation", s => s.model_flops_utilisation, percentText, true],
  ["TFLOP/s a device", s => s.tflops_per_device, v => digits(v), true],
  ["memory of a device, at most", largestMemory, bytesText, false],
  ["energy a step", s => (s.energy || {}).step_j, joulesText, false],
];

function section(id, title, ...content) {
  return element("section", {id, "aria-label": title}, element("h2", {}, title), ...content);
}

// ---- one run

function headOf(summary) {
  const host = summary.provenance || {};
  const layout = (summary.statements || {}).layout || {};
  const parts = [["TP", layout.tensor], ["PP", layout.pipeline], ["DP", layout.data],
                 ["CP", layout.context], ["EP", layout.expert]]
    .filter(([, value]) => value).map(([name, value]) => `${name} ${value}`);
  const rows = [
    ["cluster", `${summary.devices.toLocaleString("en")} devices (${summary.accelerator}), ` +
                `${summary.system}`],
    ["fidelity", `network ${summary.network_fidelity}, compute ${summary.compute_fidelity}`],
    ["layout", parts.join(", ") || "–"],
    ["events", `${summary.committed_events.toLocaleString("en")} in ${digits(summary.run_s)} s ` +
               `on ${summary.ranks} × ${summary.threads} threads (${summary.sync})`],
    ["digest", summary.digest],
    ["program", `${summary.exawarp_version}, commit ${host.commit || "–"}, ${host.date || ""}`],
  ];
  return table(["", ""], rows.map(([name, text]) => {
    const cell = element("span", {style: "float:left"}, text);
    return [name, cell];
  }));
}

function figuresOf(summary) {
  return element("div", {class: "figures"}, kFigures
    .map(([name, figure, text]) => [name, figure(summary), text])
    .filter(([, value]) => value > 0)
    .map(([name, value, text]) => element("div", {class: "figure"},
      element("b", {}, text(value)), element("span", {}, name))));
}

function breakdownOf(summary) {
  const all = [...(summary.classes || []).map(c => ({name: c.name, shares: sharesOf(c.breakdown)})),
               {name: "all", shares: sharesOf(summary.breakdown)}];
  const used = kClasses.filter(key => all.some(row => row.shares[key] > 0.00005));
  const rows = all.map(row => ({name: row.name, parts: used.map(key =>
    [key, row.shares[key] || 0, `${key} ${percentText(row.shares[key] || 0)}`])}));
  const shown = rows.length > 26 ? [...rows.slice(0, 25), rows[rows.length - 1]] : rows;
  return [
    element("h3", {}, "Where device time goes"),
    element("p", {class: "soft"}, "Communication counts where it is exposed: where a device " +
      "waits for it and computes nothing. The bubble is waiting for other pipeline stages."),
    legend(used.map(key => [key, colour(key)])),
    stackedBars({title: "Shares of device time by class of devices", rows: shown, most: 1,
                 axis: tick => `${Math.round(100 * tick)} %`}),
    hidden("the same as a table", table(["class", ...used], all.map(row =>
      [row.name, ...used.map(key => percentText(row.shares[key] || 0))]))),
  ];
}

function memoryOf(summary) {
  const memory = summary.memory || {}, programs = memory.programs || [];
  if (programs.length === 0) return [];
  const keys = [["weights_bytes", "weights", "compute"], ["gradients_bytes", "gradients", "tensor"],
                ["optimizer_bytes", "optimizer state", "data"],
                ["activations_bytes", "activations and buffers", "pipeline"]];
  const most = Math.max(memory.capacity_bytes || 0, ...programs.map(p => p.peak_bytes)) * 1.02;
  return [
    element("h3", {}, "Memory of a device"),
    legend(keys.map(([, name, fill]) => [name, colour(fill)])),
    stackedBars({title: "Memory of a device by program", most, axis: bytesText,
      rows: programs.slice(0, 26).map(p => ({name: p.program, parts: keys.map(([key, name, fill]) =>
        [fill, p[key], `${name} ${bytesText(p[key])}`])})),
      mark: memory.capacity_bytes ? {at: memory.capacity_bytes, name: "capacity"} : null}),
    hidden("the same as a table", table(["program", ...keys.map(k => k[1]), "peak"],
      programs.map(p => [p.program, ...keys.map(([key]) => bytesText(p[key])),
                         bytesText(p.peak_bytes)]))),
  ];
}

function pipelineOf(pictures) {
  if (!pictures || pictures.pipeline.devices.length === 0) return [];
  const pipeline = pictures.pipeline;
  const phases = [...new Set(pipeline.devices.flatMap(d => d.passes.map(pass => pass[0])))];
  const doing = new Set(pipeline.devices.flatMap(d => [...d.doing]));
  const classes = pipeline.classes.filter((_, i) => doing.has(String.fromCharCode(97 + i)));
  return [
    element("h3", {}, "One pipeline over time"),
    element("p", {class: "soft"}, "Upper lane: what a device computes, with the number of the " +
      "micro-batch. Lower lane: what it spends its time with." + (pipeline.all_passes ? "" :
      " Only the first passes are drawn.")),
    legend(phases.map(phase => [phase === "none" ? "other work" : phase.replace(/_/g, " "),
                                colour(colourOfPhase(phase))])),
    legend(classes.map(name => [name, colour(colourOfClass(name))])),
    pipelinePicture(pipeline),
  ];
}

function criticalPathOf(summary) {
  const path = summary.critical_path;
  if (!path || !path.shares) return [];
  return [
    element("h3", {}, "Critical path"),
    element("p", {class: "soft"}, `The chain of ${path.elements.toLocaleString("en")} operations ` +
      `and messages that bounds the run, ${timeText(path.until_ps - path.from_ps)} in all.`),
    element("div", {class: "two"},
      table(["cause", "time", "share"], path.shares.map(s =>
        [s.cause, timeText(s.time_ps), percentText(s.share)])),
      table(["infinitely fast", "gains at most"], path.gain_if_infinitely_fast.map(g =>
        [g.resource, timeText(g.at_most_ps)]))),
    hidden("its longest elements", table(["what", "device", "cause", "from", "takes"],
      path.longest.map(e => [e.name, e.device, e.cause, timeText(e.start_ps),
                             timeText(e.duration_ps)]))),
  ];
}

function linksOf(pictures) {
  if (!pictures || !pictures.links) return [];
  const isUsed = tier => tier.use.some(use => use > 0);
  const tiers = pictures.links.tiers.filter(isUsed);
  const unused = pictures.links.tiers.filter(tier => !isUsed(tier)).map(tier => tier.name);
  if (tiers.length === 0) return [];
  const fills = ["compute", "tensor", "data", "pipeline", "expert", "context"];
  const out = [element("h3", {}, "Links"), element("p", {class: "soft"},
    "A cell is a port: the share of the whole time in which its line was busy. Ports of one " +
    "switch are neighbours." + (unused.length === 0 ? "" : ` No packets: ${unused.join("; ")}.`))];
  for (const tier of tiers) {
    const mean = tier.use.reduce((a, b) => a + b, 0) / Math.max(1, tier.use.length);
    const together = tier.together > 1 ? `, a cell is the busiest of ${tier.together}` : "";
    out.push(element("p", {}, element("b", {}, tier.name),
      ` – ${tier.ports.toLocaleString("en")} ports, ${percentText(mean)} in use on average, ` +
      `${percentText(Math.max(...tier.use))} at most${together}`), portsPicture(tier));
  }
  out.push(legend([["idle", heat(0)], ["half", heat(0.5)], ["always busy", heat(1)]]));
  const width_ps = pictures.links.width_ps;
  out.push(element("h3", {}, "Use of links over time"),
    overTime({title: "Use of links over time", width_ps, text: v => `${Math.round(100 * v)} %`,
      series: tiers.flatMap((tier, i) => [
        {label: `${tier.name}, mean`, values: tier.mean, colour: fills[i % fills.length]},
        {label: "most", values: tier.most, colour: fills[i % fills.length], dash: [4, 4]}])}),
    element("h3", {}, "Longest queue over time"),
    overTime({title: "Longest queue over time", width_ps, text: timeText,
      series: tiers.map((tier, i) => ({label: tier.name, values: tier.queue_ps,
                                       colour: fills[i % fills.length]}))}));
  return out;
}

function energyOf(summary, pictures) {
  const energy = summary.energy;
  if (!energy || !energy.by_part_j) return [];
  const fills = ["compute", "tensor", "idle", "other", "data", "pipeline"];
  const parts = Object.entries(energy.by_part_j).filter(([, joules]) => joules > 0);
  const out = [element("h3", {}, "Energy"),
    legend(parts.map(([name], i) => [name, colour(fills[i % fills.length])])),
    stackedBars({title: "Energy by part", most: energy.total_j, axis: joulesText,
      rows: [{name: "all", parts: parts.map(([name, value], i) =>
        [fills[i % fills.length], value, `${name} ${joulesText(value)}`])}]})];
  if (pictures && pictures.power) {
    out.push(overTime({title: "Power of the cluster over time",
      width_ps: pictures.power.width_ps,
      text: wattsText,
      series: [{label: "power of the cluster", values: pictures.power.watts,
                colour: "tensor"}]}));
  }
  return out;
}

function engineOf(summary) {
  const engine = summary.engine || {}, host = engine.host_time;
  if (!host) return [];
  const parts = [["compute", host.executing, "executing events"],
                 ["tensor", host.mailboxes, "mailboxes"],
                 ["data", host.fossil_collection, "fossil collection"],
                 ["pipeline", host.gvt_and_exchange, "GVT and exchange"],
                 ["bubble", host.waiting, "waiting for other partitions"]];
  return [
    element("h3", {}, "The engine"),
    element("p", {}, `${digits(summary.events_per_s / 1e6)} M events/s, efficiency ` +
      `${percentText(engine.efficiency)}, ${summary.rolled_back_events.toLocaleString("en")} ` +
      `events rolled back, ${summary.gvt_rounds.toLocaleString("en")} GVT rounds, ` +
      `${summary.partitions} partitions, ${bytesText(summary.peak_rss_bytes)} of memory.`),
    legend(parts.map(([fill, , name]) => [name, colour(fill)])),
    stackedBars({title: "Host time of the workers", most: 1,
      axis: tick => `${Math.round(100 * tick)} %`,
      rows: [{name: "workers", parts: parts.map(([fill, value, name]) =>
        [fill, value, `${name} ${percentText(value)}`])}]}),
  ];
}

function runSection(run, index) {
  const summary = run.summary;
  return section(`run-${index}`, run.name,
    element("p", {class: "soft"}, run.path), headOf(summary), figuresOf(summary),
    run.note ? element("p", {class: "note"}, run.note) : null,
    breakdownOf(summary), pipelineOf(run.pictures), criticalPathOf(summary),
    memoryOf(summary), linksOf(run.pictures), energyOf(summary, run.pictures), engineOf(summary),
    run.study ? hidden("the study, resolved", element("pre", {}, run.study)) : null);
}

// ---- several

function comparisonOf(runs) {
  const first = runs[0].summary;
  const change = (value, base, moreIsBetter) => {
    if (!(base > 0) || value === base) return null;
    const share = value / base - 1, better = (share > 0) === moreIsBetter;
    return element("span", {style: `color:${colour(better ? "good" : "bad")}`},
      ` ${share > 0 ? "+" : "−"}${Math.abs(100 * share).toFixed(1)} %`);
  };
  const rows = kFigures.filter(([, figure]) => runs.some(run => figure(run.summary) > 0))
    .map(([name, figure, text, moreIsBetter]) => [name, ...runs.map(run => {
      const value = figure(run.summary);
      if (!(value > 0)) return "–";
      return element("span", {}, text(value), change(value, figure(first), moreIsBetter));
    })]);
  const shares = runs.map(run => sharesOf(run.summary.breakdown));
  const used = kClasses.filter(key => shares.some(s => s[key] > 0.00005));
  const longest = Math.max(...runs.map(run => stepOf(run.summary)));
  return section("compared", "Runs side by side",
    table(["", ...runs.map(run => run.name)], rows),
    element("h3", {}, "Time of a step, by what devices do on average"),
    legend(used.map(key => [key, colour(key)])),
    stackedBars({title: "Time of a step by run", most: longest, axis: timeText,
      rows: runs.map((run, i) => ({name: run.name, parts: used.map(key =>
        [key, (shares[i][key] || 0) * stepOf(run.summary),
         `${key} ${timeText((shares[i][key] || 0) * stepOf(run.summary))}`])}))}));
}

function drawPage() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  page.append(element("h1", {}, data.title),
              element("p", {class: "soft"}, `exawarp ${data.version}`));
  const parts = [];
  if (data.runs.length > 1) parts.push(comparisonOf(data.runs));
  data.runs.forEach((run, i) => parts.push(runSection(run, i)));
  data.sweeps.forEach((sweep, i) => parts.push(sweepSection(sweep, i)));
  if (parts.length > 1) {
    page.append(element("nav", {"aria-label": "sections"}, parts.map(part =>
      element("a", {href: `#${part.id}`}, part.getAttribute("aria-label")))));
  }
  page.append(...parts);
}
