//! Report of what the layer sees, for `tracer doctor -- COMMAND`.
//!
//! Lines of JSON in the file that the environment variable `TRACER_DOCTOR` names. Without it nothing is written.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tracing::Metadata;
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};

use tracer_format::Computed;

/// The environment variable that names the file.
const VARIABLE: &str = "TRACER_DOCTOR";

/// Lines of one process at the most: a few answer every question.
const MAX_LINES: u64 = 512;

static FILE: Computed<Option<PathBuf>> = Computed::new(|| std::env::var_os(VARIABLE).map(PathBuf::from));
static LINES: AtomicU64 = AtomicU64::new(0);

/// A layer was made; nothing says yet that it was installed.
pub(super) fn layer_made() {
    add(|| json!({"what": "layer_made", "static_max_level": STATIC_MAX_LEVEL.to_string()}));
}

/// A layer became part of a subscriber.
pub(super) fn layer_installed() {
    add(|| json!({"what": "layer_installed"}));
}

/// A callsite of an agent's library was reached for the first time.
pub(super) fn callsite_seen(metadata: &Metadata<'_>) {
    add(|| {
        json!({
            "what": "callsite",
            "is_span": metadata.is_span(),
            "target": metadata.target(),
            "name": metadata.name(),
        })
    });
}

/// A span of an agent's library was opened, and a run has it or has not.
pub(super) fn span_opened(metadata: &Metadata<'_>, is_recorded: bool) {
    add(|| {
        json!({
            "what": "span",
            "target": metadata.target(),
            "is_recorded": is_recorded,
            "max_level": LevelFilter::current().to_string(),
        })
    });
}

/// A run could not start because recording is off.
pub(super) fn recording_is_off() {
    add(|| json!({"what": "recording_off"}));
}

fn add(line: impl FnOnce() -> Value) {
    let Some(path) = FILE.as_deref() else { return };
    if LINES.fetch_add(1, Ordering::Relaxed) >= MAX_LINES {
        return;
    }
    // A report that cannot be written must not disturb the program.
    if let Ok(mut file) = OpenOptions::new().append(true).open(path) {
        let _ = file.write_all(format!("{}\n", line()).as_bytes());
    }
}
