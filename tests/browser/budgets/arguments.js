// The command line of the measuring.
import { parseArgs } from "node:util";

/** What is asked for; `benches -- view` gives all of it. */
export function given() {
  const { values } = parseArgs({ options: {
    folder: { type: "string" }, tracer: { type: "string" }, python: { type: "string" },
    spans: { type: "string", multiple: true }, rounds: { type: "string", default: "3" }, markdown: { type: "boolean", default: false },
  } });
  if (!values.folder || !values.tracer || !values.spans) {
    throw new Error("run it as `cargo run --release --manifest-path benches/Cargo.toml -- view`");
  }
  return { ...values, spans: values.spans.map(Number), rounds: Number(values.rounds) };
}
