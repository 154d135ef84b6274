//! `tracer import AGENT`: the sessions of coding agents on this machine, listed and imported.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tracer_capture::runs::CodingAgent;
use tracer_capture::sessions::{FoundSessions, ImportTally, SessionFinder, SessionImporter, default_places};
use tracer_insight::line::{Line, Tone};
use tracer_insight::units;

use super::import::suggest_runs;
use crate::error::{CliError, ErrorKind};
use crate::outcome::CommandOutcome;
use crate::progress::Progress;
use crate::runtime;
use crate::session::Session;

/// Interval between two imports of `--watch`.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Lists what could be imported.
pub(super) fn list(session: &mut Session) -> Result<CommandOutcome, CliError> {
    let importer = SessionImporter::new(&session.settings()?, false);
    let mut finder = SessionFinder::default();
    let found = CodingAgent::ALL.map(|agent| {
        let places = places(agent);
        let sessions = finder.find(agent, &places);
        FoundSessions::of(agent, places, &sessions, &importer)
    });
    if session.is_json() {
        let agents: Vec<_> = found.iter().map(FoundSessions::to_json).collect();
        session.ui.json(&json!({"agents": agents}))?;
        return Ok(CommandOutcome::Done);
    }
    let now = units::now();
    let lines: Vec<Line> = found
        .iter()
        .map(|found| {
            Line::of(format!("{:<13}", found.agent.as_str()), Tone::Strong)
                .with(found.words(now), Tone::Plain)
        })
        .collect();
    session.ui.lines(&lines)?;
    let new = found.iter().filter(|found| found.has_new());
    let agents: Vec<&str> = new.map(|found| found.agent.as_str()).collect();
    if !agents.is_empty() {
        session.suggest("import them", &format!("import {}", agents.join(" ")));
    }
    Ok(CommandOutcome::Done)
}

/// Imports the sessions of agents, once or until Ctrl-C.
pub(super) fn run(
    agents: &[CodingAgent],
    paths: &[PathBuf],
    (watch, without_content): (bool, bool),
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    check(agents, paths)?;
    let mut importer = SessionImporter::new(&session.settings()?, without_content);
    let mut finder = SessionFinder::default();
    let interrupted = if watch { Some(runtime::interrupts()?) } else { None };
    let progress = Progress::begin(&session.ui, "importing", "session", None);
    let mut total = ImportTally::default();
    let mut is_first = true;
    loop {
        let mut tally = ImportTally::default();
        for agent in agents {
            let places = if paths.is_empty() {
                places(*agent)
            } else {
                paths.to_vec()
            };
            let sessions = finder.find(*agent, &places);
            importer.import_all(&sessions, watch, &mut tally, || {
                if is_first {
                    progress.step();
                }
            });
        }
        for problem in finder.take_problems() {
            tally.add_problem(problem);
        }
        if watch && !session.is_json() && (is_first || tally.spans() > 0) {
            session.ui.lines(&[line(&tally)])?;
            session.ui.flush()?;
        }
        total.join(tally);
        is_first = false;
        if interrupted
            .as_ref()
            .is_none_or(|interrupted| interrupted.recv_timeout(POLL_INTERVAL).is_ok())
        {
            break;
        }
    }
    progress.end(&mut session.ui);
    show(agents, &total, watch, session)
}

/// The folders of the transcripts of an agent, unless paths are given.
fn places(agent: CodingAgent) -> Vec<PathBuf> {
    default_places(agent, |variable| {
        std::env::var_os(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    })
}

fn check(agents: &[CodingAgent], paths: &[PathBuf]) -> Result<(), CliError> {
    if agents.len() > 1 && !paths.is_empty() {
        return Err(CliError::input("transcripts are given for one agent at a time"));
    }
    let missing = paths.iter().find(|path| !path.exists());
    missing.map_or(Ok(()), |path| {
        Err(CliError::input(format!(
            "there is no {}",
            tracer_insight::text::path_below_home(path)
        )))
    })
}

fn show(
    agents: &[CodingAgent],
    tally: &ImportTally,
    watch: bool,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    if session.is_json() {
        session.ui.json(&tally.to_json())?;
    } else {
        if !watch {
            session.ui.lines(&[line(tally)])?;
        }
        for note in tally.notes() {
            session.ui.remark(note);
        }
        if tally.is_nothing() {
            let agents: Vec<&str> = agents.iter().map(|agent| agent.as_str()).collect();
            session
                .ui
                .remark(format!("no session of {} found", agents.join(", ")));
            session.suggest("see where they are looked for", "import");
        }
        suggest_runs(&tally.runs(), "list tag:from=transcript", session);
    }
    let what = match tally.unreadable() {
        0 => return Ok(CommandOutcome::Done),
        1 => "1 line or file".to_owned(),
        unreadable => format!("{} lines or files", units::grouped(unreadable)),
    };
    Err(CliError::new(
        ErrorKind::Check,
        format!("{what} could not be read; the others were imported"),
    )
    .with_details(tally.problem_words()))
}

fn line(tally: &ImportTally) -> Line {
    let sign = if tally.unreadable() == 0 {
        Line::of("✓ ", Tone::Good)
    } else {
        Line::of("! ", Tone::Warning)
    };
    sign.with(tally.words(), Tone::Plain)
}
