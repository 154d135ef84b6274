//! The files of the page: modules, style sheet and shell. In the executable, or in a folder while the page is developed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use axum::body::Bytes;
use tracer_runs::read_input;

/// Name and content of each file in the executable.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/page_files.rs"));
/// Template of all pages.
pub(super) const SHELL: &str = "shell.html";

/// Size of a page file in a folder.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The files of the page.
#[derive(Debug)]
pub(super) struct Assets {
    /// Changes with any file; part of their addresses, so that browsers keep them for good.
    version: String,
    folder: Option<PathBuf>,
}

impl Assets {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        let mut hasher = DefaultHasher::new();
        FILES.hash(&mut hasher);
        Self {
            version: format!("{:016x}", hasher.finish()),
            folder,
        }
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Tells whether a file that was asked for by this version never changes.
    pub(super) fn is_immutable(&self, version: &str) -> bool {
        self.folder.is_none() && version == self.version
    }

    /// A file, by its name.
    pub(super) fn get(&self, name: &str) -> Option<Bytes> {
        let (name, bytes) = FILES.iter().find(|(known, _)| *known == name)?;
        match &self.folder {
            Some(folder) => read_input(&folder.join(name), MAX_FILE_BYTES)
                .ok()
                .map(Bytes::from),
            None => Some(Bytes::from_static(bytes)),
        }
    }

    /// The module of a page and all that it imports, by their names: a browser that is given them at once need not find them
    /// one import after the other.
    pub(super) fn modules(&self, page: &str) -> Vec<String> {
        let mut names = vec![format!("{page}.js")];
        let mut scanned = 0;
        while let Some(file) = names.get(scanned).map(|name| self.get(name)) {
            scanned += 1;
            let file = file.unwrap_or_default();
            for import in String::from_utf8_lossy(&file).lines().filter_map(imported) {
                if !names.iter().any(|name| name == import) {
                    names.push(import.to_owned());
                }
            }
        }
        names
    }
}

/// The file that `import { fill, make } from "./dom.js";` imports.
fn imported(line: &str) -> Option<&str> {
    let (before, file) = line.split_once(" from \"./")?;
    file.strip_suffix("\";")
        .filter(|_| before.starts_with("import ") || before == "}")
}

/// The content type of a file that is served, by its extension.
pub(super) fn content_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_static_import_of_a_page_is_preloaded() {
        let assets = Assets::new(None);
        for page in ["comparison-page", "message", "run", "runs", "stats"] {
            let modules = assets.modules(page);
            for name in &modules {
                let text = assets.get(name).unwrap_or_else(|| panic!("{name} is missing"));
                let text = String::from_utf8(text.to_vec()).unwrap();
                let code = text.lines().filter(|line| !line.contains("@import"));
                for import in code.filter_map(|line| line.split_once("from \"./")) {
                    let import = import.1.split('"').next().unwrap().to_owned();
                    assert!(modules.contains(&import), "{name} imports {import}");
                }
            }
            assert!(modules.len() > 3, "{page}: {modules:?}");
        }
        assert!(
            !assets.modules("run").contains(&"run-menu.js".to_owned()),
            "that is imported late"
        );
    }
}
