"""The table as Markdown, and its place in docs/laboratory/performance.md."""
import statistics

METHOD = """\
Each figure is the median over its rounds, with the least and the greatest in brackets; a ratio is
taken within a round. Y: the yardstick's rate for the same parameters. Efficiency: committed over
processed events."""

NOTES = {  # by the mark that a figure carries
    "[1]": """\
Time a rank spends in one round of exchange and GVT, waiting for the other ranks included. More
ranks than cores take turns on them, so that beyond the cores this is mostly waiting for a turn.""",
    "[2]": """\
Growth of peak resident memory between {fewer:,} and {more:,} LPs without events, per LP, less
PHOLD's own state: the engine's header, padding, tables, page rounding.""",
    "[3]": """\
Growth of peak resident memory from 1 to 16 events an LP at {more:,} LPs, per event, less the room
for the model's payload: the event's own fields, its key in the pending set, free lists, what
growing containers keep in reserve, and on an optimistic thread the history.""",
    "[4]": """\
Two programs that share nothing but the machine: what its second core is worth to this work. Divided
by the price of optimism, it bounds what two threads can gain.""",
}


def note_lines(groups, sizes):
    """How to read the table, and the notes of the figures that are in it."""
    yield METHOD
    fewer, more = sizes.memory_lps
    for mark, text in NOTES.items():
        if any(mark in row.figure for _, rows in groups for row in rows):
            yield ""
            yield f"{mark} {text.format(fewer=fewer, more=more)}"


def measured(row):
    text = row.form(row.median)
    if len(row.samples) == 1:
        return text
    return f"{text} ({row.form(min(row.samples))} to {row.form(max(row.samples))})"


def targeted(row):
    return "" if row.target is None else f"{row.target.sign} {row.form(row.target.value)}"


def figure_lines(groups):
    """`groups`: (title, rows) of each."""
    yield "| figure | target | measured | rounds | met |"
    yield "|---|---:|---:|---:|---|"
    for title, rows in groups:
        yield f"| **{title}** | | | | |"
        for row in rows:
            met = {None: "", True: "yes", False: "**no**"}[row.is_met]
            yield (f"| {row.figure} | {targeted(row)} | {measured(row)} | {len(row.samples)} "
                   f"| {met} |")


def rate_lines(m):
    """What each side did, for orientation."""
    yield "| model | side | events | million events/s | rolled back | MiB |"
    yield "|---|---|---:|---:|---:|---:|"
    for model in m.listed:
        for mode in m.modes(model):
            results = m.results(model, mode)
            cells = [model.label, mode.name, f"{results[0]['committed_events']:,}",
                     f"{m.median_rate(model, mode) / 1e6:.2f}"]
            if mode.sync is None:
                cells += ["", ""]
            else:
                undone = statistics.median(
                    r["rolled_back_events"] / max(1, r["committed_events"]) for r in results)
                cells += [f"{100 * undone:.1f} %",
                          f"{max(r['peak_rss_bytes'] for r in results) / 2**20:,.0f}"]
            yield "| " + " | ".join(cells) + " |"


def replace_block(path, table):
    """Puts the table between the markers of a document. Raises ValueError where they miss."""
    first, last = "<!-- table -->\n", "<!-- /table -->"
    text = path.read_text(encoding="utf-8")
    if text.count(first) != 1 or text.count(last) != 1 or text.index(first) > text.index(last):
        raise ValueError(f"{path}: expected one {first.strip()} and one {last} behind it")
    before, rest = text.split(first)
    path.write_text(before + first + table + last + rest.split(last)[1], encoding="utf-8")
