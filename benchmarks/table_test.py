#!/usr/bin/env python3
"""The arithmetic of benchmarks/run: ratios within rounds, agreement, targets, the document."""
import contextlib
import io
import tempfile
import unittest
from dataclasses import dataclass, field, replace
from pathlib import Path

from table.figures import Row, Target, network, packet, times
from table.markdown import figure_lines, replace_block
from table.measurements import Measurements
from table.programs import Programs
from table.sides import ONE_THREAD, SEQUENTIAL, Study, Traffic, set_flags
from table.sizes import FULL, Messages, Packets


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


@dataclass(frozen=True)
class Given:
    """A model with one result."""
    result: tuple  # of (key, value)
    label: str = "given"
    rounds_most: int = 5

    def run(self, *_):
        return {"committed_events": 7, "events_per_s": 1.0, **dict(self.result)}


def rows_of(group, **loads):
    m = Measurements(programs=None, rounds=1)
    rows = group(m, replace(FULL, **loads))
    with contextlib.redirect_stderr(io.StringIO()):
        m.measure()
    return list(rows())


class NetworkTest(unittest.TestCase):
    def test_processor_time_counts_and_memory_is_in_megabytes(self):
        study = Given((("process_cpu_s", 0.4), ("peak_rss_bytes", 21 * 10**6)))
        took, memory, rate = rows_of(network, network=(Messages(study, 1000, 0.5, 20),))
        self.assertAlmostEqual(took.median, 0.4)
        self.assertTrue(took.is_met)
        self.assertFalse(memory.is_met)
        self.assertAlmostEqual(rate.median, 2500)

    def test_packet_rates_are_held_against_their_targets(self):
        traffic = Given((("packet_hops", 10), ("packet_hops_per_cpu_s", 1.2e6),
                         ("peak_rss_bytes", 10**6)))
        rate, memory = rows_of(packet, packet=(Packets(traffic, 1.5e6),))
        self.assertFalse(rate.is_met)
        self.assertTrue(memory.is_met)
        free, _ = rows_of(packet, packet=(Packets(traffic),))
        self.assertIsNone(free.is_met)

    def test_the_messages_of_the_studies_are_those_of_their_algorithms(self):
        def ring(n, chunks):
            return 2 * (n - 1) * n * chunks
        self.assertEqual([load.messages for load in FULL.network],
                         [ring(512, 4), 4 * 2 * 4096 * 12, ring(4096, 4)])

    def test_settings_reach_the_program_and_the_label(self):
        self.assertEqual(set_flags(("a=1", "b=2")), ["--set", "a=1", "--set", "b=2"])
        for kind, first in ((Study, "run"), (Traffic, "traffic")):
            with self.subTest(kind=kind):
                side = kind("name", settings=("a=1",))
                self.assertEqual(side.label, "name, a=1")
                with tempfile.TemporaryDirectory() as folder:
                    program = Path(folder) / "program"
                    program.write_text(
                        "#!/bin/sh\necho '{\"committed_events\": 1, \"rolled_back_events\": 0, "
                        "\"run_s\": 1, \"words\": \"'$*'\"}'\n")
                    program.chmod(0o755)
                    words = side.run(SEQUENTIAL, Programs(program, None))["words"].split()
                self.assertEqual(words[0], first)
                self.assertIn("a=1", words[words.index("--set"):])


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
