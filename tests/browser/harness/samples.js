// The runs that most tests look at.
import { llm, span, time, tool } from "./runs.js";

const loopWarning = (id, number, evidence) => ({
  ...span(id, number, "loop_warning", { "tracer.event_type": "LOOP_WARNING" }),
  events: [{ name: "tracer.loop.warning", timestamp: time(number * 1000), attributes: {
    pattern: "TOOL_CALL:search_kb args:{query:str}", pattern_type: "repeated_call", pattern_length: 1, repetitions: 3, window_size: 5,
    evidence_event_ids: JSON.stringify(evidence.map((one) => one.toString(16).padStart(16, "0"))) } }],
});

export const ok = {
  name: "support-agent",
  children: (id) => [
    tool(id, 2, "lookup_customer", { customer_id: "cust_1042" }, { name: "Ada Lovelace", plan: "pro" }, { took: 45_300 }),
    llm(id, 3, "demo-model", "Where is my refund?", "It arrives **within three days**.\n\n- first\n- second\n\n```rust\nlet days = 3;\n```", [212, 19]),
    span(id, 4, "research", {}),
    tool(id, 5, "search_kb", { query: "refund policy" }, { hits: 2, text: "line one\nline two" }, { parent: 4 }),
    tool(id, 6, "search_kb", { query: "refund time" }, { hits: 1 }, { parent: 4, took: 1234 }),
    tool(id, 7, "send_reply", { text: "Dear Ada" }, "queued"),
  ],
};

const stack = "Traceback\n  at refund (src/agent.rs:12)\n  at main (src/main.rs:3)";

export const failed = {
  name: "refund-agent", status: "error", failure: { type: "ValueError", message: "refund API returned 503", stack },
  children: (id) => [
    llm(id, 2, "demo-model", "Refund it", "I will", [10, 2]),
    tool(id, 3, "search_kb", { query: "a" }, "none"),
    { ...tool(id, 4, "refund_api", { order: 7 }, null), status_code: "ERROR", attributes: { "tracer.tool_name": "refund_api",
      "tracer.status": "error", "tracer.error_type": "ValueError", "tracer.error_message": "refund API returned 503", "tracer.error_stack": stack } },
  ],
};

export const looped = {
  name: "loop-agent",
  children: (id) => [
    llm(id, 2, "demo-model", "Find it", "searching", [64, 5]),
    ...[3, 4, 5].map((number) => tool(id, number, "search_kb", { query: "refund policy" }, { hits: 0 })),
    loopWarning(id, 6, [3, 4, 5]),
    ...[7, 8].map((number) => tool(id, number, "search_kb", { query: "refund policy" }, { hits: 0 })),
    tool(id, 9, "escalate_to_human", { ticket: 7 }, "queued"),
  ],
};

export const empty = { name: "empty-agent" };

export const running = { ...ok, name: "other-emitters-agent", status: "running" };

/** A completed run of which two lines cannot be read. */
export const damaged = { ...ok, name: "damaged-agent", lines: (lines) => lines.map((line, index) => (index === 1 || index === 4 ? line.slice(0, 40) : line)) };

/** A run of this many spans, one of which failed. */
export const large = (count, failing) => ({
  name: "large-agent",
  children: (id) => Array.from({ length: count }, (_, index) => {
    const number = index + 2;
    const made = tool(id, number, number % 7 === 0 ? "fetch" : "search", { page: number }, { n: number });
    return index === failing ? { ...made, status_code: "ERROR", attributes: { ...made.attributes, "tracer.status": "error",
      "tracer.error_type": "Timeout", "tracer.error_message": "no answer" } } : made;
  }),
});
