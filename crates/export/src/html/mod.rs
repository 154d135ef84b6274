//! A run as one HTML file that explains itself: no server, no request, readable with scripts off.
//!
//! It begins with what every reader wants first: did it work, where and why not, what did it do. The page's policy
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
use tracer_sdk::format::{Payload, Record};
use tracer_sdk::redaction::Redaction;

use super::ExportError;
use rescan::Rescan;
pub use run::write_run;
use tracer_insight::run_head::RunHead;
use tracer_insight::status::Signs;
use tracer_insight::step_detail::StepNumbers;
use tracer_insight::steps;
use tracer_insight::steps::StepSource;
use tracer_insight::value_summary;
use tracer_insight::{text, units};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Problems that are listed; more are counted.
const MAX_PROBLEMS: usize = 20;

/// The page above the steps.
#[derive(Debug)]
pub struct PageHead {
    /// The run as a whole.
    pub run: RunHead,
    /// Its ID.
    pub id: String,
    /// The outcome in one sentence.
    pub sentence: String,
    /// The numbers of the steps that loop warnings rest on.
    pub evidence: StepNumbers,
    /// The steps that a filter left out, in words.
    pub left_out: Option<String>,
}

/// Writes the page, and gives how many secrets were found that the emitter had left.
///
/// The steps come in parts, each of which is nested in itself, so that memory does not grow with the run.
pub fn write(
    mut head: PageHead,
    start: Option<Record>,
    parts: impl IntoIterator<Item = Result<Vec<StepSource>, ExportError>>,
    redaction: &Redaction,
    writer: &mut dyn Write,
) -> Result<u64, ExportError> {
    let mut rescan = Rescan::new(redaction);
    head.run.name.iter_mut().for_each(|name| rescan.text(name));
    rescan.text(&mut head.sentence);
    head.run.tags = rescan.tags(&head.run.tags);
    let sentences = head.run.origin.iter_mut().chain(&mut head.run.remarks);
    sentences.for_each(|sentence| rescan.text(sentence));
    let start = start.map(|record| rescan.record(record));
    let duration = head.run.duration;
    let started = head.run.started;
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
            writeln!(
                writer,
                "{}",
                step::markup(&step, duration, &head.evidence).into_string()
            )?;
        }
    }
    let end = body_end(is_empty, rescan.changed);
    writeln!(writer, "</ol>{}</main></body></html>", end.into_string())?;
    Ok(rescan.changed)
}

fn headers(head: &PageHead) -> Markup {
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
            title { (head.run.display_name()) " · " (head.id.get(..8).unwrap_or(&head.id)) " · tracer" }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn body_start(head: &PageHead, start: Option<&Record>) -> Markup {
    let run = &head.run;
    let status = run.status;
    html! {
        header {
            h1 {
                span.status.(status.as_str()) { span aria-hidden="true" { (status.glyph()) } " " (status.as_str()) }
                " " (run.display_name())
            }
            p.sentence { (head.sentence) }
            ul.facts {
                @for fact in run.facts() { li { (fact) } }
                @for tag in run.tag_words() { li { (tag) } }
                @if let Some(duration) = run.duration { li { (units::duration(duration)) } }
                @if let Some(started) = run.started { li { (units::moment(started)) } }
                li { "run " code { (head.id) } }
            }
        }
        @if let Some(left_out) = &head.left_out { p.notice { (left_out) } }
        @for notice in run.notices() { p.notice { (text::printable(&notice)) } }
        @if let Some(list) = run.problem_list(MAX_PROBLEMS) {
            div.notice {
                p { strong { (list.heading) } }
                ul {
                    @for problem in &list.problems { li { (text::printable(problem)) } }
                    @if let Some(more) = &list.more { li { (more) } }
                }
            }
        }
        @if let Some(Payload::RunStart { python_version, platform, cwd, argv, .. }) = start.map(|record| &record.payload) {
            details {
                summary.muted { "How it was started" }
                dl {
                    @if !argv.is_empty() { dt { "arguments" } dd { @for argument in argv { code { (text::printable(argument)) } " " } } }
                    @if let Some(cwd) = cwd { dt { "working directory" } dd { code { (text::printable(cwd)) } } }
                    @if let Some(platform) = platform { dt { "platform" } dd { (value_summary::label(platform)) } }
                    @if let Some(version) = python_version { dt { "built with" } dd { (value_summary::label(version)) } }
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
mod tests;
