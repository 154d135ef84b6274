//! A run as one HTML file that explains itself: no server, no request, readable with scripts off.
//!
//! What every reader wants first stands first: did it work, where and why not, what did it do. The page's policy
//! forbids everything but its own style and script, so that nothing in a trace can load or run anything.

mod rescan;
mod run;
mod step;
mod value;

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use tracer_sdk::format::{Payload, Problem, Record, Timestamp};
use tracer_sdk::redaction::Redaction;

use super::ExportError;
use rescan::Rescan;
pub(crate) use run::write_run;
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::steps;
use tracer_insight::steps::StepSource;
use tracer_insight::{step_summary, text, units};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// More problems than this are counted instead of listed.
const MOST_PROBLEMS: usize = 20;

/// What stands above the steps.
#[derive(Debug)]
pub struct Head {
    /// The run's label; `None` when it has none.
    pub name: Option<String>,
    /// Its ID.
    pub id: String,
    /// How it stands.
    pub standing: RunStatus,
    /// What happened, in one sentence.
    pub sentence: String,
    /// What it counted, in words.
    pub totals: Vec<String>,
    /// When it started.
    pub started: Option<Timestamp>,
    /// How long it took, in microseconds.
    pub duration: Option<u64>,
    /// What cannot be read.
    pub problems: Vec<Problem>,
    /// How many problems there are besides.
    pub more_problems: u64,
    /// What was left out by a filter, in words.
    pub left_out: Option<String>,
}

/// Writes the page, and gives how many secrets were found that the emitter had left.
///
/// The steps come in parts, each of which is nested in itself, so that memory does not grow with the run.
pub fn write(
    mut head: Head,
    start: Option<Record>,
    parts: impl IntoIterator<Item = Result<Vec<StepSource>, ExportError>>,
    redaction: &Redaction,
    writer: &mut dyn Write,
) -> Result<u64, ExportError> {
    let mut rescan = Rescan::new(redaction);
    head.name.iter_mut().for_each(|name| rescan.text(name));
    rescan.text(&mut head.sentence);
    let start = start.map(|record| rescan.record(record));
    let duration = head.duration;
    let started = head.started;
    write!(
        writer,
        "{}<html lang=\"en\">{}<body><main>",
        DOCTYPE.into_string(),
        headers(&head).into_string()
    )?;
    write!(
        writer,
        "{}<ol class=\"steps\">",
        body_start(&head, start.as_ref()).into_string()
    )?;
    let mut is_empty = true;
    for part in parts {
        let sources: Vec<StepSource> = part?
            .into_iter()
            .map(|source| StepSource {
                record: rescan.record(source.record),
                ..source
            })
            .collect();
        is_empty = is_empty && sources.is_empty();
        for step in steps::steps(&sources, started) {
            writeln!(writer, "{}", step::markup(&step, duration).into_string())?;
        }
    }
    let end = body_end(is_empty, rescan.changed);
    writeln!(writer, "</ol>{}</main></body></html>", end.into_string())?;
    Ok(rescan.changed)
}

fn headers(head: &Head) -> Markup {
    let hash = |source: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(source)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="referrer" content="no-referrer";
            title { (name(head)) " · " (head.id.get(..8).unwrap_or(&head.id)) " · tracer" }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn name(head: &Head) -> String {
    step_summary::word(head.name.as_deref().unwrap_or("(unnamed)"))
}

fn body_start(head: &Head, start: Option<&Record>) -> Markup {
    let standing = head.standing;
    html! {
        header {
            h1 {
                span.status.(standing.as_str()) { span aria-hidden="true" { (standing.glyph()) } " " (standing.as_str()) }
                " " (name(head))
            }
            p.sentence { (head.sentence) }
            ul.facts {
                @for fact in &head.totals { li { (fact) } }
                @if let Some(duration) = head.duration { li { (units::duration(duration)) } }
                @if let Some(started) = head.started { li { (units::moment(started)) } }
                li { "run " code { (head.id) } }
            }
        }
        @if let Some(left_out) = &head.left_out { p.notice { (left_out) } }
        (problems(head))
        @if let Some(Payload::RunStart { python_version, platform, cwd, argv, .. }) = start.map(|record| &record.payload) {
            details {
                summary.muted { "How it was started" }
                dl {
                    @if !argv.is_empty() { dt { "arguments" } dd { @for argument in argv { code { (text::printable(argument)) } " " } } }
                    @if let Some(cwd) = cwd { dt { "working directory" } dd { code { (text::printable(cwd)) } } }
                    @if let Some(platform) = platform { dt { "platform" } dd { (step_summary::word(platform)) } }
                    @if let Some(version) = python_version { dt { "built with" } dd { (step_summary::word(version)) } }
                }
            }
        }
        h2 { "Steps" }
        div.tools hidden {
            input type="search" aria-label="Find in the steps" placeholder="Find in the steps";
            button type="button" data-fold="open" { "Unfold all" }
            button type="button" data-fold="closed" { "Fold all" }
            output aria-live="polite" {}
        }
    }
}

fn problems(head: &Head) -> Markup {
    let all = head.more_problems.saturating_add(head.problems.len() as u64);
    let hidden = all.saturating_sub(MOST_PROBLEMS as u64);
    html! {
        @if all > 0 {
            div.notice {
                p { strong { (text::counted(all, "problem")) "; what can be read is shown:" } }
                ul {
                    @for problem in head.problems.iter().take(MOST_PROBLEMS) { li { (problem) } }
                    @if hidden > 0 { li { "… and " (hidden) " more" } }
                }
            }
        }
    }
}

fn body_end(is_empty: bool, redacted: u64) -> Markup {
    html! {
        @if is_empty { p.muted { "No step was recorded." } }
        footer {
            "Exported by tracer. "
            @match redacted {
                0 => "Looked over once more for secrets: none was found.",
                _ => { (text::counted(redacted, "value")) " that looked like a secret redacted in this file, beyond what the emitter had redacted." },
            }
        }
        script { (PreEscaped(SCRIPT)) }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
