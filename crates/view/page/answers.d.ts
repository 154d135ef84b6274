// The API's answers, made of its types by `UPDATE_SCHEMAS=1 cargo test -p tracer-view --lib page_types`.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type BilledBlock = {
  cells: Array<string>;
  first_event: string;
  first_step: number;
  is_least: boolean;
  kind: BlockKind;
  name: string;
  sentence: string;
  times: number;
  tokens: InputTokens;
  usd: number | null;
};

export type BlockKind = "system_prompt" | "tool_definition" | "tool_result" | "message" | "media" | "not_recorded";

export type Call = {
  event_id: SpanId | null;
  event_type: EventType;
  fingerprint: string | null;
  is_failed: boolean;
  name: string;
  step: number | null;
};

export type CallChange = "same" | "changed" | "added" | "removed" | "moved" | "repeated";

export type CheckOutcome = "failed" | "undecided" | "passed" | "reported";

export type ComparedCall = {
  event_id: string;
  number: number;
};

export type ContextBill = {
  blocks: Array<BilledBlock>;
  calls: number;
  columns: Array<string>;
  cost: CostReport;
  more_blocks: number;
  notes: Array<string>;
  run_id: string;
  spec_version: "0.2.0";
  summary: string;
  tokens: InputTokens;
};

export type CostReport = {
  known_usd: number;
  replayed_calls: number;
  replayed_usd: number | null;
  unpriced_calls: number;
  usd: number | null;
  words: string | null;
};

export type Counts = {
  errors: number;
  llm_calls: number;
  loop_warnings: number;
  tool_calls: number;
};

export type DiffAnswer = {
  after: Side;
  before: Side;
  calls: Array<PairJson>;
  is_same: boolean;
  metrics: Array<MetricJson>;
  name_changes: Array<string>;
  next: number | null;
  pair_count: number;
  policy: PolicyAnswer | null;
  summary: string;
};

export type DifferenceAnswer = {
  after: string | null;
  before: string | null;
  of: string;
  path: string;
};

export type Dropped = {
  reason: string;
  spans: number;
};

export type EnvironmentJson = {
  argv: Array<string>;
  cwd: string | null;
  language_version: string | null;
  platform: string | null;
};

export type ErrorDetails = {
  message: string;
  stack: Array<StackLine>;
  type: string;
};

export type EventType = "RUN_START" | "RUN_END" | "LLM_CALL" | "TOOL_CALL" | "STATE_UPDATE" | "ERROR" | "LOOP_WARNING" | "UNKNOWN";

export type EvidenceJson = {
  event_id: string;
  name: string;
  number: number;
};

export type FieldJson = {
  after: Json;
  before: Json;
  path: string;
};

export type Fork = {
  at: number;
  changes: Array<string>;
  run: TraceId;
};

export type Gate = {
  id: string;
  trial: number;
};

export type GroupStats = {
  cached_share: number | null;
  cached_tokens: number | null;
  calls: number;
  cost_usd: number | null;
  days: { [key: string]: number };
  ended_runs: number;
  errors: number | null;
  failed_calls: number;
  failed_runs: number;
  failure_rate: number | null;
  group: string | null;
  input_tokens: number | null;
  known_cost_usd: number;
  loops: number;
  output_tokens: number | null;
  p50_us: number | null;
  p95_us: number | null;
  runs: number;
  total_tokens: number | null;
  unpriced_calls: number;
};

export type InFlight = {
  kind: StepKind;
  name: string;
  span_id: string;
  started_at: string;
};

export type InputTokens = {
  all: number;
  cached: number;
  written: number;
};

export type Lineage = {
  asked_by: ValuePlace | null;
  candidates: Array<ValuePlace>;
  limits: Array<string>;
  more: number;
  run_id: string;
  sentence: string;
  sources: Array<ValuePlace>;
  spec_version: "0.2.0";
  used_by: ValuePlace | null;
  value: string;
  verdict: LineageVerdict;
};

export type LineageVerdict = "found" | "made_up" | "not_found" | "common" | "absent";

export type LlmCallJson = {
  compared: ComparedCall | null;
  heading: string;
  messages: Array<MessageAnswer>;
  removed: Array<MessageAnswer>;
  response: Array<MessageAnswer>;
  tools_offered: Array<OfferedTool>;
};

export type LoopFact = {
  label: string;
  steps: Array<number>;
  text: string;
};

export type LoopReport = {
  event_id: string;
  evidence: Array<EvidenceJson>;
  facts: Array<LoopFact>;
  next: EvidenceJson | null;
  number: number;
  sentence: string;
};

export type MediaJson = {
  type: string;
  url: string;
};

export type MessageAnswer = {
  fold?: MessageFold;
  is_new: boolean;
  parts: Array<PartAnswer>;
  role: string;
  speaker: string;
};

export type MessageFold = {
  count: number;
  label: string;
};

export type MetricJson = {
  after: number | null;
  before: number | null;
  difference: string;
  label: string;
  metric: string;
  shown: Array<string>;
};

export type OfferedTool = {
  description: string | null;
  name: string;
  parameters: Json;
};

export type Overview = {
  duration_us: number | null;
  environment: EnvironmentJson | null;
  facts: Array<string>;
  first_cause: string | null;
  heaviest: StepLink | null;
  in_flight: Array<InFlight>;
  log_bytes: number;
  loops: Array<LoopReport>;
  more_problems: number;
  notices: Array<string>;
  origin?: string;
  problem_summary: string | null;
  problems: Array<Problem>;
  run: RunMeta | null;
  run_id: TraceId;
  run_name: string | null;
  run_status: string;
  sentence: string;
  started_at: string | null;
  tags: Array<string>;
  totals: TotalsAnswer;
  version: string;
};

export type PairJson = {
  after: Call | null;
  before: Call | null;
  change: CallChange;
  differences: Array<FieldJson>;
  remarks: Array<string>;
  sign: string;
};

export type PartAnswer = {
  head?: string;
  html?: string;
  label?: string;
  media?: MediaJson;
  name?: string;
  size: number;
  tail?: string;
  type: string;
  value: Json;
  value_url?: string;
};

export type PlaceKind = "run_input" | "system_prompt" | "user_message" | "earlier_answer" | "tool_definition" | "tool_result" | "state" | "answer" | "arguments";

export type PolicyAnswer = {
  file: string;
  judgement: PolicyJudgement | null;
  problem: PolicyProblem | null;
};

export type PolicyCheck = {
  allowed: string;
  name: string;
  outcome: CheckOutcome;
  seen: string;
  sign: string;
  word: string;
};

export type PolicyJudgement = {
  checks: Array<PolicyCheck>;
  notices: Array<string>;
  sign: string;
  tally: string;
  verdict: Verdict;
  word: string;
};

export type PolicyProblem = {
  hints: Array<string>;
  message: string;
};

export type Previous = {
  differences: Array<DifferenceAnswer>;
  event_id: string;
  number: number;
};

export type Problem = {
  code: ProblemCode;
  location: string;
  message: string;
};

export type ProblemCode = "path_not_found" | "unsupported_path" | "missing_file" | "unreadable_file" | "malformed_json" | "missing_field" | "invalid_type" | "invalid_value" | "invalid_id" | "invalid_datetime" | "unsupported_version" | "empty_spans" | "trace_id_mismatch" | "duplicate_span_id" | "missing_root" | "multiple_roots" | "missing_parent" | "parent_cycle" | "legacy_format" | "counts_mismatch" | "status_mismatch" | "start_mismatch" | "missing_end" | "ends_before_start" | "duration_mismatch";

export type ReadingJson = {
  read_runs: number;
  runs: number;
};

export type RecordedStatus = "running" | "ok" | "error";

export type RowText = {
  cost: string | null;
  event_id: string;
  failure: string | null;
  gist: StepSummary;
  in_flight: boolean;
  kind: StepKind;
  name: string;
  row: number;
  tokens: string | null;
};

export type Rows = {
  row_count: number;
  rows: Array<RowText>;
  version: string;
};

export type RunMeta = {
  counts: Counts;
  counts_exact?: boolean;
  dropped?: Dropped;
  duration_ms: number | null;
  ended_at: Time | null;
  fork?: Fork;
  gate?: Gate;
  late_spans?: number;
  left_out?: number;
  run_name: string | null;
  spec_version?: string;
  started_at: Time;
  status: RecordedStatus;
  trace_id: TraceId;
  transcript?: TranscriptOrigin;
  unattached?: number;
  unfinished_spans?: number;
};

export type RunPreview = {
  is_whole: boolean;
  path: Array<StepKind>;
  steps: number;
  subtitle: string | null;
};

export type RunTable = {
  data_dir: string;
  from: number;
  matching: number;
  names: Array<string>;
  reading?: ReadingJson;
  runs: Array<TableRow>;
  statuses: { [key: string]: number };
  step_query: string | null;
  threads: number;
  total: number;
  version: string;
};

export type ShownValue = {
  head?: string;
  size: number;
  tail?: string;
  value: Json;
  value_url?: string;
};

export type Side = {
  kind: SideKind;
  models: Array<string>;
  run_id: string;
  run_name: string | null;
  run_status: "running" | "interrupted" | "failed" | "loop" | "ok" | "damaged";
  status: string;
  tool_calls: Array<string>;
};

export type SideKind = "run" | "baseline";

export type SpanId = string;

export type StackLine = {
  is_user: boolean;
  text: string;
};

export type StateDetails = {
  difference: ShownValue | null;
  previous: Previous | null;
  state: ShownValue | null;
};

export type StatsAnswer = {
  all: StatsRow;
  by: string | null;
  columns: Array<TableColumn>;
  days: Array<string>;
  from: number;
  group_count: number;
  groupings: Array<string>;
  groups: Array<StatsRow>;
  is_of_calls: boolean;
  query: string;
  version: string;
};

export type StatsCell = {
  query: string | null;
  sort: string;
  text: string;
  title: string | null;
  tone: string;
};

export type StatsRow = {
  bars: Array<number>;
  cells: { [key: string]: StatsCell };
  label: string | null;
  stats: GroupStats;
};

export type StepJson = {
  attributes: ShownValue | null;
  duration_us: number | null;
  end: string | null;
  error: ErrorDetails | null;
  event_id: string;
  facts: Array<string>;
  failed: boolean;
  file: string;
  in_flight: boolean;
  kind: StepKind;
  line: number | null;
  llm: LlmCallJson | null;
  loop: LoopReport | null;
  meta: { [key: string]: Json };
  name: string;
  number: number;
  offset_us: number | null;
  outcome: string;
  parent_id: string | null;
  raw: ShownValue | null;
  redactions: number;
  row: number;
  start: string | null;
  state: StateDetails | null;
  tool: ToolCallJson | null;
  truncations: number;
};

export type StepKind = "run" | "llm" | "tool" | "state" | "error" | "loop" | "span";

export type StepLink = {
  event_id: string;
  label: string;
};

export type StepSummary = {
  input: string;
  output: string | null;
};

export type TableCell = {
  more?: number;
  query?: string;
  text: string;
  title?: string;
};

export type TableColumn = {
  heading: string;
  is_ascending: boolean;
  key: string;
};

export type TableRow = {
  cells: { [key: string]: TableCell };
  details: RunPreview | null;
  marks: string | null;
  origin?: string;
  problem: string | null;
  run_name: string | null;
  run_status: string;
  started_at: string | null;
  thread?: ThreadJson;
  trace_id: TraceId;
};

export type ThreadJson = {
  count: number;
  id: string;
  number: number;
  query: string;
};

export type Time = string;

export type TokensUsed = {
  input: number | null;
  output: number | null;
  shares?: string;
  total: number | null;
};

export type ToolCallJson = {
  arguments: ShownValue | null;
  previous_same_tool: Previous | null;
  result: ShownValue | null;
};

export type TotalsAnswer = {
  cost: CostReport;
  errors: number;
  failed_calls: number;
  in_flight: number;
  llm_calls: number;
  loop_warnings: number;
  steps: number;
  tokens: TokensUsed;
  tool_calls: number;
};

export type TraceId = string;

export type Transcript = {
  next: number | null;
  turn_count: number;
  turns: Array<TurnAnswer>;
  version: string;
};

export type TranscriptOrigin = {
  agent: string;
  bytes: number;
  is_open: boolean;
  modified_ms: number;
  session: string;
  unknown_kinds: number;
  unknown_records: number;
  unreadable_lines: number;
};

export type TurnAnswer = {
  arguments: ShownValue | null;
  duration_us: number | null;
  error: ErrorDetails | null;
  event_id: string;
  failed: boolean;
  gist: string | null;
  in_flight: boolean;
  kind: StepKind;
  messages: Array<MessageAnswer>;
  name: string;
  note: string | null;
  number: number;
  offset_us: number | null;
  response: Array<MessageAnswer>;
  result: ShownValue | null;
  row: number | null;
  state: StateDetails | null;
};

export type ValueMatch = "part" | "normalised" | "verbatim";

export type ValuePlace = {
  event_id: string;
  found: ValueMatch;
  kind: PlaceKind;
  name: string;
  step: number | null;
  words: string;
};

export type Verdict = "pass" | "fail" | "inconclusive";
