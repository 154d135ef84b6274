"""A team's runs in a second implementation of S3: Garage (crates.io, AGPL; a process of its own that we only talk to), one node on the loopback device.

    cargo install garage --version 2.3.0 --locked --no-default-features --features bundled-libs,sqlite --debug
    python3 tests/interop/garage.py --tracer target/debug/tracer --garage ~/.cargo/bin/garage

Two shippers push, one is killed again and again; objects are read through Garage's web server, not through our client. A machine that recorded nothing lists and
reads the runs; nothing of today is joined.
"""

import argparse
import hashlib
import json
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from bucket import Shippers, free_ports, read_from_elsewhere, record

CONFIGURATION = """
metadata_dir = "{folder}/meta"
data_dir = "{folder}/data"
db_engine = "sqlite"
replication_factor = 1
rpc_bind_addr = "127.0.0.1:{rpc}"
rpc_public_addr = "127.0.0.1:{rpc}"
rpc_secret = "{secret}"
[s3_api]
s3_region = "us-east-1"
api_bind_addr = "127.0.0.1:{s3}"
root_domain = ".s3.localhost"
[s3_web]
bind_addr = "127.0.0.1:{web}"
root_domain = ".web.localhost"
index = "index.html"
"""


class Garage:
    """A node."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.rpc, self.s3, self.web = free_ports(3)
        self.configuration = folder / "garage.toml"
        self.configuration.write_text(CONFIGURATION.format(folder=folder, rpc=self.rpc, s3=self.s3, web=self.web, secret=secrets.token_hex(32)))

    def command(self, *arguments):
        done = subprocess.run([self.program, "-c", self.configuration, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def __enter__(self):
        log = open(self.folder / "garage.log", "wb")
        self.server = subprocess.Popen([self.program, "-c", self.configuration, "server"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(300):
            done = subprocess.run([self.program, "-c", self.configuration, "node", "id", "-q"], capture_output=True, text=True)
            status = subprocess.run([self.program, "-c", self.configuration, "status"], capture_output=True)
            if done.returncode == 0 and status.returncode == 0:
                break
            time.sleep(0.2)
        node = done.stdout.split("@")[0].strip()
        self.command("layout", "assign", "-z", "here", "-c", "1G", node)
        self.command("layout", "apply", "--version", "1")
        self.command("bucket", "create", "team")
        key = dict(line.split(":", 1) for line in self.command("key", "create", "tracer").splitlines() if ":" in line)
        key = {name.strip().lower(): value.strip() for name, value in key.items()}
        self.credentials = {"AWS_ACCESS_KEY_ID": key["key id"], "AWS_SECRET_ACCESS_KEY": key["secret key"]}
        self.command("bucket", "allow", "--read", "--write", "--owner", "team", "--key", "tracer")
        self.command("bucket", "website", "--allow", "team")
        return self

    def __exit__(self, kind, *_):
        self.server.kill()
        self.server.wait()
        if kind is not None:
            print((self.folder / "garage.log").read_text(errors="replace")[-3000:], file=sys.stderr)

    def get(self, name):
        """An object, by the web server; nothing when it is not there."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.web}/{name}", headers={"Host": "team.web.localhost"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise


def whole(garage, run):
    """The hash of a run's log; nothing when the run is not committed."""
    meta = garage.get(f"agents/runs/{run}/meta.json")
    if meta is None:
        return None
    stored = json.loads(meta)["stored"]
    log = garage.get(f"agents/runs/{run}/{stored['spans']}")
    assert log is not None and hashlib.sha256(log).hexdigest() == stored["sha256"], f"run {run} is not whole"
    return stored["sha256"]


def check(arguments, garage, folder):
    shippers = Shippers(arguments.tracer, garage, folder)
    shippers.environment |= garage.credentials
    machines = [folder / "first", folder / "second"]
    runs = {}
    for number in range(arguments.runs):
        machine = machines[number % 2]
        run = record(machine, number + 1)
        runs[run] = hashlib.sha256((machine / "runs" / run / "spans.jsonl").read_bytes()).hexdigest()
    other = shippers.start(machines[1], "--all")
    for _ in range(arguments.kills):
        killed = shippers.start(machines[0], "--all")
        time.sleep(random.uniform(0.02, 0.6))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        for run in runs:
            whole(garage, run)
    shippers.push(machines[0], "--all")
    output, errors = other.communicate(timeout=300)
    assert other.returncode == 0, output + errors
    for run, expected in runs.items():
        meta = garage.get(f"agents/runs/{run}/meta.json")
        assert json.loads(meta)["stored"]["sha256"] == expected, run
    assert "nothing to send" in shippers.push(machines[0], "--all")
    print(f"{len(runs)} runs of 2 shippers, {arguments.kills} kills: each once and whole")
    read_from_elsewhere(shippers, machines, folder / "reader")
    joined = shippers.start_join()
    output, errors = joined.communicate(timeout=180)
    assert joined.returncode == 0 and "nothing to join" in errors, output + errors
    print("nothing is joined: today is left as it is")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracer", required=True)
    parser.add_argument("--garage", required=True)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--kills", type=int, default=6)
    arguments = parser.parse_args()
    random.seed(18)
    folder = Path(tempfile.mkdtemp(prefix="tracer-garage-"))
    try:
        (folder / "store").mkdir()
        with Garage(arguments.garage, folder / "store") as garage:
            check(arguments, garage, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
