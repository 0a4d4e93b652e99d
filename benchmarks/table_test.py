#!/usr/bin/env python3
"""The arithmetic of benchmarks/run: ratios within rounds, agreement, targets, the document."""
import contextlib
import io
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path

from table.figures import Row, Target, times
from table.markdown import figure_lines, replace_block
from table.measurements import Measurements
from table.sides import ONE_THREAD, SEQUENTIAL


@dataclass(eq=False)
class Scripted:
    """A model whose results are given: {mode: rate of each round}; notes the order it runs in."""
    rates: tuple
    digests: tuple = ("a", "a")
    label: str = "scripted"
    rounds_most: int = 5
    ran: list = field(default_factory=list)

    def run(self, mode, _):
        side = (SEQUENTIAL, ONE_THREAD).index(mode)
        self.ran.append(mode)
        rate = self.rates[side][self.ran.count(mode) - 1]
        return {"events_per_s": rate, "committed_events": 7, "digest": self.digests[side]}


def measured(model, rounds):
    m = Measurements(programs=None, rounds=rounds)
    m.want(model, SEQUENTIAL, ONE_THREAD)
    m.want(model, ONE_THREAD)  # by another figure: still run once
    with contextlib.redirect_stderr(io.StringIO()):
        m.measure()
    return m


class MeasurementsTest(unittest.TestCase):
    def test_ratios_are_taken_within_a_round(self):
        m = measured(Scripted(rates=((10, 100, 1000), (5, 25, 500))), rounds=3)
        self.assertEqual(m.ratios(m.listed[0], ONE_THREAD, SEQUENTIAL), [0.5, 0.25, 0.5])
        self.assertEqual(m.findings, [])

    def test_sides_run_once_a_round_in_alternating_order(self):
        model = Scripted(rates=((1, 1), (1, 1)))
        measured(model, rounds=2)
        self.assertEqual(model.ran, [SEQUENTIAL, ONE_THREAD, ONE_THREAD, SEQUENTIAL])

    def test_a_model_may_have_fewer_rounds(self):
        m = measured(Scripted(rates=((1,), (1,)), rounds_most=1), rounds=5)
        self.assertEqual(len(m.results(m.listed[0], SEQUENTIAL)), 1)

    def test_different_digests_are_a_finding(self):
        m = measured(Scripted(rates=((1,), (1,)), digests=("a", "b")), rounds=1)
        self.assertEqual(len(m.findings), 1)
        self.assertIn("digest differs", m.findings[0])


class RowTest(unittest.TestCase):
    def test_the_median_is_held_against_the_target(self):
        self.assertTrue(Row("f", [1.0, 1.6, 9.0], times, Target("≥", 1.6)).is_met)
        self.assertFalse(Row("f", [1.0, 1.6, 9.0], times, Target("<", 1.6)).is_met)
        self.assertIsNone(Row("f", [1.0]).is_met)

    def test_a_line_shows_target_median_and_extremes(self):
        lines = list(figure_lines([("G", [Row("f", [3.0, 1.0, 2.0], times, Target("≤", 1.25))])]))
        self.assertEqual(lines[-1], "| f | ≤ 1.25× | 2.00× (1.00× to 3.00×) | 3 | **no** |")


class DocumentTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name) / "page.md"

    def test_only_what_is_between_the_markers_changes(self):
        self.path.write_text("before\n<!-- table -->\nold\n<!-- /table -->\nafter\n")
        for table in ("new\n", "newer\n"):
            replace_block(self.path, table)
            self.assertEqual(self.path.read_text(),
                             f"before\n<!-- table -->\n{table}<!-- /table -->\nafter\n")

    def test_a_page_without_markers_is_left_alone(self):
        self.path.write_text("before\n<!-- table -->\n")
        with self.assertRaises(ValueError):
            replace_block(self.path, "new\n")
        self.assertEqual(self.path.read_text(), "before\n<!-- table -->\n")


if __name__ == "__main__":
    unittest.main()
