#!/usr/bin/env python3
"""exawarp report: pages whose figures are those of the results, and which a browser draws.

  report_test.py EXAWARP SOURCES [SCREENSHOTS]

With Chromium there, pages are opened in it: its console has to stay empty, and screenshots (light,
dark, printed) go to SCREENSHOTS.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

EXAWARP, SOURCES = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()
SCREENSHOTS = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
CHROMIUM = shutil.which("chromium")

SMALL = ["--set", "workload.transformer.model.layers=4",
         "--set", "workload.transformer.global_batch_sequences=32"]
SWEEP = f"""
sweep: layouts
study: {SOURCES}/configs/studies/llama2_7b_8.yaml
set: [workload.transformer.model.layers=8, workload.transformer.global_batch_sequences=16,
      network.fidelity=analytical]
over:
  workload.transformer.parallel.tensor: [1, 2, 4, 8]
  workload.transformer.parallel.data: [1, 2, 4, 8]
where: ["tensor * data = 8"]
"""


def exawarp(*words, folder, code=0):
    done = subprocess.run([str(EXAWARP), *map(str, words)], cwd=folder, text=True, check=False,
                          capture_output=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def data_of(page):
    block = re.search(r'<script id="data" type="application/json">(.*?)</script>',
                      page.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(block.group(1))


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        studies = SOURCES / "configs/studies"
        exawarp("run", studies / "llama2_7b_64.yaml", *SMALL, "--out", "messages", "--quiet",
                folder=cls.folder)
        exawarp("run", studies / "llama3_70b_512_faults.yaml", *SMALL, "--set",
                "network.packet.packet_size=4 MiB", "--out", "packets", "--quiet",
                folder=cls.folder)
        (cls.folder / "layouts.yaml").write_text(SWEEP, encoding="utf-8")
        exawarp("sweep", "layouts.yaml", "-o", "layouts.db", folder=cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def summary(self, run):
        return json.loads((self.folder / run / "summary.json").read_text(encoding="utf-8"))

    def page(self, *results):
        exawarp("report", *results, "-o", "page.html", folder=self.folder)
        return self.folder / "page.html"

    def test_figures_are_those_of_the_summary(self):
        data = data_of(self.page("messages", "packets", "layouts.db"))
        for run, name in zip(data["runs"], ("messages", "packets")):
            self.assertEqual(run["summary"], self.summary(name))
            self.assertEqual(run["note"], "")  # the pictures are of the same digest
        self.assertEqual(len(data["sweeps"][0]["points"]), 4)

    def test_pictures_add_up_to_the_breakdown(self):
        run = data_of(self.page("messages"))["runs"][0]
        pipeline = run["pictures"]["pipeline"]
        self.assertEqual(pipeline["end_ps"], run["summary"]["simulated_time_ps"])
        self.assertEqual([d["name"] for d in pipeline["devices"]], ["stage 0", "stage 1"])
        for device, of_class in zip(pipeline["devices"], run["summary"]["classes"]):
            computing = sum(until - start for _, _, start, until in device["passes"])
            share = of_class["breakdown"]["compute"]
            # Passes hold the communication between their kernels, too.
            self.assertGreater(computing / pipeline["end_ps"], share)
            letter = chr(ord("a") + pipeline["classes"].index("compute"))
            self.assertAlmostEqual(device["doing"].count(letter) / len(device["doing"]), share,
                                   delta=0.1)

    def test_links_of_packets_are_those_of_the_counters(self):
        exawarp("run", SOURCES / "configs/studies/llama3_70b_512_faults.yaml", *SMALL, "--set",
                "network.packet.packet_size=4 MiB", "--out", "counted", "--quiet", "--counters",
                "ports.csv", folder=self.folder)
        lines = (self.folder / "ports.csv").read_text(encoding="utf-8").splitlines()
        rows = [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]
        links = data_of(self.page("packets"))["runs"][0]["pictures"]["links"]
        for kind in {row["link"] for row in rows}:
            deepest = max(int(row["queue_peak_ps"]) for row in rows if row["link"] == kind)
            tiers = [tier for tier in links["tiers"] if tier["name"].startswith(kind + " links")]
            self.assertEqual(max(max(tier["queue_ps"]) for tier in tiers), deepest)

    def test_a_long_run_is_drawn_folded_and_says_so(self):
        (self.folder / "long").mkdir()
        shutil.copy(self.folder / "messages/study.resolved.yaml", self.folder / "long")
        summary = {**self.summary("messages"), "run_s": 3600.0}
        (self.folder / "long/summary.json").write_text(json.dumps(summary), encoding="utf-8")
        run = data_of(self.page("long"))["runs"][0]
        self.assertIn("at network fidelity analytical", run["note"])
        self.assertEqual(run["pictures"]["fidelity"], "analytical")

    def test_a_long_run_with_faults_of_links_is_drawn_without_them(self):
        (self.folder / "long_packets").mkdir()
        shutil.copy(self.folder / "packets/study.resolved.yaml", self.folder / "long_packets")
        summary = {**self.summary("packets"), "run_s": 3600.0}
        (self.folder / "long_packets/summary.json").write_text(json.dumps(summary),
                                                               encoding="utf-8")
        run = data_of(self.page("long_packets"))["runs"][0]
        self.assertIn("without its faults, at network fidelity analytical", run["note"])
        self.assertEqual(run["pictures"]["fidelity"], "analytical")

    def test_text_of_a_study_cannot_leave_its_place(self):
        (self.folder / "hostile").mkdir()
        name = "</script><script>throw 1</script><!--"
        summary = {**self.summary("messages"), "study": name}
        (self.folder / "hostile/summary.json").write_text(json.dumps(summary), encoding="utf-8")
        page = self.page("hostile")
        self.assertNotIn("<script>throw 1", page.read_text(encoding="utf-8"))
        self.assertEqual(data_of(page)["runs"][0]["name"], name)
        self.assertIn("not beside the summary", data_of(page)["runs"][0]["note"])

    def test_what_is_no_result_is_refused_and_nothing_written(self):
        (self.folder / "text.json").write_text("{}", encoding="utf-8")
        for path in ("absent", "text.json", "absent.db"):
            done = exawarp("report", path, "-o", "none.html", folder=self.folder, code=2)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(path, done.stderr)
            self.assertFalse((self.folder / "none.html").exists())

    @unittest.skipUnless(CHROMIUM, "no Chromium here: pages are not opened")
    def test_a_browser_draws_it_without_a_word(self):
        page = self.page("messages", "packets", "layouts.db")
        target = SCREENSHOTS or self.folder
        target.mkdir(parents=True, exist_ok=True)
        ways = {"light": ["--window-size=1200,7200", f"--screenshot={target}/report_light.png"],
                "dark": ["--window-size=1200,7200", f"--screenshot={target}/report_dark.png",
                         "--blink-settings=preferredColorScheme=0"],
                "print": [f"--print-to-pdf={target}/report_print.pdf"]}
        for name, flags in ways.items():
            with self.subTest(name):
                done = subprocess.run(
                    [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     f"--user-data-dir={self.folder}/browser", "--enable-logging=stderr", *flags,
                     page.as_uri()], text=True, capture_output=True, check=False, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("CONSOLE", done.stderr)
        drawn = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={self.folder}/browser", "--dump-dom", page.as_uri()],
            text=True, capture_output=True, check=True, timeout=120).stdout
        for heading in ("Runs side by side", "One pipeline over time", "Links", "Memory of a device",
                        "The best for each pair of values", "Pareto front"):
            self.assertIn(heading, drawn)
        self.assertIn(self.summary("packets")["digest"], drawn)
        self.assertNotIn("NaN", re.sub(r"<script.*?</script>", "", drawn, flags=re.DOTALL))


if __name__ == "__main__":
    unittest.main()
