"""Run a recorded program again against the calls that its run kept, with the provider gone: the same answers, the same calls of
models and tools, the same exit, and no connection to where the provider was."""

import json
import socket
import subprocess
import threading

PATIENCE_SECONDS = 600


class Gone:
    """Listens where the provider was, counts who connects, and answers nobody."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", port))
        self.connections = 0
        threading.Thread(target=self.count, daemon=True).start()

    def count(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self):
        # Ends the waiting for connections, which holds the port.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def problems(tracer, recorded, port):
    """What is not as it was recorded, a line for each."""
    [run] = [run["trace_id"] for run in recorded.listed]
    cassette = recorded.data / "runs" / run / "exchanges.jsonl"
    if not cassette.exists():
        yield "the run kept no calls to replay"
        return
    gone = Gone(port)
    environment = {**recorded.environment, "TRACER_DATA_DIR": str(recorded.data.parent / "replayed")}
    ended = subprocess.run([tracer, "replay", str(cassette), "--", *recorded.command], env=environment, cwd=recorded.work,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    gone.close()
    if gone.connections:
        yield f"replayed: {gone.connections} connections to the provider"
    if ended.returncode != recorded.ended.returncode:
        yield f"replayed: exit code {ended.returncode} instead of {recorded.ended.returncode}: {ended.stderr[-1500:]}"
    if ended.stdout != recorded.ended.stdout:
        yield f"replayed: printed {ended.stdout!r} instead of {recorded.ended.stdout!r}"
    count = len(recorded.served)
    if f"replayed: {count} of {count} recorded" not in ended.stderr:
        yield f"replayed: not every recorded call was used: {ended.stderr[-1500:]}"
    exported = subprocess.run([tracer, "export", "--out", "-"], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=True).stdout
    again = json.loads(exported)["events"]
    for event_type in ("LLM_CALL", "TOOL_CALL"):
        # Tools of one answer run at the same time, in any order.
        before, now = (sorted(did(record) for record in records if record["event_type"] == event_type)
                       for records in (recorded.records, again))
        if before != now:
            yield f"replayed: other records of type {event_type}: {now} instead of {before}"


def did(record):
    """What a call did, without its times."""
    payload = record["payload"]
    keys = ("model", "response", "usage", "stop_reason", "tool_name", "args", "result", "status")
    return json.dumps({key: payload.get(key) for key in keys}, sort_keys=True)
