#!/usr/bin/env python3
"""exawarp search: the best of all layouts, what they are device by device, whatever ends it.

  search_test.py EXAWARP SOURCES
"""
import contextlib
import json
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

EXAWARP, SOURCES = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()
STUDY = f"{SOURCES}/configs/studies/llama2_7b_8.yaml"
SMALL = "[workload.transformer.model.layers=8, workload.transformer.global_batch_sequences=16]"

SEARCH = f"""
search: small
study: {STUDY}
set: {SMALL}
devices: [8]
over:
  tensor: [1, 2, 4, 8]
  pipeline: [1, 2, 4]
  virtual_stages: [1, 2]
  recompute: [none, full]
where: [virtual_stages = 1 or pipeline > 1]
best: 3
"""
# The same, point by point, every device simulated: what is impossible fails.
SWEEP = f"""
sweep: small
study: {STUDY}
set: [workload.transformer.model.layers=8, workload.transformer.global_batch_sequences=16,
      network.fidelity=analytical, network.share_interfaces=true]
over:
  workload.transformer.parallel.tensor: [1, 2, 4, 8]
  workload.transformer.parallel.pipeline: [1, 2, 4]
  workload.transformer.schedule.virtual_stages: [1, 2]
  workload.transformer.recompute: [none, full]
  workload.transformer.parallel.data: [1, 2, 4, 8]
where: ["tensor * pipeline * data = 8", virtual_stages = 1 or pipeline > 1]
"""


def rows(database, columns, where=""):
    """Of all points; none where there is no table yet."""
    try:
        uri = f"file:{database}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            return connection.execute(
                f"SELECT {columns} FROM point {where} ORDER BY number").fetchall()
    except sqlite3.OperationalError:
        return []


def figures(database):
    """tokens_per_s by layout."""
    found = rows(database, "key_values, summary ->> 'tokens_per_s'", "WHERE state = 'done'")
    return {tuple(sorted(json.loads(values).items())): tokens for values, tokens in found}


class Search(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="exawarp_search_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("search.yaml", SEARCH)
        self.write("sweep.yaml", SWEEP)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def run_it(self, *arguments, expected=0):
        done = subprocess.run([EXAWARP, *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=300, check=False)
        self.assertEqual(done.returncode, expected, done.stderr)
        return done.stdout if expected == 0 else done.stderr

    def test_finds_what_simulating_everything_finds(self):
        text = self.run_it("search", "search.yaml", "-o", "a.db", "--best", "0")
        self.run_it("sweep", "sweep.yaml", "-o", "b.db")
        found, expected = figures(self.folder / "a.db"), figures(self.folder / "b.db")
        self.assertGreater(len(expected), 10)
        self.assertEqual(found, expected)
        best = json.loads(self.run_it("sweep", "best", "b.db", "--count", "1", "--json"))
        again = json.loads(self.run_it("sweep", "best", "a.db", "--count", "1", "--json"))
        self.assertEqual(best["points"][0]["values"], again["points"][0]["values"])
        combinations, layouts = map(int, re.search(
            r"(\d+) combinations, (\d+) layouts", text).groups())
        impossible = sum(int(n) for n in re.findall(r"(\d+) by ", text))
        self.assertEqual(combinations, 4 * 3 * 2 * 2)
        self.assertEqual(combinations, layouts + impossible)

    def test_the_best_are_those_of_a_run_device_by_device(self):
        text = self.run_it("search", "search.yaml", "-o", "a.db")
        self.assertRegex(text, r"regret at message: \d")
        kept = rows(self.folder / "a.best_3_of_20_message.db",
                    "key_values, summary ->> 'iteration_time_ps', digest")
        self.assertEqual(len(kept), 3)
        values, time_ps, digest = kept[0]
        settings = ["workload.transformer.model.layers=8",
                    "workload.transformer.global_batch_sequences=16", "network.fidelity=message"]
        settings += [f"{key}={value}" for key, value in json.loads(values).items()]
        run = ["run", STUDY, "--json", "--out", "out"]
        summary = json.loads(self.run_it(*run, *(w for s in settings for w in ("--set", s))))
        self.assertEqual((summary["iteration_time_ps"], summary["digest"]), (time_ps, digest))

    def test_folded_the_best_take_what_they_take_device_by_device(self):
        for how in ["message", "folded_message"]:
            text = self.run_it("search", "search.yaml", "-o", "a.db", "--verify", how,
                               "--look-again", "0")
            self.assertRegex(text, rf"regret at {how}: \d")
        columns = "key_values, summary ->> 'iteration_time_ps', summary ->> 'fold'"
        whole = rows(self.folder / "a.best_3_message.db", columns)
        folded = rows(self.folder / "a.best_3_folded_message.db", columns)
        self.assertEqual([row[:2] for row in whole], [row[:2] for row in folded])
        self.assertEqual([row[2] for row in whole], [None] * 3)
        self.assertTrue(all(json.loads(row[2])["folded"] for row in folded))

    def test_the_second_look_ends_where_no_other_layout_can_be_among_the_best(self):
        text = self.run_it("search", "search.yaml", "-o", "a.db")
        first = sorted(figures(self.folder / "a.db").values(), reverse=True)
        columns = "state, summary ->> 'tokens_per_s', key_values"
        looks = rows(self.folder / "a.look_again_20.db", columns)
        done = [row[1:] for row in looks if row[0] == "done"]
        self.assertEqual([row[0] for row in looks], ["done"] * len(done) +
                         ["pending"] * (20 - len(done)))
        best = sorted(done, reverse=True)[:3]
        self.assertLessEqual(first[len(done)], best[-1][0])
        self.assertIn(f"second look at {len(done)} of {len(first)} layouts; no other", text)
        verified = rows(self.folder / "a.best_3_of_20_message.db", columns)
        self.assertEqual([row[2] for row in verified], [row[1] for row in best])
        self.assertEqual([row[1] for row in verified], [row[0] for row in best])

    def test_the_best_of_the_second_look_are_those_of_one_at_all_layouts(self):
        self.run_it("search", "search.yaml", "-o", "a.db")
        self.run_it("search", "search.yaml", "-o", "a.db", "--best", "1000", "--verify",
                    "folded_message", "--look-again", "0")
        columns = "summary ->> 'tokens_per_s', key_values"
        everything = rows(self.folder / "a.best_1000_folded_message.db", columns)
        self.assertGreater(len(everything), 20)
        best = rows(self.folder / "a.best_3_of_20_message.db", columns)
        self.assertEqual(best, sorted(everything, reverse=True)[:3])

    def test_where_the_best_are_verified_so_the_second_look_is_the_last(self):
        text = self.run_it("search", "search.yaml", "-o", "a.db", "--verify", "folded_message")
        self.assertIn("second look at", text)
        self.assertNotIn("regret", text)
        self.assertEqual({path.name for path in self.folder.glob("*.db")},
                         {"a.db", "a.look_again_20.db"})

    def test_killed_it_goes_on_and_simulates_no_layout_twice(self):
        whole = self.run_it("search", "search.yaml", "-o", "whole.db")
        process = subprocess.Popen([EXAWARP, "search", "search.yaml", "-o", "a.db", "--jobs", "1"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL)
        while len(rows(self.folder / "a.db", "1", "WHERE state = 'done'")) < 3:
            self.assertIsNone(process.poll(), "ended before it was killed")
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        columns = "number, digest, starts, wall_s"
        before = rows(self.folder / "a.db", columns, "WHERE state = 'done'")
        resumed = self.run_it("search", "search.yaml", "-o", "a.db")
        after = rows(self.folder / "a.db", columns)
        self.assertTrue(set(before) <= set(after))
        self.assertEqual(resumed.split("\nfolded in")[0], whole.split("\nfolded in")[0])

    def test_a_layout_too_large_for_the_memory_is_not_simulated(self):
        self.write("large.yaml", SEARCH.replace("layers=8", "layers=64").replace(
            "sequences=16]", "sequences=16, workload.transformer.sequence_length=16384]"))
        text = self.run_it("search", "large.yaml", "-o", "a.db", "--best", "0")
        lacking = int(re.search(r"(\d+) too large for the memory", text).group(1))
        self.assertGreater(lacking, 0)
        failed = rows(self.folder / "a.db", "exit_code, digest", "WHERE state = 'failed'")
        self.assertEqual(failed, [(2, "")] * lacking)

    def test_other_layouts_need_another_database(self):
        self.run_it("search", "search.yaml", "-o", "a.db", "--best", "0")
        error = self.run_it("search", "search.yaml", "-o", "a.db", "--set",
                            "workload.transformer.sequence_length=2048", expected=2)
        self.assertIn("holds another sweep", error)

    def test_bad_input_is_one_line_and_writes_nothing(self):
        for text, expected in (
                ("tensr: [1]", "did you mean"),
                ("tensor: [x]", "is no value of it"),
                ("tensor: [3]", "is possible"),
                ("data: [1]", "follows from devices")):
            self.write("bad.yaml", SEARCH.replace("tensor: [1, 2, 4, 8]", text))
            error = self.run_it("search", "bad.yaml", "-o", "bad.db", expected=2)
            self.assertIn(expected, error)
            self.assertEqual(error.count("\n"), 1, error)
            self.assertFalse((self.folder / "bad.db").exists())
        error = self.run_it("search", "search.yaml", "-o", "bad.db", "--verify", "folded", expected=2)
        self.assertIn("--verify", error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertFalse((self.folder / "bad.db").exists())
        error = self.run_it("search", STUDY, expected=2)
        self.assertIn("is a study; expected a search", error)
        self.assertIn("is a search; expected a study", self.run_it("run", "search.yaml", expected=2))


if __name__ == "__main__":
    unittest.main()
