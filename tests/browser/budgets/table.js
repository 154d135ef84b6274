// The report: what was measured, beside its limit and, where it was asked for, the Python viewer's figure.

const shown = ({ value, unit }) => {
  if (value === null || value === undefined) return "–";
  const rounded = value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
  return `${rounded}${unit === "" ? "" : ` ${unit}`}`;
};

/** Rows are `{measure, value, limit, unit, python}`; the verdict is reported only where there is a limit. */
export function report(rows, { markdown, withPython }) {
  const head = ["measure", "tracer", "limit", ...(withPython ? ["Python viewer"] : []), ""];
  const body = rows.map((row) => [
    row.measure, shown(row), row.limit === undefined ? "" : shown({ ...row, value: row.limit }),
    ...(withPython ? [shown({ ...row, value: row.python })] : []),
    row.limit === undefined ? "" : row.value <= row.limit ? "within" : "over",
  ]);
  if (markdown) {
    return [head, head.map((_, index) => (index === 0 ? "---" : "---:")), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  }
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((cells) => cells[column].length)));
  return [head, ...body].map((cells) => cells.map((cell, column) =>
    (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join("  ").trimEnd()).join("\n");
}
