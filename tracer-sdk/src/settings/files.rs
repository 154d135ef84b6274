//! Discovery of the settings files: the only settings code that does input.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SETTINGS;
use super::inside::is_absent;
use crate::input::read_input;

/// The folder of the settings file, in a project and in the home directory.
pub(super) const FOLDER: &str = ".tracer";
/// The name of the settings file.
const FILE: &str = "config.toml";
/// A settings file is at most this long, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// A settings file that is there.
///
/// ```
/// use tracer_sdk::settings::{Config, SettingsFile, Sources, resolve};
///
/// let project = SettingsFile {
///     path: "/agent/.tracer/config.toml".into(),
///     text: Ok("loop_window = 24".to_owned()),
/// };
/// let sources = Sources { project: Some(project), ..Sources::default() };
/// assert_eq!(resolve(&Config::new(), &sources).0.loop_window, 24);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text, or why it cannot be read.
    pub text: Result<String, String>,
}

/// Sources of settings, apart from code and defaults.
///
/// ```
/// use tracer_sdk::settings::{Config, Sources, resolve};
///
/// let sources = Sources { home: Some("/home/me".into()), ..Sources::default() };
/// let (settings, _) = resolve(&Config::new(), &sources);
/// assert_eq!(settings.data_dir, std::path::Path::new("/home/me/.tracer"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The environment variables that are settings, by name.
    pub environment: BTreeMap<String, OsString>,
    /// Base of relative paths in the environment and in code; empty when it is not known.
    pub working_directory: PathBuf,
    /// The home directory; `None` when there is none.
    pub home: Option<PathBuf>,
    /// `.tracer/config.toml` of the project.
    pub project: Option<SettingsFile>,
    /// `~/.tracer/config.toml`.
    pub user: Option<SettingsFile>,
}

impl Sources {
    /// Reads the environment of the process, finds its working and home directory, and reads the settings files.
    ///
    /// The home directory is `HOME`, or what the system says of the user when that is not set. The project's file is
    /// the nearest one from the working directory upwards; the search ends at the home directory, whose file is the
    /// user's.
    ///
    /// ```
    /// use tracer_sdk::settings::Sources;
    ///
    /// assert_eq!(Sources::read().working_directory, std::env::current_dir()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn read() -> Self {
        let variables = SETTINGS.iter().map(|setting| setting.variable());
        Self {
            environment: variables
                .filter_map(|name| std::env::var_os(&name).map(|value| (name, value)))
                .collect(),
            ..Self::below(
                std::env::current_dir().unwrap_or_default(),
                std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            )
        }
    }

    /// The settings files of a program that runs in `working_directory`; an empty environment.
    fn below(working_directory: PathBuf, home: Option<PathBuf>) -> Self {
        Self {
            environment: BTreeMap::new(),
            project: project_file(&working_directory, home.as_deref()),
            user: home.as_deref().and_then(settings_file),
            working_directory,
            home,
        }
    }
}

fn project_file(working_directory: &Path, home: Option<&Path>) -> Option<SettingsFile> {
    // The system gives the working directory without symbolic links, `HOME` may have some.
    let canonical_home = home.and_then(|home| fs::canonicalize(home).ok());
    working_directory
        .ancestors()
        .filter(|folder| !folder.as_os_str().is_empty())
        .take_while(|folder| Some(*folder) != home && Some(*folder) != canonical_home.as_deref())
        .find_map(settings_file)
}

/// The settings file of a folder; `None` when there is nothing of that name.
fn settings_file(folder: &Path) -> Option<SettingsFile> {
    let path = folder.join(FOLDER).join(FILE);
    match read_text(&path) {
        Ok(text) => Some(SettingsFile { path, text: Ok(text) }),
        Err(error) if is_absent(&error) => None,
        Err(error) => Some(SettingsFile {
            path,
            text: Err(error.to_string()),
        }),
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_input(path, MAX_FILE_BYTES)?).map_err(|_| io::Error::other("it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, text: &str) -> PathBuf {
        fs::create_dir_all(folder.join(FOLDER)).unwrap();
        let path = folder.join(FOLDER).join(FILE);
        fs::write(&path, text).unwrap();
        path
    }

    fn path(file: Option<&SettingsFile>) -> Option<&Path> {
        file.map(|file| file.path.as_path())
    }

    #[test]
    fn the_nearest_file_from_the_working_directory_upwards_is_the_projects() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("project/a/b");
        fs::create_dir_all(&deep).unwrap();
        write(folder.path(), "outer = 1");
        let nearest = write(&folder.path().join("project"), "redact = true");
        let found = Sources::below(deep, None);
        assert_eq!(path(found.project.as_ref()), Some(nearest.as_path()));
        assert_eq!(found.project.unwrap().text.as_deref(), Ok("redact = true"));
        assert_eq!(found.user, None);
    }

    #[test]
    fn the_file_of_the_home_directory_is_the_users_and_ends_the_search() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let work = home.join("work");
        fs::create_dir_all(&work).unwrap();
        write(folder.path(), "");
        let user = write(&home, "redact = false");
        for working_directory in [&work, &home] {
            let found = Sources::below(working_directory.clone(), Some(home.clone()));
            assert_eq!(path(found.project.as_ref()), None);
            assert_eq!(path(found.user.as_ref()), Some(user.as_path()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_home_directory_behind_a_symbolic_link_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap().join("real");
        write(&real, "redact = false");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let found = Sources::below(real, Some(link.clone()));
        assert_eq!(path(found.project.as_ref()), None);
        assert_eq!(
            path(found.user.as_ref()),
            Some(link.join(".tracer/config.toml").as_path())
        );
    }

    #[test]
    fn an_unreadable_file_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        write(folder.path(), "");
        fs::create_dir_all(inner.join(FOLDER).join(FILE)).unwrap();
        let text = |folder: &Path| Sources::below(folder.to_owned(), None).project.unwrap().text;
        assert_eq!(
            text(&inner),
            Err("it is a folder; a regular file of at most 256 KiB is read".to_owned())
        );

        write(folder.path(), &" ".repeat(256 * 1024 + 1));
        assert_eq!(
            text(folder.path()),
            Err("it is longer than 256 KiB; a regular file of at most 256 KiB is read".to_owned())
        );
        fs::write(folder.path().join(FOLDER).join(FILE), b"\xff").unwrap();
        assert!(text(folder.path()).is_err());
    }

    #[test]
    fn without_a_known_working_directory_there_is_no_project() {
        assert_eq!(Sources::below(PathBuf::new(), None), Sources::default());
    }
}
