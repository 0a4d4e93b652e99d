#!/usr/bin/env python3
"""The arithmetic of benchmarks/scaling: which points, what follows from them, plans beside runs."""
import contextlib
import io
import json
import subprocess
import sys
import unittest
from dataclasses import dataclass
from pathlib import Path

from table.measurements import Measurements
from table.programs import Programs
from table.scaling import (FULL, QUICK, Checked, Scaling, json_point, mode_of, modes_of,
                           plan_command, plan_lines, scaling_lines, strong, weak, within_line,
                           workers_of)
from table.sides import Phold, Study, Traffic

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Given:
    """A model of so many workers whose run takes `seconds` / workers, or, weak, `seconds`."""
    workers: int
    seconds: float
    is_weak: bool = False
    label: str = "given"
    rounds_most: int = 5

    def run(self, mode, _):
        run_s = self.seconds if self.is_weak else self.seconds / workers_of(mode)
        events = 1000 * (self.workers if self.is_weak else 1)
        return {"committed_events": events, "processed_events": 2 * events,
                "rolled_back_events": events, "run_s": run_s, "events_per_s": events / run_s,
                "ranks": mode.ranks, "peak_rss_bytes": mode.ranks * 2**20,
                "engine": {"host_time": {"executing": 0.8, "mailboxes": 0.05, "waiting": 0.1,
                                         "gvt_and_exchange": 0.05}},
                "plan": {"run_s": 1.1 * run_s, "memory_of_a_rank_bytes": 2**21,
                         "events": events, "sample": {"committed_events": events // 2}}}


def points_of(*families, sample_s=None):
    m = Measurements(programs=None, rounds=1)
    scaling = Scaling(m, [mode_of(1, 1), mode_of(1, 2), mode_of(2, 2)], sample_s)
    for family in families:
        scaling.want(family)
    with contextlib.redirect_stderr(io.StringIO()):
        m.measure()
    return list(scaling.points())


class ModesTest(unittest.TestCase):
    def test_workers_double_up_to_the_cores(self):
        self.assertEqual([(m.ranks, m.threads) for m in modes_of(1, False)], [(1, 1)])
        self.assertEqual([(m.ranks, m.threads) for m in modes_of(2, False)],
                         [(1, 1), (1, 2), (2, 1)])
        self.assertEqual([(m.ranks, m.threads) for m in modes_of(4, False)],
                         [(1, 1), (1, 2), (2, 1), (1, 4), (4, 1), (2, 2)])

    def test_workers_share_cores_only_where_that_is_asked_for(self):
        self.assertEqual(max(map(workers_of, modes_of(2, False))), 2)
        self.assertEqual(max(map(workers_of, modes_of(2, True))), 8)
        self.assertEqual(max(map(workers_of, modes_of(16, True))), 32)

    def test_names_tell_modes_apart(self):
        modes = modes_of(16, False)
        self.assertEqual(len({mode.name for mode in modes}), len(modes))


class PointsTest(unittest.TestCase):
    def test_strong_scaling_is_in_time_over_one_worker(self):
        points = points_of(strong("given", Given(1, 8.0)))
        self.assertEqual([p.speed_up for p in points], [1, 1, 2, 4])  # sequential comes first
        self.assertEqual([p.efficiency for p in points], [1, 1, 1, 1])

    def test_weak_scaling_is_in_rate_over_one_worker(self):
        points = points_of(weak("given", lambda workers: Given(workers, 8.0, is_weak=True)))
        self.assertEqual([p.speed_up for p in points], [1, 1, 2, 4])
        self.assertEqual([p.model.workers for p in points], [1, 1, 2, 4])

    def test_rollback_is_the_share_of_executions_that_were_undone(self):
        point = points_of(strong("given", Given(1, 8.0)))[0]
        self.assertAlmostEqual(point.rollback, 0.4)
        self.assertAlmostEqual(point.share("waiting"), 0.1)

    def test_a_line_has_a_cell_for_each_column(self):
        lines = list(scaling_lines(points_of(strong("given", Given(1, 8.0)))))
        self.assertEqual({line.count("|") for line in lines}, {12})
        self.assertIn("| 2 ranks × 2 threads | 2.00 s |", lines[-1])

    def test_json_has_every_round(self):
        text = json.dumps(json_point(points_of(strong("given", Given(1, 8.0)))[-1]))
        self.assertEqual(json.loads(text)["run_s"], [2.0])
        self.assertEqual(json.loads(text)["rank_bytes"], [2**20])


class PlansTest(unittest.TestCase):
    def test_an_error_is_predicted_over_measured(self):
        points = points_of(strong("given", Given(1, 8.0)))
        lines = list(plan_lines(points))
        self.assertEqual({line.count("|") for line in lines}, {10})
        self.assertIn("| 8.80 s | 8.00 s | +10 % | 50.0 % | 2 | 1 | +100 % |", lines[-3])
        self.assertEqual(within_line(points),
                         "4 of 4 points within 20 %; the largest error is +10 %.")
        self.assertEqual(within_line(points, bound=0.05)[:6], "0 of 4")

    def test_a_plan_is_asked_for_what_is_run(self):
        programs = Programs(Path("exawarp"), None)
        def words(model):
            return [str(w) for w in plan_command(model, mode_of(2, 4), 3, programs)]
        self.assertEqual(words(Phold(8, 1, "0.5", "9"))[:10],
                         ["exawarp", "plan", "--lps", "8", "--start-events", "1", "--remote",
                          "0.5", "--end", "9"])
        study = words(Study("llama2_7b_8", settings=("a=1",)))
        self.assertTrue(study[2].endswith("configs/studies/llama2_7b_8.yaml"))
        self.assertEqual(study[3:5], ["--set", "a=1"])
        self.assertEqual(study[5:], ["--ranks", "2", "--threads", "4", "--sync", "optimistic",
                                     "--sample-seconds", "3", "--json"])
        self.assertIn("configs/traffic/permutation_1k.yaml",
                      words(Traffic("permutation_1k"))[2])

    def test_a_checked_model_is_the_same_model(self):
        model = Checked(Given(1, 8.0), 3)
        self.assertEqual((model.label, model.rounds_most), ("given", 5))
        self.assertEqual(model, Checked(Given(1, 8.0), 3))


class FamiliesTest(unittest.TestCase):
    def test_models_are_there_for_any_number_of_workers(self):
        for family in FULL + QUICK:
            for workers in (1, 2, 16):
                model = family.of(workers)
                self.assertTrue(model.label)
                if isinstance(model, Study):
                    self.assertTrue(Path(plan_command(model, mode_of(1, 1), 1,
                                                      Programs(Path("x"), None))[2]).exists())

    def test_the_command_lists_them(self):
        listed = subprocess.run([sys.executable, HERE / "scaling", "--list"], check=True,
                                stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertEqual(set(listed), {family.name for family in FULL})


if __name__ == "__main__":
    unittest.main()
