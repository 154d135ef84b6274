//! The files of the page: in the executable, or from a folder while the page is developed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use super::answer::{ApiError, bytes_response, not_modified, with_version};
use super::viewer::Viewer;

/// Name and content of each file in the executable.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/page_files.rs"));
/// The page that the others are made from; it is not served as it is.
pub(super) const SHELL: &str = "shell.html";

/// The files of the page.
#[derive(Debug)]
pub(super) struct Assets {
    files: BTreeMap<&'static str, (&'static [u8], String)>,
    folder: Option<PathBuf>,
}

impl Assets {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        let files = FILES
            .iter()
            .map(|(name, bytes)| (*name, (*bytes, version(bytes))));
        Self {
            files: files.collect(),
            folder,
        }
    }

    /// A file with its version.
    pub(super) fn get(&self, name: &str) -> Option<(Cow<'static, [u8]>, String)> {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
        if name.starts_with('.') || !name.chars().all(is_plain) {
            return None;
        }
        if let Some(folder) = &self.folder {
            let bytes = fs::read(folder.join(name)).ok()?;
            let version = version(&bytes);
            return Some((bytes.into(), version));
        }
        let (bytes, version) = self.files.get(name)?;
        Some((Cow::Borrowed(*bytes), version.clone()))
    }

    /// The modules that a module loads at once and those that these load, itself not among them. Named in the shell, all of them are
    /// asked for together, not each when the one before it was read.
    pub(super) fn imports(&self, module: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![module.to_owned()];
        while let Some(name) = waiting.pop() {
            let Some((bytes, _)) = self.get(&name) else {
                continue;
            };
            let text = String::from_utf8_lossy(&bytes);
            for imported in text.lines().filter_map(imported) {
                if imported != module && found.insert(imported.to_owned()) {
                    waiting.push(imported.to_owned());
                }
            }
        }
        found
    }
}

/// The file of the page that this line of a module imports.
fn imported(line: &str) -> Option<&str> {
    let (_, file) = line.strip_prefix("import ")?.split_once(" from \"./")?;
    file.strip_suffix("\";")
}

fn version(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn content_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

/// Serves a file of the page.
pub(super) async fn file(
    State(viewer): State<Viewer>,
    name: Result<Path<String>, axum::extract::rejection::PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let missing = || ApiError::not_found("no_such_file", "the page has no such file");
    let Path(name) = name.map_err(|_| missing())?;
    let content_type = content_type(&name).ok_or_else(missing)?;
    let (bytes, version) = viewer.assets().get(&name).ok_or_else(missing)?;
    if let Some(response) = not_modified(&headers, &version) {
        return Ok(response);
    }
    let mut response = with_version(bytes_response(content_type, bytes.into_owned()), &version);
    let asked_again = HeaderValue::from_static("no-cache");
    response.headers_mut().insert(header::CACHE_CONTROL, asked_again);
    Ok(response)
}
