#!/usr/bin/env python3
"""The Python package: what it says is what the program says, and its errors are the program's.

  python_test.py EXAWARP SOURCES
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

EXAWARP, SOURCES = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCES / "io" / "python"))
os.environ["EXAWARP"] = str(EXAWARP)
os.environ["EXAWARP_CONFIGS"] = str(SOURCES / "configs")

import exawarp  # noqa: E402

FEW = {"workload.transformer.model.layers": 8, "workload.transformer.global_batch_sequences": 16}
# Minutes, were it not ended; its messages are small.
ENDLESS = {"workload.transformer.global_batch_sequences": 4096, "network.fidelity": "packet"}
SWEEP = {
    "sweep": "small",
    "study": "llama2_7b_8",
    "set": [f"{key}={value}" for key, value in FEW.items()] + ["network.fidelity=analytical"],
    "over": {"workload.transformer.parallel.tensor": [1, 2, 4],
             "workload.transformer.parallel.data": [1, 2]},
}


def living_of_group(group):
    """Processes of a group that have not ended; nobody may wait for those that have."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(of) == group and state not in "ZX":
            yield stat.parent.name


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.path)

    def program(self, *arguments):
        """What the program itself prints."""
        done = subprocess.run([EXAWARP, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    def only_in_folder(self):
        return sorted(entry.name for entry in self.path.iterdir())


class Runs(InFolder):
    def test_result_is_that_of_the_program(self):
        result = exawarp.run("llama2_7b_8", FEW, progress=False)
        words = [word for key, value in FEW.items() for word in ("--set", f"{key}={value}")]
        summary = json.loads(self.program("run", "llama2_7b_8", "--json", "--out", "other", *words))
        self.assertEqual(result.digest, summary["digest"])
        self.assertEqual(result.step_time_s, summary["iteration_time_ps"] / 1e12)
        self.assertEqual(result.breakdown, summary["breakdown"])
        self.assertEqual(result.summary.energy.step_j, summary["energy"]["step_j"])
        self.assertEqual(result.summary.to_dict().keys(), summary.keys())

    def test_leaves_nothing_behind_without_out(self):
        result = exawarp.run("llama2_7b_8", FEW, progress=False)
        place = result.directory
        self.assertTrue((place / "summary.json").is_file())
        del result
        self.assertFalse(place.exists())
        self.assertEqual(self.only_in_folder(), [])

    def test_out_keeps_results_and_tells_where_they_went(self):
        first = exawarp.run("llama2_7b_8", FEW, out="kept", progress=False)
        other = exawarp.run("all_reduce_8_h100", out="kept", progress=False)
        self.assertEqual(first.directory, pathlib.Path("kept"))
        self.assertEqual(other.directory, pathlib.Path("kept.2"))
        self.assertEqual(exawarp.Result.load("kept").digest, first.digest)

    def test_study_from_a_dictionary(self):
        text = (SOURCES / "configs/workloads/llama2_7b_8.yaml").read_text()
        (self.path / "mine.yaml").write_text(
            text.replace("../models/", f"{SOURCES}/configs/models/"))
        study = {"study": "mine", "workload": "mine.yaml", "network": {"fidelity": "message"},
                 "system": "configs/systems/h100_hgx_roce400.yaml"}
        named = {**study, "workload": "configs/workloads/llama2_7b_8.yaml"}
        self.assertEqual(exawarp.run(study, FEW, progress=False).digest,
                         exawarp.run(exawarp.Study(named), FEW, progress=False).digest)

    def test_values_of_every_kind(self):
        overrides = {**FEW, "description": "a: \"b\", [c", "network": {"fidelity": "analytical"},
                     "workload.transformer.model.gated_ffn": False, "seed": 7}
        result = exawarp.run("llama2_7b_8", overrides, progress=False)
        self.assertEqual(result.summary.network_fidelity, "analytical")
        self.assertEqual(result.summary.seed, 7)

    def test_threads_and_modes_do_not_change_the_digest(self):
        sequential = exawarp.run("llama2_7b_8", FEW, sync="sequential", progress=False)
        optimistic = exawarp.run("llama2_7b_8", FEW, threads=2, progress=False)
        self.assertEqual(sequential.digest, optimistic.digest)
        self.assertEqual((sequential.summary.sync, optimistic.summary.threads),
                         ("sequential", 2))

    def test_rich_text_escapes(self):
        result = exawarp.run("llama2_7b_8", FEW, progress=False)
        result.summary._entries["study"] = "<b>"
        self.assertIn("&lt;b&gt;", result._repr_html_())
        self.assertIn(result.digest, result._repr_html_())

    def test_frames_need_pandas_and_say_so(self):
        result = exawarp.run("llama2_7b_8", FEW, progress=False)
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, "needs pandas"):
                result.to_frame()


class Errors(InFolder):
    def test_wrong_input_is_the_line_of_the_program(self):
        with self.assertRaises(exawarp.InputError) as caught:
            exawarp.run("llama2_7b_8", {"sed": 1}, out="r", progress=False)
        self.assertEqual(str(caught.exception), '--set sed: unknown key; did you mean "seed"?')
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertEqual(self.only_in_folder(), [])

    def test_time_that_ran_out(self):
        with self.assertRaises(exawarp.ResourceError) as caught:
            exawarp.run("llama2_7b_64", ENDLESS, time_limit_s=0.5, progress=False)
        self.assertEqual(caught.exception.exit_code, 4)
        self.assertIn("host time ran out", str(caught.exception))

    def test_crash_is_an_exception(self):
        for words, text in (("kill -SEGV $$", "ended by SIGSEGV"), ("exit 9", "exit code 9"),
                            ("echo check failed >&2; exit 1", "check failed")):
            script = self.path / "program"
            script.write_text(f"#!/bin/sh\n{words}\n")
            script.chmod(0o755)
            with mock.patch.dict(os.environ, {"EXAWARP": str(script)}):
                with self.assertRaisesRegex(exawarp.InternalError, text):
                    exawarp.run("llama2_7b_8", progress=False)

    def test_program_that_is_not_there(self):
        with mock.patch.dict(os.environ, {"EXAWARP": "/nowhere/exawarp"}):
            with self.assertRaisesRegex(exawarp.InputError, "/nowhere/exawarp"):
                exawarp.program()

    def test_interruption_ends_the_program(self):
        self.interrupt_a_run("")

    def test_interruption_while_the_program_starts_ends_it(self):
        # Python is interrupted within Popen(), when the program runs already.
        self.interrupt_a_run("import os, signal, subprocess, time\n"
                             "class Interrupted(subprocess.Popen):\n"
                             "  def __init__(self, *words, **options):\n"
                             "    super().__init__(*words, **options)\n"
                             f"    while not os.path.exists({str(self.path / 'pid')!r}):\n"
                             "      time.sleep(0.01)\n"
                             "    os.kill(os.getpid(), signal.SIGINT)\n"
                             "subprocess.Popen = Interrupted\n")

    def interrupt_a_run(self, first):
        started = self.path / "pid"
        script = self.path / "program"
        script.write_text(f"#!/bin/sh\nsleep 600 &\necho $$ > {started}.new\n"
                          f"mv {started}.new {started}\nwait\n")
        script.chmod(0o755)
        code = (first + "import exawarp\n"
                "try:\n  exawarp.run('x', progress=False)\n"
                "except KeyboardInterrupt:\n  print('interrupted')\n")
        environment = {**os.environ, "EXAWARP": str(script),
                       "PYTHONPATH": str(SOURCES / "io" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        python = subprocess.Popen([sys.executable, "-c", code], env=environment,
                                  stdout=subprocess.PIPE, text=True)
        while not started.exists():
            self.assertIsNone(python.poll())
            time.sleep(0.01)
        if not first:
            python.send_signal(signal.SIGINT)
        self.assertEqual(python.communicate()[0], "interrupted\n")
        deadline = time.monotonic() + 60
        while any(living_of_group(int(started.read_text()))):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


class Progress(InFolder):
    def test_lines_as_they_come(self):
        lines = []
        exawarp.sweep(SWEEP, progress=lines.append, jobs=1)
        script = self.path / "program"
        script.write_text("#!/bin/sh\n"
                          r"printf '\r\033[K1 s: simulated 2 ms, 5 events/s\r\033[K2 s: more' >&2"
                          "\nprintf '\\r\\033[Kx: a note\\n' >&2\necho '{}'\n")
        script.chmod(0o755)
        lines = []
        with mock.patch.dict(os.environ, {"EXAWARP": str(script)}):
            result = exawarp.run("x", progress=lines.append)
        self.assertEqual(lines, ["1 s: simulated 2 ms, 5 events/s", "2 s: more"])
        self.assertEqual(result.notes, "x: a note")


class Timelines(InFolder):
    def test_slices_sum_to_the_breakdown(self):
        result = exawarp.run("llama2_7b_8", FEW, progress=False,
                             timeline={"devices": list(range(8))})
        totals = result.timeline().totals()
        everything = 8 * result.summary.simulated_time_ps
        self.assertEqual(sum(totals.values()), everything)
        self.assertAlmostEqual(totals["compute"] / everything, result.breakdown["compute"])
        self.assertAlmostEqual(totals["waiting"] / everything, result.breakdown["waiting"])
        names = {s.name for s in result.timeline() if s.device == 0 and s.track == "compute"}
        self.assertIn("forward qkv, layer 0, micro-batch 0", names)

    def test_range_of_times(self):
        result = exawarp.run("llama2_7b_8", FEW, progress=False, timeline={
            "devices": 3, "start": "1 ms", "until": "2 ms", "file": "t.pftrace"})
        slices = list(result.timeline())
        self.assertEqual({s.device for s in slices}, {3})
        self.assertEqual((min(s.start_ps for s in slices), max(s.end_ps for s in slices)),
                         (10**9, 2 * 10**9))
        self.assertTrue((self.path / "t.pftrace").is_file())

    def test_absent_cut_short_and_foreign(self):
        with self.assertRaisesRegex(exawarp.InputError, "timeline=True"):
            exawarp.run("llama2_7b_8", FEW, progress=False).timeline()
        exawarp.run("llama2_7b_8", FEW, progress=False, timeline="t")
        whole = pathlib.Path("t").read_bytes()
        for content in (whole[:-3], b"text of another kind"):
            pathlib.Path("t").write_bytes(content)
            with self.assertRaisesRegex(exawarp.InputError, "no timeline that exawarp wrote"):
                list(exawarp.Timeline("t"))


class Sweeps(InFolder):
    def test_points_are_runs(self):
        sweep = exawarp.sweep(SWEEP, progress=False)
        self.assertEqual(len(sweep), 6)
        point = sweep.rows[0]
        self.assertEqual(point.values, {"workload.transformer.parallel.tensor": 1,
                                        "workload.transformer.parallel.data": 1})
        alone = exawarp.run("llama2_7b_8", {**FEW, **point.values, "network.fidelity": "analytical"},
                            progress=False)
        self.assertEqual((point.digest, point.figures["step_time"]),
                         (alone.digest, alone.step_time_s))
        self.assertEqual(point.result().breakdown, alone.breakdown)

    def test_best_and_pareto(self):
        sweep = exawarp.sweep(SWEEP, progress=False, out="s.db")
        speeds = [p.figures["tokens_per_s"] for p in sweep.best()]
        self.assertEqual(speeds, sorted(speeds, reverse=True))
        self.assertEqual(sweep.best(count=1)[0].digest, sweep.best()[0].digest)
        front = sweep.pareto(["tokens_per_s", "devices"])
        self.assertIn(sweep.best()[0], front)
        self.assertLess(len(front), 6)
        self.assertEqual([p.digest for p in exawarp.open_sweep("s.db").best()],
                         [p.digest for p in sweep.best()])
        self.assertIn("<td>", sweep._repr_html_())

    def test_failed_points_have_reasons(self):
        wrong = {**SWEEP, "over": {"workload.transformer.parallel.tensor": [1, 3]}}
        sweep = exawarp.sweep(wrong, progress=False)
        failed = sweep.failed()
        self.assertEqual([p.values["workload.transformer.parallel.tensor"] for p in failed], [3])
        self.assertTrue(failed[0].reason)
        with self.assertRaisesRegex(exawarp.InputError, "has no summary"):
            failed[0].result()

    def test_files_that_are_no_databases(self):
        pathlib.Path("x.db").write_text("no database")
        for name in ("x.db", "absent.db"):
            with self.assertRaisesRegex(exawarp.InputError, name):
                exawarp.open_sweep(name)

    def test_search_has_layouts_and_the_best_device_by_device(self):
        search = exawarp.search(
            {"search": "small", "study": "llama2_7b_8", "set": SWEEP["set"][:2], "devices": [8],
             "over": {"tensor": [2, 4], "pipeline": [1, 2]}, "best": 2}, progress=False)
        self.assertEqual(len(search), 4)
        self.assertEqual(len(search.verified), 2)
        self.assertEqual(len(search.looked_again), 4)
        self.assertIn("none is better than these", search.text)
        plain = exawarp.search({"search": "small", "study": "llama2_7b_8", "devices": [8],
                                "set": SWEEP["set"][:2], "over": {"tensor": [2]}},
                               best=0, progress=False)
        self.assertIsNone(plain.looked_again)
        self.assertIsNone(plain.verified)


class Topologies(InFolder):
    def test_figures_and_picture(self):
        network = exawarp.topology("llama2_7b_64", picture="n.svg")
        self.assertEqual(network.devices, 64)
        self.assertIn("<svg", pathlib.Path("n.svg").read_text())


if __name__ == "__main__":
    unittest.main()
