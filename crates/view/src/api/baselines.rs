//! The baselines of the project that the viewer was started in: `.tracer/baselines/{name}.json`, in the working
//! directory or the nearest folder above it that has one.

use std::fs;
use std::path::PathBuf;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_gate::{BASELINES_FOLDER, Baseline};
use tracer_runs::read_input;

use super::super::answer::{ApiError, json_response};
use super::super::viewer::Viewer;

const EXTENSION: &str = "json";
/// Further baselines are not listed.
const MAX_LISTED: usize = 500;

/// The baselines.
#[derive(Serialize)]
pub(crate) struct Baselines {
    /// Their names, sorted.
    baselines: Vec<String>,
}

/// Lists the baselines.
pub(crate) async fn baselines(State(viewer): State<Viewer>) -> Result<Response, ApiError> {
    let listed = viewer.read(|_| Ok(names())).await?;
    Ok(json_response(&Baselines { baselines: listed }))
}

fn names() -> Vec<String> {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok());
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let path = entry.path();
            let is_baseline = entry.file_type().is_ok_and(|kind| kind.is_file())
                && path.extension().is_some_and(|extension| extension == EXTENSION);
            let name = path.file_stem()?.to_str()?.to_owned();
            (is_baseline && is_name(&name)).then_some(name)
        })
        .take(MAX_LISTED)
        .collect();
    names.sort();
    names
}

/// The nearest folder of baselines.
fn folder() -> Option<PathBuf> {
    let directory = std::env::current_dir().ok()?;
    directory
        .ancestors()
        .map(|above| above.join(BASELINES_FOLDER))
        .find(|folder| folder.is_dir())
}

/// True for a plain file name without a path.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && !name.starts_with('.')
        && name
            .chars()
            .all(|char| char.is_alphanumeric() || "-_.@+ ".contains(char))
}

/// The baseline with a name.
pub(super) fn read(name: &str) -> Result<Baseline, ApiError> {
    let missing = || ApiError::not_found("no_such_baseline", "there is no baseline of this name");
    if !is_name(name) {
        return Err(missing());
    }
    let path = folder().ok_or_else(missing)?.join(format!("{name}.{EXTENSION}"));
    if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Err(missing());
    }
    let text = read_input(&path, Baseline::MAX_BYTES).map_err(ApiError::unreadable)?;
    Baseline::parse(&text).map_err(ApiError::unreadable)
}
