// What the viewer's API answers, as `docs/viewer-api.md` tells it. Only for the type check; never served.

export type RunStatus = "ok" | "failed" | "loop" | "running" | "interrupted" | "damaged";
export type Kind = "run" | "llm" | "tool" | "state" | "error" | "loop" | "span";
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
  /** The run that it was forked from. */
  fork?: { run: string; at: number; changes: string[] };
}

/** What the spans of a run tell, for the table. */
export interface RunPreview { steps: number; tokens: number | null; token_shares?: string; is_whole: boolean; subtitle: string | null; path: Kind[] }

/** A row of the runs table. */
export interface RunRow {
  trace_id: string;
  run_name: string | null;
  run_status: RunStatus;
  started_at: string | null;
  duration_us: number | null;
  counts: Counts | null;
  marks: string | null;
  problem: string | null;
  details: RunPreview | null;
  cost: Cost | null;
  cost_cell: string;
  models: string[];
  model_count: number;
  tools: string[];
  tool_count: number;
  tags: string[];
  thread?: { id: string; number: number; count: number };
  origin?: string;
}
export interface RunTable {
  data_dir: string;
  version: string;
  total: number;
  matching: number;
  from: number;
  statuses: Partial<Record<RunStatus, number>>;
  names: string[];
  threads: number;
  /** Of runs that match: the steps that the query asks for. */
  step_query: string | null;
  reading?: { runs: number; read_runs: number };
  runs: RunRow[];
}

/** A number of the statistics in words, and the query of the runs behind it. */
export interface StatsCell {
  text: string; tone: "plain" | "muted" | "bad" | "warning"; title: string | null; query: string | null; sort: string;
}
export interface StatsRow { stats: { runs: number; calls: number }; label: string | null; cells: { [column: string]: StatsCell }; bars: number[] }
export interface Stats {
  version: string;
  query: string;
  by: string | null;
  is_of_calls: boolean;
  columns: string[];
  all: StatsRow;
  group_count: number;
  from: number;
  groups: StatsRow[];
  days: string[];
}

export interface Problem { code: string; location: string; message: string }
export interface InFlight { span_id: string; name: string; kind: Kind; started_at: string }
export interface Totals {
  steps: number; llm_calls: number; tool_calls: number; failed_calls: number; errors: number;
  loop_warnings: number; in_flight: number;
  tokens: { input: number | null; output: number | null; total: number | null; shares?: string };
  cost: Cost;
}
/** What model calls cost, in dollars: `usd` is null where a call has no known price, `known_usd` is what the others cost. */
export interface Cost {
  usd: number | null; known_usd: number; unpriced_calls: number;
  replayed_calls: number; replayed_usd: number | null; words: string | null;
}
export interface Evidence { event_id: string; row: number | null; number: number; name: string; in_warning: boolean }
export interface LoopReport {
  event_id: string;
  row: number | null;
  number: number;
  title: string;
  pattern: string;
  kind: string | null;
  is_loop: boolean;
  judged: string | null;
  repetitions: number;
  evidence: Evidence[];
  missing: number;
  cost: { steps: number; duration_us: number | null; tokens: number | null };
  facts: { label: string; steps: number[]; text: string }[];
  next: Evidence | null;
}
export interface Overview {
  run_id: string;
  run_name: string | null;
  run_status: RunStatus;
  /** The URL of the bucket that it was read from. */
  origin?: string;
  sentence: string;
  facts: string[];
  tags: string[];
  remarks: string[];
  notices: string[];
  first_cause: string | null;
  started_at: string | null;
  duration_us: number | null;
  totals: Totals;
  in_flight: InFlight[];
  problem_summary: string | null;
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
  cost: string | null;
  failure: string | null;
  in_flight: boolean;
}

/** A value, or of a large one its beginning and its end. */
export interface Shown { value: Json; size: number; head?: string; tail?: string; value_url?: string }
export interface Part {
  type: "text" | "thinking" | "call" | "result" | "media" | "refusal" | "other";
  label?: string;
  text?: string;
  html?: string;
  name?: string;
  value?: Json;
  size: number;
  tail?: string;
  value_url?: string;
}
export interface Message {
  role: string;
  speaker: "system" | "user" | "assistant" | "tool";
  is_new: boolean;
  fold?: { count: number; label: string };
  parts: Part[];
}
export interface Difference { of: string; path: string; before: string | null; after: string | null }
export interface Previous { event_id: string; number: number; differences: Difference[] }
export interface ErrorDetails { type: string; message: string; stack: { text: string; is_user: boolean }[] }
export interface Step {
  row: number;
  number: number;
  event_id: string;
  parent_id: string | null;
  kind: Kind;
  name: string;
  failed: boolean;
  in_flight: boolean;
  outcome: "ok" | "failed" | "cancelled" | "unknown" | "waiting" | "in flight";
  remarks: string[];
  start: string | null;
  end: string | null;
  offset_us: number | null;
  duration_us: number | null;
  line: number | null;
  offset: number | null;
  file: string;
  llm: {
    model: string; provider: string; heading: string; messages: Message[]; previous: string | null; response: Message[];
    tools_offered: { name: string; description: string | null; parameters: Json | null }[];
    usage: { input: number | null; output: number | null; total: number | null; shares?: string | null };
    cost: { usd: number | null; words: string | null };
    temperature: number | null; stop_reason: string | null; response_model?: string | null; first_chunk?: string;
  } | null;
  tool: { arguments: Shown | null; result: Shown | null; previous_same_tool: Previous | null } | null;
  state: { state: Shown | null; difference: Shown | null; previous: Previous | null } | null;
  error: ErrorDetails | null;
  loop: LoopReport | null;
  run: RunMeta | null;
  meta: { [key: string]: Json };
  attributes: Shown | null;
  raw: Shown | null;
  redactions: number;
  truncations: number;
}

/** What a step says in the conversation. */
export interface Turn {
  row: number | null; number: number; event_id: string; kind: Kind; name: string; failed: boolean; in_flight: boolean;
  offset_us: number | null; duration_us: number | null; known_messages: number; note: string | null;
  messages: Message[]; response: Message[]; arguments: Shown | null; result: Shown | null; gist: string | null; error: ErrorDetails | null;
}
export interface StateEntry { row: number | null; number: number; event_id: string; offset_us: number | null; state: NonNullable<Step["state"]> }

export interface Side { kind: "run" | "baseline"; run_id: string; run_name: string | null; status: string; run_status: RunStatus; models: string[]; tool_calls: string[] }
export interface Call { step: number | null; event_id: string | null; event_type: string; name: string; is_failed: boolean }
export interface CallPair {
  change: "same" | "changed" | "added" | "removed" | "moved" | "repeated";
  sign: string;
  remarks: string[];
  before: Call | null;
  after: Call | null;
  differences: { path: string; before: Json; after: Json }[];
}
export interface PolicyCheck {
  name: string;
  outcome: "failed" | "undecided" | "passed" | "reported";
  sign: string;
  word: string;
  allowed: string;
  seen: string;
}
export interface PolicyJudgement {
  verdict: "pass" | "fail" | "inconclusive";
  sign: string;
  word: string;
  tally: string;
  notices: string[];
  checks: PolicyCheck[];
}
/** What the project's policy says of the side after: a judgement, or why there is none. */
export interface PolicyAnswer {
  file: string;
  problem: { message: string; hints: string[] } | null;
  judgement: PolicyJudgement | null;
}
export interface Comparison {
  before: Side;
  after: Side;
  is_same: boolean;
  summary: string;
  metrics: { metric: string; label: string; before: number | null; after: number | null; shown: [string, string]; difference: string }[];
  records: { event_type: string; before: number; after: number }[];
  tools: { added: string[]; removed: string[]; repeated: { tool: string; before: number; after: number }[]; is_reordered: boolean };
  models: { added: string[]; removed: string[] };
  name_changes: string[];
  policy: PolicyAnswer | null;
  calls: CallPair[];
  pair_count: number;
  next: number | null;
}

/** A row that is new or has changed, as the stream tells it. */
export interface ChangedRow {
  parent_row: number; number: number; depth: number; start_us: number; duration_us: number | null; line: number; signature: number; flags: number;
  tokens_in: number | null; tokens_out: number | null; text: RowText;
}
export interface Changes { version: string; row_count: number; from: number; rows: ChangedRow[]; root: ChangedRow | null; reload: boolean }
