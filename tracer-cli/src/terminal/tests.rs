//! Lines at several widths, for snapshots.

use tracer_insight::line::Line;

use crate::ui::painted;

/// Lines at three widths, with and without colour; asserts that they fit.
pub(crate) fn at_widths(render: impl Fn(usize) -> Vec<Line>) -> String {
    let shown = |(width, coloured): (usize, bool)| {
        let lines = render(width);
        for line in &lines {
            let (columns, text) = (line.width(), line.text());
            assert!(columns <= width, "{columns} columns in {width}: {text}");
        }
        let colour = if coloured { " coloured" } else { "" };
        let shown = painted(&lines, coloured).replace('\x1b', "\\e");
        format!("── {width}{colour} ──\n{shown}")
    };
    [false, true]
        .map(|coloured| [60, 80, 140].map(|width| shown((width, coloured))).join("\n"))
        .join("\n")
}
