#!/usr/bin/env python3
"""A wheel of the Python package with the program in it, in a fresh environment; in it, the
notebooks of docs/guide, where Jupyter, pandas and matplotlib are installed.

  wheel_test.py EXAWARP SOURCES
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

EXAWARP, SOURCES = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()

CODE = """
import exawarp, pathlib, sys
assert pathlib.Path(exawarp.__file__).is_relative_to(sys.prefix), exawarp.__file__
few = {"workload.transformer.model.layers": 4}
print(exawarp.program(), exawarp.run("llama2_7b_8", few, progress=False).digest)
"""


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def run_in(self, folder, *command, **environment):
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith(("EXAWARP", "PYTHON"))}
        done = subprocess.run(command, cwd=folder, text=True, capture_output=True,
                              env={**clean, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def install(self, program, *venv_options):
        wheel = self.run_in(self.path, SOURCES / "scripts" / "wheel", program, self.path / "wheels")
        self.run_in(self.path, "/usr/bin/python3", "-m", "venv", *venv_options, "venv")
        python = self.path / "venv" / "bin" / "python"
        self.run_in(self.path, python, "-m", "pip", "install", "--quiet", "--no-index", wheel)
        return pathlib.Path(wheel).name, python

    def test_brings_program_and_configurations(self):
        name, python = self.install(EXAWARP)
        self.assertRegex(name, r"exawarp-.*-py3-none-linux_x86_64\.whl")
        program, digest = self.run_in(self.path, python, "-c", CODE).split()
        self.assertTrue(pathlib.Path(program).is_relative_to(self.path), program)
        self.assertTrue((pathlib.Path(program).parent.parent / "py.typed").is_file())
        self.assertRegex(digest, r"[0-9a-f]{16}")

    def test_without_one_uses_that_on_the_path(self):
        name, python = self.install("-")
        self.assertRegex(name, r"exawarp-.*-py3-none-any\.whl")
        tools = self.path / "bin"
        tools.mkdir()
        (tools / "exawarp").symlink_to(EXAWARP)
        program, _ = self.run_in(self.path, python, "-c", CODE,
                                 PATH=f"{tools}:{os.environ['PATH']}").split()
        self.assertEqual(program, str(tools / "exawarp"))

    def test_notebooks(self):
        for package in ("nbconvert", "ipykernel", "pandas", "matplotlib"):
            have = subprocess.run(["/usr/bin/python3", "-c", f"import {package}"],
                                  capture_output=True)
            if have.returncode != 0:
                self.skipTest(f"{package} is not installed; scripts/install does it")
        _, python = self.install(EXAWARP, "--system-site-packages")
        # The kernel is this environment's Python, too.
        self.run_in(self.path, python, "-m", "ipykernel", "install", "--sys-prefix")
        for name, pictures in (("first_run", 2), ("layouts", 2)):
            with self.subTest(name):
                self.run_in(self.path, python, "-m", "nbconvert", "--to", "notebook", "--execute",
                            "--output-dir", self.path, SOURCES / "docs" / "guide" / f"{name}.ipynb",
                            HOME=str(self.path), MPLBACKEND="module://matplotlib_inline.backend_inline")
                cells = json.loads((self.path / f"{name}.ipynb").read_text())["cells"]
                outputs = [output for cell in cells for output in cell.get("outputs", [])]
                kinds = [kind for output in outputs for kind in output.get("data", {})]
                self.assertEqual(kinds.count("image/png"), pictures)
                self.assertIn("text/html", kinds)


if __name__ == "__main__":
    unittest.main()
