#!/usr/bin/env python3
"""scripts/batch with stand-ins: of Slurm's commands, and of a program that stops and goes on.

The stand-in of sbatch runs the job until it is not requeued, and ends its script when it is, as
Slurm does. The program's counts its runs in the checkpoint: it stops with exit code 75 until LEGS
runs have been made.
"""
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = ROOT / "scripts" / "batch"

STAND_INS = {
    "sbatch": r"""
        cat >job
        export SLURM_JOB_ID=77
        for SLURM_RESTART_COUNT in 0 1 2 3 4 5; do
          export SLURM_RESTART_COUNT
          rm -f requeued
          bash job; code=$?
          [[ -e requeued ]] || break
        done
        echo "restarts $SLURM_RESTART_COUNT" >>log
        exit $code""",
    # Slurm ends the script of the job that is requeued.
    "scontrol": r"""
        [[ "$*" == "requeue 77" ]] || exit 1
        touch requeued
        kill -TERM $PPID""",
    "sinfo": r"""echo "2 32 2+"; echo "2 32 2" """,
    # The signal that --signal asks for, when the program is ready for it.
    "srun": r"""
        while [[ $1 == --* ]]; do shift; done
        "$@" & child=$!
        if [[ -n ${USR1_WHEN_READY:-} && $2 == run ]]; then
          until [[ -e ready ]] || ! kill -0 $child; do sleep 0.01; done
          kill -USR1 $child
        fi
        wait $child; code=$?
        while (( code > 128 )) && kill -0 $child 2>/dev/null; do wait $child; code=$?; done
        exit $code""",
    "exawarp": r"""
        if [[ $1 == doctor ]]; then exit ${DOCTOR:-0}; fi
        words=("$@")
        while [[ $# -gt 0 ]]; do
          case $1 in --checkpoint) checkpoint=$2; shift ;; --restart) restart=$2; shift ;; esac
          shift
        done
        stop() {
          echo $((legs + 1)) >"$checkpoint/legs"
          rm -f ready other_ready
          exit 75
        }
        if [[ ${OMPI_COMM_WORLD_RANK:-0} != 0 ]]; then
          trap : USR1
          touch other_ready
          until [[ -e done ]]; do sleep 0.02; done
          exit 0
        fi
        echo "${words[*]}" >>log
        legs=0
        if [[ -n ${restart:-} ]]; then read -r legs <"$restart/legs" || exit 2; fi
        if [[ -n ${WAITS:-} && $legs == 0 ]]; then
          trap stop USR1
          until [[ ${OMPI_COMM_WORLD_SIZE:-1} == 1 || -e other_ready ]]; do sleep 0.01; done
          touch ready
          for ((i = 0; i < 1000; ++i)); do sleep 0.01; done
          exit 1
        fi
        if [[ -n ${CODE:-} ]]; then exit "$CODE"; fi
        if (( legs + 1 < ${LEGS:-1} )); then stop; fi
        touch done""",
}


class Batch(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        for name, text in STAND_INS.items():
            path = self.folder / name
            path.write_text("#!/usr/bin/env bash\n" + text + "\n")
            path.chmod(0o755)
        self.program = ["--program", self.folder / "exawarp"]

    def start(self, *words, **environment):
        path = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.Popen([BATCH, *words], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, "PATH": path, **environment})

    def batch(self, *words, code=0, **environment):
        """What it printed on both streams; it has to end with `code`."""
        process = self.start(*self.program, *words, **environment)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, out + err)
        return out + err

    def log(self):
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def test_job_script_has_what_was_asked_for_and_the_partition_has(self):
        text = self.batch("--dry-run", "-N", "4", "--time", "8:00:00", "--sbatch=--qos=night", "s")
        self.assertEqual([], self.log())
        for line in ["--nodes=4", "--ntasks-per-node=2", "--cpus-per-task=32", "--time=8:00:00",
                     "--signal=USR1@120", "--requeue", "--qos=night"]:
            self.assertIn(f"#SBATCH {line}\n", text)
        self.assertIn("begin=(run s --threads 32)\n", text)

    def test_ranks_of_a_node_divide_its_cores(self):
        text = self.batch("--dry-run", "--ranks-per-node", "8", "s")
        self.assertIn("#SBATCH --ntasks-per-node=8\n#SBATCH --cpus-per-task=8\n", text)

    def test_job_goes_through_the_queue_until_it_is_done(self):
        self.batch("a b.yaml", "--", "--set", "x=1", "--out", "r", "--seed=3", LEGS="3")
        checkpoint = "results/a b.77.checkpoint"
        common = f"--checkpoint {checkpoint} --checkpoint-every 10 min"
        again = f"run --threads 32 --out r --restart {checkpoint} {common}"
        self.assertEqual(self.log(), [
            f"run a b.yaml --threads 32 --set x=1 --out r --seed=3 {common}", again, again,
            "restarts 2"])

    def test_signal_before_the_time_limit_ends_in_a_requeue(self):
        self.batch("s", WAITS="1", USR1_WHEN_READY="1")
        self.assertEqual(self.log()[-1], "restarts 1")

    def test_job_that_fails_is_not_requeued(self):
        self.batch("s", code=3, CODE="3")
        self.assertEqual(self.log()[1:], ["restarts 0"])

    def test_failed_job_says_where_its_checkpoint_is(self):
        (self.folder / "c").mkdir()
        (self.folder / "c" / "legs").write_text("1\n")
        text = self.batch("--resume", "--checkpoint", "c", "s", code=137, CODE="137")
        self.assertIn("exit code 137; the last checkpoint is in c: scripts/batch --resume", text)

    def test_stop_without_a_new_checkpoint_is_not_requeued(self):
        text = self.batch("s", code=4, CODE="75")
        self.assertIn("stopped without a new file in results/s.77.checkpoint", text)
        self.assertEqual(self.log()[1:], ["restarts 0"])

    def test_job_does_not_begin_where_the_doctor_would_stop_it(self):
        self.batch("s", code=4, DOCTOR="4")
        self.assertEqual(self.log(), ["restarts 0"])

    def test_checkpoint_of_another_job_is_not_taken_unasked(self):
        (self.folder / "c").mkdir()
        (self.folder / "c" / "legs").write_text("1\n")
        text = self.batch("--checkpoint", "c", "s", code=2)
        self.assertIn("c is not empty; expected --resume", text)
        self.batch("--checkpoint", "c", "--resume", "s", LEGS="2")
        self.assertIn("--restart c ", self.log()[1] + " ")

    def test_ranks_of_this_machine_go_on_until_they_are_done(self):
        self.batch("--local", "-n", "2", "--checkpoint", "c", "s", LEGS="3")
        self.assertEqual([line.split(" --checkpoint")[0] for line in self.log()],
                         ["run s", "run --restart c", "run --restart c"])

    def test_signal_to_a_local_job_stops_it_with_a_checkpoint(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                words = ["--local", "-n", "2", "--checkpoint", number.name, "s"]
                process = self.start(*self.program, *words, WAITS="1")
                while not (self.folder / "ready").exists() and process.poll() is None:
                    os.sched_yield()
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 75, out + err)
                self.assertEqual((self.folder / number.name / "legs").read_text(), "1\n")

    def test_bad_input_is_one_line(self):
        for words, names in [(["-n", "2", "s"], "-n is for --local"),
                             (["--resume", "s"], "no --checkpoint"),
                             (["s", "--", "--restart=c"], '"--restart=c" after --'),
                             (["--program", "/none", "s"], '"/none" is not there')]:
            with self.subTest(words=words):
                text = self.batch(*words, code=2)
                self.assertIn(names, text)
                self.assertEqual(text.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
