#!/usr/bin/env python3
"""exawarp capacity with a file of its loads: whatever ends it, the same command goes on.

  capacity_test.py EXAWARP SOURCES
"""
import contextlib
import json
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

EXAWARP, SOURCES = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()
MODEL = "{name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100}"
STUDY = """
study: loads
serving: {policy: vllm, replicas: 2, blocks: 100, request_tokens_max: 128, batch_tokens_max: 512}
requests: {arrivals: poisson, rate: 10, count: 3000, prompt: {tokens: 60}, output: {tokens: 8}}
objectives: {end: 200 ms}
"""
JOBS = f"""
study: jobs
jobs:
  - name: chat
    serving:
      model: {MODEL}
      by_formula: true
      scheduler: {{policy: vllm, blocks: 40, request_tokens_max: 128, latency: 1 us,
                  router: least_outstanding, batch_time: {{base: 1 ms, per_token: 0 s}}}}
      decode:
        by_formula: true
        scheduler: {{policy: vllm, blocks: 40, request_tokens_max: 128, batch_requests_max: 1,
                    router: least_outstanding, batch_time: {{base: 1 ms, per_token: 0 s}}}}
      requests: {{arrivals: static, rate: 100, count: 200, prompt: {{tokens: 60}},
                 output: {{tokens: 8}}}}
      objectives: {{end: 30 ms}}
system: {SOURCES}/configs/systems/h100_leaf_spine_4to1.yaml
network: {{fidelity: analytical}}
"""
SPLIT = ["--split", "3", "--tolerance", "0.1"]


def rows(database, columns, where=""):
    """Of all loads; none where there is no table yet."""
    try:
        uri = f"file:{database}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            return connection.execute(
                f"SELECT {columns} FROM point {where} ORDER BY number").fetchall()
    except sqlite3.OperationalError:
        return []


class Capacity(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="exawarp_capacity_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("study.yaml", STUDY)
        self.write("jobs.yaml", JOBS)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def run_it(self, *arguments, expected=0):
        done = subprocess.run([EXAWARP, *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=300, check=False)
        self.assertEqual(done.returncode, expected, done.stderr)
        return done.stdout if expected == 0 else done.stderr

    def capacity(self, *arguments, expected=0):
        return self.run_it("capacity", *arguments, "--json", expected=expected)

    def test_killed_it_goes_on_and_simulates_no_load_twice(self):
        whole = self.capacity("study.yaml")
        command = [EXAWARP, "capacity", "study.yaml", "-o", "a.db"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        while len(rows(self.folder / "a.db", "1", "WHERE state = 'done'")) < 3:
            self.assertIsNone(process.poll(), "ended before it was killed")
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        columns = "number, digest, starts, wall_s"
        before = rows(self.folder / "a.db", columns, "WHERE state = 'done'")
        self.assertEqual(self.capacity("study.yaml", "-o", "a.db"), whole)
        after = rows(self.folder / "a.db", columns)
        self.assertTrue(set(before) <= set(after))
        self.assertEqual(len(after), len(json.loads(whole)["results"][0]["points"]))
        self.assertEqual(self.capacity("study.yaml", "-o", "a.db"), whole)
        self.assertEqual(rows(self.folder / "a.db", columns), after)

    def test_stopped_by_its_time_limit_it_goes_on(self):
        whole = self.capacity("study.yaml")
        self.capacity("study.yaml", "-o", "a.db", "--time-limit", "0.001", expected=4)
        self.assertEqual(self.capacity("study.yaml", "-o", "a.db"), whole)
        states = rows(self.folder / "a.db", "state, starts")
        self.assertTrue(all(state == "done" for state, _ in states))

    def test_a_load_is_a_row_with_its_study_and_summary(self):
        report = json.loads(self.capacity("jobs.yaml", "-o", "a.db", *SPLIT))
        points = [p for result in report["results"] for p in result["points"]]
        kept = rows(self.folder / "a.db", "key_values, digest, study, summary")
        self.assertEqual(len(kept), len(points))
        for (values, digest, study, summary), point in zip(kept, points):
            rate = json.loads(values)["jobs.0.serving.requests.rate"]
            self.assertEqual(float(rate), point["rate"])
            self.assertEqual(digest, point["digest"])
            self.assertIn(f"rate: {rate}", study)
            self.assertEqual(json.loads(summary)["serving"][0]["done"], 200)
        # What `study` says is what was simulated.
        self.write("again.yaml", kept[-1][2])
        again = json.loads(self.run_it("run", "again.yaml", "--json"))
        self.assertEqual(again["digest"], kept[-1][1])
        self.assertIn("jobs.0.serving.requests.rate", self.run_it("sweep", "export", "a.db"))

    def test_what_differs_is_simulated(self):
        self.capacity("study.yaml", "-o", "a.db", "--tolerance", "0.1")
        few = rows(self.folder / "a.db", "number")
        finer = self.capacity("study.yaml", "-o", "a.db", "--tolerance", "0.05")
        self.assertEqual(finer, self.capacity("study.yaml", "--tolerance", "0.05"))
        more = rows(self.folder / "a.db", "number, starts")
        self.assertGreater(len(more), len(few))
        self.assertEqual({starts for _, starts in more}, {1})
        seeded = self.capacity("study.yaml", "-o", "a.db", "--tolerance", "0.1", "--seed", "7")
        self.assertEqual(seeded, self.capacity("study.yaml", "--tolerance", "0.1", "--seed", "7"))
        self.assertGreater(len(rows(self.folder / "a.db", "number")), len(more))

    def test_other_studies_need_another_file(self):
        self.capacity("study.yaml", "-o", "a.db", "--tolerance", "0.5")
        error = self.capacity("jobs.yaml", "-o", "a.db", *SPLIT, expected=2)
        self.assertIn('holds something else than loads of "jobs"', error)
        self.assertEqual(error.count("\n"), 1, error)
        (self.folder / "b.db").write_text("no database", encoding="utf-8")
        self.assertIn("b.db", self.capacity("study.yaml", "-o", "b.db", expected=2))
        self.assertIn("not standard input", self.capacity("-", "-o", "c.db", expected=2))
        self.assertFalse((self.folder / "c.db").exists())


if __name__ == "__main__":
    unittest.main()
