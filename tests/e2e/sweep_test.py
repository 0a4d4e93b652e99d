#!/usr/bin/env python3
"""exawarp sweep: points in processes of their own, kept in a database, whatever ends the program.

  sweep_test.py EXAWARP SOURCES
"""
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

EXAWARP, SOURCES = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()

SWEEP = f"""
sweep: twelve
study: {SOURCES}/configs/studies/llama2_7b_8.yaml
set: [workload.transformer.model.layers=8, workload.transformer.global_batch_sequences=32]
over:
  workload.transformer.micro_batch_sequences: [1, 2, 4]
  workload.transformer.recompute: [none, full]
  seed: [1, 2]
"""
POINTS = 12

# A point is made to take for ever by its network: packets of 256 bytes.
FILES = f"""
sweep: files
study: {SOURCES}/configs/studies/llama2_7b_8.yaml
how: list
over:
  network: [{", ".join(f"n{i}.yaml" for i in range(1, POINTS + 1))}]
  workload.transformer.global_batch_sequences: {{from: 8, to: {8 * POINTS}, step: 8}}
"""
NETWORK = "fidelity: message\n"
ENDLESS = "fidelity: packet\ninside_nodes: packet\npacket: {packet_size: 256 B}\n"


def rows(database, columns):
    """Of all points; none where there is no table yet."""
    try:
        uri = f"file:{database}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            return connection.execute(f"SELECT {columns} FROM point ORDER BY number").fetchall()
    except sqlite3.OperationalError:
        return []


def done(database):
    """What may not change any more, by number."""
    kept = rows(database, "number, starts, wall_s, digest, summary, state")
    return {row[0]: row[1:] for row in kept if row[-1] == "done"}


class Sweep(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="exawarp_sweep_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("sweep.yaml", SWEEP)
        self.write("files.yaml", FILES)
        for i in range(1, POINTS + 1):
            self.write(f"n{i}.yaml", NETWORK)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def start(self, *arguments):
        return subprocess.Popen([EXAWARP, "sweep", *arguments], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def sweep(self, *arguments, expected=0):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, expected, err)
        return out if expected == 0 else err

    def stop_at(self, point, number, *arguments):
        """Sends the signal while that point is being simulated, and lets it end the next time."""
        self.write(f"n{point}.yaml", ENDLESS)
        process = self.start(*arguments)
        while (point, "running") not in rows(self.folder / "a.db", "number, state"):
            self.assertIsNone(process.poll(), "ended before it came to the point")
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        self.write(f"n{point}.yaml", NETWORK)
        return process.returncode, err

    def test_killed_three_times_it_comes_to_the_same_and_runs_no_point_twice(self):
        arguments = ("files.yaml", "-o", "a.db", "--jobs", "1")
        finished = {}
        for point in (3, 6, 9):
            code, _ = self.stop_at(point, signal.SIGKILL, *arguments)
            self.assertEqual(code, -signal.SIGKILL)
            finished.update(done(self.folder / "a.db"))
        self.assertEqual(sorted(finished), [1, 2, 3, 4, 5, 6, 7, 8])
        self.sweep("files.yaml", "-o", "a.db", "--jobs", "2")
        self.sweep("files.yaml", "-o", "b.db", "--jobs", "2")
        a, b = self.folder / "a.db", self.folder / "b.db"
        columns = "number, state, key_values, digest, study"
        self.assertEqual(rows(a, columns), rows(b, columns))
        self.assertEqual(len(done(a)), POINTS)
        for number, kept in finished.items():
            self.assertEqual(done(a)[number], kept, f"point {number} was run again")
        self.assertEqual([starts for starts, in rows(a, "starts")],
                         [2 if point in (3, 6, 9) else 1 for point in range(1, POINTS + 1)])
        before = done(a)
        self.sweep("files.yaml", "-o", "a.db")
        self.assertEqual(done(a), before)

    def test_a_signal_ends_it_in_order(self):
        for point, number in ((3, signal.SIGTERM), (6, signal.SIGINT), (9, signal.SIGUSR1)):
            code, err = self.stop_at(point, number, "files.yaml", "-o", "a.db", "--jobs", "1")
            self.assertEqual(code, 75, err)
            name = signal.Signals(number).name
            self.assertIn(f"files.yaml: stopped by {name}; the same command goes on", err)
            self.assertEqual(list(self.folder.glob("a.db-*")), [])
            self.assertEqual(len(done(self.folder / "a.db")), point - 1)
            self.assertNotIn(("running",), rows(self.folder / "a.db", "state"))
            for left in self.folder.glob("a.db-*"):  # by a reader that may not write
                left.unlink()
        self.sweep("files.yaml", "-o", "a.db")
        self.assertEqual(len(done(self.folder / "a.db")), POINTS)

    def test_points_are_what_run_makes_of_them(self):
        self.sweep("sweep.yaml", "-o", "a.db")
        digest, summary = rows(self.folder / "a.db", "digest, summary")[0]
        line = json.loads(summary)["provenance"]["command_line"]
        ran = subprocess.run([EXAWARP, *line, "--json", "--out", "ran"], cwd=self.folder,
                             check=True, capture_output=True)
        self.assertEqual(json.loads(ran.stdout)["digest"], digest)

    def test_a_key_may_be_replaced_at_every_point(self):
        self.sweep("sweep.yaml", "-o", "a.db", "--set", "network.fidelity=analytical")
        for summary, in rows(self.folder / "a.db", "summary"):
            self.assertEqual(json.loads(summary)["network_fidelity"], "analytical")
        self.assertIn("holds another sweep", self.sweep("sweep.yaml", "-o", "a.db", expected=2))

    def test_points_that_fail_are_rows_with_their_reason(self):
        self.write("sweep.yaml", SWEEP.replace("seed: [1, 2]", "seed: [1, -1]"))
        out = self.sweep("sweep.yaml", "-o", "a.db")
        self.assertIn("12 points, 6 done, 6 failed", out)
        failed = [row for row in rows(self.folder / "a.db", "state, reason, exit_code")
                  if row[0] == "failed"]
        self.assertEqual(len(failed), 6)
        for _, reason, code in failed:
            self.assertIn("--set seed: -1 is out of range", reason)
            self.assertEqual(code, 2)

    def test_points_have_the_kernel_tables_that_they_name(self):
        (self.folder / "broken").mkdir()
        self.write("broken/gemm_bfloat16.xkt", "no table\n")
        broken, sound = self.folder / "broken", SOURCES / "configs/kernels/h100_sxm"
        head, _ = SWEEP.replace("[workload", "[compute.fidelity=table, workload").split("over:")
        for first, other in ((broken, sound), (sound, broken)):
            self.write("sweep.yaml", head.replace("[comp", f"[system.accelerator.tables={first}, "
                       "comp") + f"over:\n  system.accelerator.tables: [{first}, {other}]\n")
            self.sweep("sweep.yaml", "-o", f"{first.name}.db")
            states = rows(self.folder / f"{first.name}.db", "state, reason")
            self.assertEqual([state for state, _ in states],
                             ["failed" if tables == broken else "done"
                              for tables in (first, other)])
            reason = states[0 if first == broken else 1][1]
            self.assertIn("gemm_bfloat16.xkt:1: ", reason)

    def test_points_have_a_time_limit(self):
        self.sweep("sweep.yaml", "-o", "a.db", "--time-limit", "1e-6")
        for state, reason, code in rows(self.folder / "a.db", "state, reason, exit_code"):
            self.assertEqual((state, code), ("failed", 4))
            self.assertIn("host time ran out", reason)

    def test_what_does_not_fit_is_a_row_unless_memory_is_ignored(self):
        self.write("sweep.yaml", SWEEP.replace("layers=8", "layers=800"))
        self.assertIn("12 failed", self.sweep("sweep.yaml", "-o", "a.db"))
        for reason, in rows(self.folder / "a.db", "reason"):
            self.assertIn("of memory a device", reason)

    def test_best_front_and_export(self):
        self.sweep("sweep.yaml")
        database = "results/twelve.db"
        points = json.loads(self.sweep("export", database, "--json"))["points"]
        self.assertEqual(len(points), POINTS)
        rate = {p["number"]: p["summary"]["tokens_per_s"] for p in points}
        best = json.loads(self.sweep("best", database, "--count", "3", "--json"))["points"]
        self.assertEqual([p["figures"]["tokens_per_s"] for p in best],
                         sorted(rate.values(), reverse=True)[:3])
        by_energy = json.loads(self.sweep("best", database, "--by", "energy.token_j:least",
                                          "--count", "1", "--json"))["points"]
        self.assertEqual(by_energy[0]["figures"]["energy.token_j"],
                         min(p["summary"]["energy"]["token_j"] for p in points))
        front = json.loads(self.sweep("best", database, "--pareto", "tokens_per_s,memory",
                                      "--json"))["points"]
        self.assertEqual(front[0]["number"], best[0]["number"])
        self.sweep("export", database, "--csv", "-o", "all.csv")
        lines = (self.folder / "all.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 1 + POINTS)
        self.assertTrue(lines[0].startswith("number,workload.transformer.micro_batch_sequences,"))
        self.assertIn("12 points, 12 done", self.sweep("show", database))

    def test_machines_share_a_sweep(self):
        for part in (1, 2, 3):
            self.sweep("sweep.yaml", "--share", f"{part}/3")
        files = [f"results/twelve.{part}_of_3.db" for part in (1, 2, 3)]
        self.assertIn("4 points, 4 done", self.sweep("show", files[0]))
        self.assertIn("12 points, 12 done", self.sweep("show", *files))
        self.sweep("sweep.yaml")
        best = self.sweep("best", "results/twelve.db", "--by", "step_time")
        self.assertEqual(self.sweep("best", *files, "--by", "step_time"), best)

    def test_a_database_is_of_one_sweep(self):
        self.sweep("sweep.yaml", "-o", "a.db")
        self.write("sweep.yaml", SWEEP.replace("seed: [1, 2]", "seed: [1, 3]"))
        self.assertIn('a.db: holds another sweep, or other values of it: "twelve"; expected another '
                      "file, -o FILE.db\n", self.sweep("sweep.yaml", "-o", "a.db", expected=2))

    def test_bad_input_is_told_in_one_line(self):
        cases = [
            (["absent.yaml"], "absent.yaml"),
            ([], "exawarp sweep: SWEEP is required"),
            (["sweep.yaml", "--jobs", "0"], "--jobs"),
            (["sweep.yaml", "--share", "4/3"], '--share: "4/3" is no share; expected e.g. 3/8'),
            (["sweep.yaml", "--share", "x"], '--share: "x" is no share; expected e.g. 3/8'),
            (["best", "absent.db"], "absent.db: there is no such file"),
            (["show", "sweep.yaml"], "sweep.yaml: is no database"),
            (["best", "absent.db", "--by", "speed"], '--by: "speed" is no measure'),
            (["best", "absent.db", "--by", "mfu", "--pareto", "mfu"], "excludes"),
            (["export", "absent.db", "--csv", "--json"], "excludes"),
            (["sweep.yaml", "-o", "sweep.yaml"], "sweep.yaml: is no database")]
        before = sorted(os.listdir(self.folder))
        for arguments, expected in cases:
            err = self.sweep(*arguments, expected=2)
            self.assertIn(expected, err)
            self.assertEqual(err.count("\n"), 1, err)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        err = self.sweep("sweep.yaml", "-o", "none/a.db", expected=4)
        self.assertEqual(err, "none/a.db: cannot write: No such file or directory\n")


if __name__ == "__main__":
    unittest.main()
