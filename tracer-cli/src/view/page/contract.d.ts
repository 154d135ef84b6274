// What the viewer's API answers, as `docs/viewer-api.md` tells it. Only for the type check; never served.

export type Standing = "ok" | "failed" | "loop" | "running" | "interrupted" | "damaged";
export type Kind = "run" | "llm" | "tool" | "state" | "error" | "loop" | "other";
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Counts { llm_calls: number; tool_calls: number; errors: number; loop_warnings: number }

export interface RunMeta {
  trace_id: string;
  run_name: string | null;
  started_at: string;
  ended_at: string | null;
  duration_ms: number | null;
  status: "running" | "ok" | "error";
  counts: Counts;
}

/** What the spans of a run tell, for the table. */
export interface Details { steps: number; tokens: number | null; is_whole: boolean; subtitle: string | null; path: Kind[] }

/** A row of the runs table. */
export interface RunRow {
  trace_id: string;
  run_name: string | null;
  standing: Standing;
  started_at: string | null;
  duration_us: number | null;
  counts: Counts | null;
  problem: string | null;
  details: Details | null;
}
export interface RunTable { data_dir: string; runs: RunRow[] }

export interface Problem { code: string; location: string; message: string }
export interface InFlight { span_id: string; name: string; kind: Kind; started_at: string }
export interface Totals {
  steps: number; llm_calls: number; tool_calls: number; failed_calls: number; errors: number;
  loop_warnings: number; in_flight: number;
  tokens: { input: number | null; output: number | null; total: number | null };
}
export interface Evidence { event_id: string; row: number | null; number: number; name: string; is_evidence: boolean }
export interface LoopReport {
  event_id: string;
  row: number | null;
  number: number;
  title: string;
  pattern: string;
  kind: string | null;
  repetitions: number;
  evidence: Evidence[];
  missing: number;
  cost: { steps: number; duration_us: number | null; tokens: number | null };
  differences: { label: string; text: string }[];
  next: Evidence | null;
}
export interface Overview {
  run_id: string;
  run_name: string | null;
  standing: Standing;
  sentence: string;
  first_cause: string | null;
  started_at: string | null;
  duration_us: number | null;
  totals: Totals;
  in_flight: InFlight[];
  problems: Problem[];
  more_problems: number;
  cut_tail: number | null;
  loops: LoopReport[];
  run: RunMeta | null;
  environment: { argv: string[]; cwd: string | null; platform: string | null; language_version: string | null } | null;
  log_bytes: number;
  row_count: number;
  version: string;
}

export interface RowText {
  row: number;
  event_id: string;
  kind: Kind;
  name: string;
  gist: { input: string; output: string | null };
  failure: string | null;
  in_flight: boolean;
}
