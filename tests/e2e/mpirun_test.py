#!/usr/bin/env python3
"""scripts/mpirun: a rank that dies ends all, and signals reach the ranks, which have time to stop.

usage: mpirun_test.py BINARY
"""
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MPIRUN = str(ROOT / "scripts" / "mpirun")
BINARY = sys.argv.pop(1)
ENDLESS = [BINARY, "phold", "--lps", "1024", "--start-events", "4", "--remote", "0.5",
           "--end", "1000000000", "--threads", "1"]
PATIENCE_S = 60  # to start; what is promised has bounds of its own
RANKS = 3

# Stops with exit code 75 when told to by SIGUSR1, but takes longer than mpirun gives to SIGTERM.
STOPS = """
trap 'echo stopping; sleep 1.2; exit 75' USR1
touch "$1/$OMPI_COMM_WORLD_RANK"
for ((i = 0; i < 600; ++i)); do sleep 0.1; done
"""


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)


def ranks_of(mark):
    """Rank to process, of those that have `mark` in their environment."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = dict(word.split(b"=", 1) for word in
                         (folder / "environ").read_bytes().split(b"\0") if b"=" in word)
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if words.get(b"MARK") == mark.encode() and state != "Z":
            found[words.get(b"OMPI_COMM_WORLD_RANK")] = int(folder.name)
    return {int(rank): pid for rank, pid in found.items() if rank is not None}


def processor_s(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Mpirun(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.mark = self.folder.name

    def start(self, *words, **environment):
        process = subprocess.Popen(
            [MPIRUN, "-n", str(RANKS), *words], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**os.environ, "MARK": self.mark, **environment})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def start_stopping(self):
        process = self.start("bash", "-c", STOPS, "bash", str(self.folder))
        wait_for("the ranks", self.all_started)
        return process

    def all_started(self):
        return len(list(self.folder.iterdir())) == RANKS

    def kill_rank(self, victim, after_s, exchange, is_named=True):
        """Of a run of the program, once the rank has used that much processor time."""
        process = self.start(*ENDLESS, EXAWARP_EXCHANGE=exchange)
        wait_for("the victim", lambda: victim in ranks_of(self.mark))
        pid = ranks_of(self.mark)[victim]
        wait_for("processor time", lambda: processor_s(pid) >= after_s)
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        out, _ = process.communicate(timeout=PATIENCE_S)
        self.assertLess(time.monotonic() - began, 10)
        self.assertNotEqual(process.returncode, 0)
        if is_named:
            self.assertRegex(out, rf"rank {victim} .*on node {os.uname().nodename} .*signal 9")
        self.assertEqual(ranks_of(self.mark), {})

    def test_rank_that_is_killed_ends_all_and_is_named(self):
        for victim, exchange in [(0, "messages"), (2, "messages"), (1, "boards")]:
            with self.subTest(victim=victim, exchange=exchange):
                self.kill_rank(victim, 0.5, exchange)

    def test_rank_that_is_killed_at_its_start_ends_all(self):
        # Open MPI does not always know yet whom it lost.
        self.kill_rank(1, 0, "boards", is_named=False)

    def test_launcher_that_hangs_when_all_ranks_have_ended_is_ended(self):
        # Its child lives long enough to be seen on a machine that is busy as well.
        launcher = self.folder / "mpirun"
        launcher.write_text("#!/usr/bin/env python3\nimport subprocess, time\n"
                            "subprocess.run(['sleep', '5'])\ntime.sleep(60)\n")
        launcher.chmod(0o755)
        process = self.start("true", PATH=f"{self.folder}:{os.environ['PATH']}")
        out, _ = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn("it hung after its ranks had ended", out)

    def test_signals_stop_the_ranks_and_their_exit_code_comes_back(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(signal=number.name):
                process = self.start_stopping()
                process.send_signal(number)
                out, _ = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 75, out)
                self.assertEqual(out.count("stopping"), RANKS)
                for path in self.folder.iterdir():
                    path.unlink()

    def test_ranks_that_cannot_stop_yet_end_by_the_signal_that_came(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(signal=number.name):
                process = self.start("bash", "-c", STOPS.split("\n", 2)[2], "bash",
                                     str(self.folder))
                wait_for("the ranks", self.all_started)
                process.send_signal(number)
                out, _ = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 128 + number, out)
                for path in self.folder.iterdir():
                    path.unlink()

    def test_second_signal_ends_all_at_once(self):
        process = self.start(*["bash", "-c", STOPS.replace("sleep 1.2", "sleep 600"), "bash",
                               str(self.folder)])
        wait_for("the ranks", self.all_started)
        process.send_signal(signal.SIGTERM)
        while process.stdout.readline() not in ("stopping\n", ""):
            pass
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        self.assertNotIn(process.returncode, (0, 75))
        self.assertEqual(ranks_of(self.mark), {})

    def test_killed_script_leaves_no_ranks(self):
        process = self.start_stopping()
        process.kill()
        wait_for("the end of the ranks", lambda: not ranks_of(self.mark))

    def test_terminal_interrupts_as_one_signal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["MARK"] = self.mark
            os.execv(MPIRUN, [MPIRUN, "-n", str(RANKS), "bash", "-c", STOPS, "bash",
                              str(self.folder)])
        wait_for("the ranks", self.all_started)
        os.write(terminal, b"\x03")
        out = b""
        try:
            while part := os.read(terminal, 4096):
                out += part
        except OSError:  # the other side is closed
            pass
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 75, out)
        self.assertEqual(out.count(b"stopping"), RANKS)


class Flows(unittest.TestCase):
    def test_ranks_write_the_table_of_one(self):
        study = ROOT / "configs" / "traffic" / "permutation_1k.yaml"
        command = [BINARY, "traffic", str(study), "--set", "devices=64", "--threads", "1"]
        with tempfile.TemporaryDirectory() as folder:
            one, more = pathlib.Path(folder) / "1.csv", pathlib.Path(folder) / "3.csv"
            subprocess.run([*command, "--sync", "sequential", "--flows", one], check=True,
                           stdout=subprocess.DEVNULL)
            subprocess.run([MPIRUN, "-n", str(RANKS), *command, "--flows", more], check=True,
                           stdout=subprocess.DEVNULL)
            self.assertEqual(one.read_text(), more.read_text())
            self.assertEqual(len(one.read_text().splitlines()), 1 + 64)


if __name__ == "__main__":
    unittest.main()
