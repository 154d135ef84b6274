"""Runs of several agents over several days, with everything that the ten questions of docs/read-runs.md ask about: failures, calls that are
tried again, loops, caches, costs, commits, runs without an answer. The same seed gives the same runs.
"""

import json
import random
from datetime import datetime, timedelta

TOOLS = {"search_kb": 200, "lookup_customer": 45, "send_reply": 30, "refund_api": 900, "read_page": 2400}
MODELS = ["gpt-5-mini", "claude-sonnet-4-5", "qwen3-local"]
QUERIES = ["refund policy pro plan", "parcel to Norway", "change of address", "Refund of ORD-1042"]


class Run:
    """A run that is written span after span."""

    def __init__(self, number, random_source):
        self.random = random_source
        self.id = f"{self.random.getrandbits(64):016x}{number:016x}"
        self.name = self.random.choice(["support-agent", "billing-agent", "research-agent"])
        self.start = datetime(2026, 1, 5, 8) + timedelta(seconds=self.random.randrange(5 * 86_400))
        self.now, self.spans, self.loops, self.error = self.start, [], 0, None
        # A commit is a state of the program at a time.
        self.attributes = {"tracer.run_name": self.name, "tracer.tag.commit": ["3f9c2ab", "8d41e07", "c51d9f0"][(self.start.day - 5) // 2]}

    @staticmethod
    def moment(when):
        return when.isoformat(timespec="microseconds") + "Z"

    def event(self, name, **attributes):
        return {"name": name, "timestamp": self.moment(self.now), "attributes": attributes}

    def span(self, name, took_ms, attributes, events=(), failed=False):
        end = self.now + timedelta(milliseconds=took_ms)
        self.spans.append({"trace_id": self.id, "span_id": f"{len(self.spans) + 1:016x}", "parent_span_id": f"{255:016x}", "name": name,
                           "kind": "INTERNAL", "start_time": self.moment(self.now), "end_time": self.moment(end), "duration_ms": took_ms,
                           "attributes": attributes, "events": list(events), "status_code": "ERROR" if failed else "OK",
                           "status_description": ""})
        self.now = end + timedelta(milliseconds=2)

    def tool(self, name, arguments, error=None):
        took = max(1, int(self.random.lognormvariate(0, 0.5) * TOOLS[name]))
        events = [self.event("tracer.tool.args", args=json.dumps(arguments))]
        attributes = {"tracer.tool_name": name, "tracer.status": "error" if error else "ok"}
        if error:
            attributes |= {"tracer.error_type": error, "tracer.error_message": f"{name} failed"}
        else:
            events.append(self.event("tracer.tool.result", result=json.dumps({"hits": self.random.randrange(3)})))
        self.span(name, took, attributes, events, failed=bool(error))

    def model(self, answer="It arrives within three days."):
        model = self.random.choice(MODELS)
        tokens = self.random.randrange(500, 20_000)
        attributes = {"gen_ai.system": {"g": "openai", "c": "anthropic"}.get(model[0], "local"), "gen_ai.operation.name": "chat",
                      "gen_ai.request.model": model, "tracer.status": "ok", "gen_ai.usage.input_tokens": tokens,
                      "gen_ai.usage.output_tokens": self.random.randrange(1, 2_000)}
        if model != "qwen3-local" and self.random.random() < 0.6:
            attributes["gen_ai.usage.cache_read.input_tokens"] = self.random.randrange(tokens)
        events = [self.event("gen_ai.user.message", content=self.random.choice(QUERIES))]
        if answer:
            events.append(self.event("gen_ai.assistant.message", content=answer))
        self.span(model, self.random.randrange(200, 8_000), attributes, events)

    def record(self):
        """What the agent does."""
        self.model("I look for it.")
        for _ in range(self.random.randrange(1, 4)):
            self.tool(self.random.choice(list(TOOLS)), {"query": self.random.choice(QUERIES), "order": self.random.randrange(2_000)})
        fate = self.random.random()
        if fate < 0.15:
            # A call that fails and is tried again with the same arguments.
            refund = {"order": self.random.randrange(2_000), "cents": 4_900}
            for _ in range(self.random.randrange(1, 3)):
                self.tool("refund_api", refund, self.random.choice(["TimeoutError", "RateLimited"]))
            if fate < 0.1:
                self.tool("refund_api", refund)
            else:
                self.error = "AgentError"
        elif fate < 0.25:
            self.repetitions = self.random.randrange(3, 9)
            for _ in range(self.repetitions):
                self.tool("search_kb", {"query": "refund policy pro plan"})
            self.loops += 1
            last = [span["span_id"] for span in self.spans[-3:]]
            self.span("loop_warning", 0, {"tracer.event_type": "LOOP_WARNING"}, [self.event(
                "tracer.loop.warning", pattern="TOOL_CALL:search_kb", pattern_type="repeated_call", pattern_length=1,
                repetitions=self.repetitions, window_size=12, evidence_event_ids=json.dumps(last))])
        self.model("" if self.random.random() < 0.1 else "It arrives within three days.")

    def write(self, data_dir):
        folder = data_dir / "runs" / self.id
        folder.mkdir(parents=True)
        milliseconds = int((self.now - self.start).total_seconds() * 1000)
        events = [self.event("exception", **{"tracer.error_type": self.error, "tracer.error_message": "gave up"})] if self.error else []
        times = {"start_time": self.moment(self.start), "end_time": self.moment(self.now), "duration_ms": milliseconds}
        root = {"trace_id": self.id, "span_id": f"{255:016x}", "parent_span_id": None, "name": self.name, "kind": "INTERNAL", **times,
                "attributes": self.attributes, "events": events, "status_code": "ERROR" if self.error else "OK", "status_description": ""}
        (folder / "spans.jsonl").write_text("".join(json.dumps(span) + "\n" for span in [*self.spans, root]))
        counted = [sum(key in span["attributes"] for span in self.spans) for key in ("gen_ai.request.model", "tracer.tool_name")]
        (folder / "meta.json").write_text(json.dumps({
            "spec_version": "0.2.0", "trace_id": self.id, "run_name": self.name, "started_at": times["start_time"],
            "ended_at": times["end_time"], "duration_ms": milliseconds, "status": "error" if self.error else "ok",
            "counts": {"llm_calls": counted[0], "tool_calls": counted[1], "errors": len(events), "loop_warnings": self.loops}}))


def write_runs(data_dir, count, seed=18):
    """Writes this number of runs into a data directory."""
    source = random.Random(seed)
    for number in range(count):
        run = Run(number, source)
        run.record()
        run.write(data_dir)
