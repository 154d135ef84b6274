//! `tracer export`: a run as one portable JSON document, `{spec_version, run, events}` and no other key.
//!
//! Strict: a run with a problem is refused. A file is replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tracer_sdk::format::RunStatus;
use tracer_sdk::read::{self, LoadedRun};

use super::{Verdict, refused};
use crate::error::{CliError, ErrorKind};
use crate::json::Document;
use crate::render::line::{Line, Tone};
use crate::render::text;
use crate::session::{Session, shown};

/// Options of `tracer export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its ID, or as much of its beginning as no other run has; the newest when left out
    run_id: Option<String>,

    /// The file to write; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
}

/// Exports a run.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    let (directory, short_id) = session.select(args.run_id.as_deref())?;
    let run = read::open_run(&directory.path).map_err(|invalid| {
        let what = format!(
            "run {short_id} is not exported: {}",
            text::counted(invalid.problems.len() as u64, "problem")
        );
        let show = session.command(&format!("show {short_id}"));
        refused(ErrorKind::Check, what, &invalid).with_hint(format!("see what can be read of it: {show}"))
    })?;
    if run.meta.status == RunStatus::Running {
        session.ui.note(&Line::of(
            "the run has not ended: this is what it has recorded so far",
            Tone::Warning,
        ));
    }
    if args.out.as_os_str() == "-" {
        write(&run, session.ui.output()).map_err(|error| CliError::output(&error))?;
        return Ok(Verdict::Done);
    }
    let events = to_file(&run, &args.out).map_err(|error| {
        CliError::input(format!("cannot write {}: {error}", args.out.display()))
            .with_hint("name a file in a folder that you can write to, or `-` for standard output")
    })?;
    let told = format!(
        "exported {short_id}, {}, to {}",
        text::counted(events, "event"),
        shown(&args.out)
    );
    session.ui.note(&Line::of(told, Tone::Plain));
    Ok(Verdict::Done)
}

/// Writes the document, and gives how many events it has.
fn write(run: &LoadedRun, writer: &mut dyn Write) -> io::Result<u64> {
    let events = run.records();
    let mut document = Document::begin(writer)?;
    document.field("run", &run.meta)?;
    document.list("events", &events)?;
    document.end()?;
    Ok(events.len() as u64)
}

fn to_file(run: &LoadedRun, path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        // A pipe or a device is written to; only an ordinary file can be replaced.
        Ok(existing) if !existing.is_file() => {
            write_through(run, &OpenOptions::new().write(true).open(path)?)
        }
        // What a link points to is replaced, not the link.
        Ok(existing) => replace(run, &fs::canonicalize(path)?, Some(existing.permissions())),
        Err(_) => replace(run, path, None),
    }
}

fn write_through(run: &LoadedRun, file: &File) -> io::Result<u64> {
    let mut writer = BufWriter::new(file);
    let events = write(run, &mut writer)?;
    writer.flush()?;
    Ok(events)
}

/// Writes beside the file and renames, so that a reader never sees half a document and a full disk costs nothing.
fn replace(run: &LoadedRun, path: &Path, permissions: Option<fs::Permissions>) -> io::Result<u64> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let beside = beside(folder)?;
    let events = write_through(run, beside.as_file())?;
    if let Some(permissions) = permissions {
        beside.as_file().set_permissions(permissions)?;
    }
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    Ok(events)
}

/// A new file that vanishes unless it is kept, with the permissions that any new file of the user has.
fn beside(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tracer-export-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
