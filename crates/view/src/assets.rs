//! What the pages are made of: one script for each, the style sheet, the shell. In the executable, or from a folder while the page is
//! developed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::OnceLock;

use axum::body::Bytes;
use tracer_sdk::read::read_input;

use super::page_script;

/// Name and content of each file in the executable.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/page_files.rs"));
/// Template of all pages; it is not served as it is.
pub(super) const SHELL: &str = "shell.html";
/// Modules of the pages: each is served with what it imports, and no other module is served.
const PAGES: [&str; 5] = [
    "comparison-page.js",
    "message.js",
    "run.js",
    "runs.js",
    "stats.js",
];

/// Size of a page file in a folder.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// What the pages are made of.
#[derive(Debug)]
pub(super) struct Assets {
    /// Made when they are first asked for; from a folder, every time.
    made: BTreeMap<&'static str, OnceLock<Option<Asset>>>,
    folder: Option<PathBuf>,
}

/// A file as it is served, with its version.
type Asset = (Bytes, String);

impl Assets {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        let names = FILES.iter().map(|(name, _)| *name);
        let made = names
            .filter(|name| PAGES.contains(name) || content_type(name) != Some(SCRIPT))
            .map(|name| (name, OnceLock::new()))
            .collect();
        Self { made, folder }
    }

    /// A script, the style sheet or the shell.
    pub(super) fn get(&self, name: &str) -> Option<Asset> {
        let (name, made) = self.made.get_key_value(name)?;
        if self.folder.is_some() {
            return self.make(name);
        }
        made.get_or_init(|| self.make(name)).clone()
    }

    fn make(&self, name: &str) -> Option<Asset> {
        let text = |module: &str| String::from_utf8(self.file(module)?.into()).ok();
        let bytes = if PAGES.contains(&name) {
            Bytes::from(page_script::of(name, text))
        } else {
            self.file(name)?
        };
        let version = version(&bytes);
        Some((bytes, version))
    }

    /// A file of the page, as it was written.
    fn file(&self, name: &str) -> Option<Bytes> {
        if let Some(folder) = &self.folder {
            return read_input(&folder.join(name), MAX_FILE_BYTES)
                .ok()
                .map(Bytes::from);
        }
        let (_, bytes) = FILES.iter().find(|(known, _)| *known == name)?;
        Some(Bytes::from_static(bytes))
    }
}

fn version(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The content type of a file, by its extension.
pub(super) fn content_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "js" => SCRIPT,
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}
