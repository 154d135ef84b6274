// Runs written by hand, as any emitter of the format might write them.
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

export const START = Date.UTC(2026, 0, 2, 3, 4, 5);

/** A time in the format's own form, microseconds after the start. */
export function time(microseconds) {
  const millis = Math.floor(microseconds / 1000);
  const rest = String(microseconds % 1000).padStart(3, "0");
  return new Date(START + millis).toISOString().replace("Z", `${rest}Z`);
}

export const traceId = () => randomBytes(16).toString("hex");
const spanId = (number) => number.toString(16).padStart(16, "0");

/** A span of 100 µs, started a millisecond after the one before it. */
export function span(trace, number, name, attributes, { events = [], parent = 1, status = "OK", took = 100 } = {}) {
  const start = number * 1000;
  return {
    trace_id: trace, span_id: spanId(number), parent_span_id: parent === null ? null : spanId(parent), name,
    kind: "INTERNAL", start_time: time(start), end_time: time(start + took), duration_ms: Math.floor(took / 1000),
    attributes, events, status_code: status, status_description: "",
  };
}

export function tool(trace, number, name, args, result, more = {}) {
  const event = (key, value) => ({ name: `tracer.tool.${key}`, timestamp: time(number * 1000), attributes: { [key]: JSON.stringify(value) } });
  return span(trace, number, name, { "tracer.tool_name": name, "tracer.status": "ok" },
    { events: [event("args", args), event("result", result)], ...more });
}

export function llm(trace, number, model, prompt, response, usage = [12, 7], more = {}) {
  const event = (role, content) => ({ name: `gen_ai.${role}.message`, timestamp: time(number * 1000), attributes: { content } });
  return span(trace, number, model, {
    "gen_ai.system": "test", "gen_ai.operation.name": "chat", "gen_ai.request.model": model,
    "gen_ai.usage.input_tokens": usage[0], "gen_ai.usage.output_tokens": usage[1],
    "gen_ai.usage.total_tokens": usage[0] + usage[1], "tracer.status": "ok",
  }, { events: [event("user", prompt), event("assistant", response)], ...more });
}

/**
 * Writes a run. `children` makes its spans, numbered from 2; `failure` is the exception on the root; `lines` changes the
 * log's lines before they are written.
 */
export async function writeRun(dataDir, { id = traceId(), name = "agent", status = "ok", children = () => [], failure, lines = (all) => all, meta = {} } = {}) {
  const spans = children(id);
  const end = 1000 * (spans.length + 3);
  const events = failure ? [{ name: "exception", timestamp: time(end), attributes: {
    "tracer.error_type": failure.type, "tracer.error_message": failure.message, "tracer.error_stack": failure.stack ?? "" } }] : [];
  const root = { ...span(id, 1, name, { "tracer.run_name": name, "tracer.python_version": "rustc 1.95.0", "tracer.platform": "linux",
    "tracer.cwd": "/home/ada/agent", "tracer.argv": "[\"agent\",\"--verbose\"]" }, { parent: null, events, took: end - 1000 }),
    status_code: status === "error" ? "ERROR" : "OK" };
  const all = status === "running" ? spans : [...spans, root];
  const count = (key) => spans.filter((one) => key in one.attributes).length;
  const folder = path.join(dataDir, "runs", id);
  await mkdir(folder, { recursive: true });
  const text = lines(all.map((one) => JSON.stringify(one))).map((line) => `${line}\n`).join("");
  await writeFile(path.join(folder, "spans.jsonl"), text);
  await writeFile(path.join(folder, "meta.json"), JSON.stringify({
    spec_version: "0.2.0", trace_id: id, run_name: name, started_at: time(1000),
    ended_at: status === "running" ? null : time(end), duration_ms: status === "running" ? null : Math.floor((end - 1000) / 1000), status,
    counts: { llm_calls: count("gen_ai.request.model"), tool_calls: count("tracer.tool_name"), errors: failure ? 1 : 0,
      loop_warnings: spans.filter((one) => one.attributes["tracer.event_type"] === "LOOP_WARNING").length },
    ...meta,
  }));
  return id;
}
