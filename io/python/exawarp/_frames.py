"""pandas, where it is installed; and tables for notebooks without it."""
from __future__ import annotations

import html
from typing import Any, Dict, Iterable, List, Sequence


def frame(rows: Sequence[Dict[str, Any]]):
    """A pandas.DataFrame of rows."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame() needs pandas, which is not installed: "
                          "pip install pandas, or apt install python3-pandas") from error
    return pandas.DataFrame(list(rows))


def flat(value: Any, prefix: str = "") -> Dict[str, Any]:
    """Numbers and texts of nested mappings by their paths, "breakdown.compute"; lists as they are."""
    out: Dict[str, Any] = {}
    for key, entry in value.items():
        if isinstance(entry, dict):
            out.update(flat(entry, f"{prefix}{key}."))
        else:
            out[prefix + key] = entry
    return out


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """HTML; all text is escaped."""
    def cells(tag: str, entries: Sequence[Any]) -> str:
        return "".join(f"<{tag}>{html.escape(str(entry))}</{tag}>" for entry in entries)
    lines: List[str] = ["<table>"]
    if caption:
        lines.append(f"<caption>{html.escape(caption)}</caption>")
    if head:
        lines.append(f"<thead><tr>{cells('th', head)}</tr></thead>")
    lines += [f"<tr>{cells('td', row)}</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])
