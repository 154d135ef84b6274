//! The command of a trial: which program it names, seen from where the user calls the gate.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::workspace::Workspace;
use crate::InputError;
use tracer_capture::record::check_program;

/// A program that was found before the first trial is paid for.
#[derive(Debug, PartialEq, Eq)]
pub enum TrialProgram {
    /// A file of the workspace, named relative to it: each trial calls its own copy.
    OfWorkspace(PathBuf),
    /// A file elsewhere, or one that is made from the workspace: it is called where it is.
    At(PathBuf),
    /// A program that the system finds by its name.
    Named(OsString),
}

impl TrialProgram {
    /// Finds the program of a command.
    pub fn find(name: &OsStr, workspace: &Workspace) -> Result<Self, InputError> {
        let path = Path::new(name);
        check_program(name, workspace.root())
            .map_err(|error| InputError::new(error.to_string()).with_hint(error.hint()))?;
        if path.components().count() == 1 && path.file_name() == Some(name) {
            return Ok(Self::Named(name.to_owned()));
        }
        let relative = without_dots(path);
        if workspace.has(&relative) {
            return Ok(Self::OfWorkspace(relative));
        }
        Ok(Self::At(workspace.root().join(path)))
    }

    /// The path of the program in a trial whose workspace is `directory`.
    pub(crate) fn called_in(&self, directory: &Path) -> PathBuf {
        match self {
            Self::OfWorkspace(relative) => directory.join(relative),
            Self::At(path) => path.clone(),
            Self::Named(name) => PathBuf::from(name),
        }
    }
}

/// The path without `.`; one that begins with `..` or `/` stays one that no workspace has.
fn without_dots(path: &Path) -> PathBuf {
    path.components()
        .filter(|component| *component != Component::CurDir)
        .collect()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("agent.sh", 0o755), ("target/agent", 0o755), ("notes.txt", 0o644)] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let workspace = Workspace::look(folder.path(), Path::new("/nowhere")).unwrap();
        (folder, workspace)
    }

    #[test]
    fn a_file_of_the_workspace_is_called_in_each_copy() {
        let (_folder, workspace) = workspace();
        for name in ["./agent.sh", "././agent.sh"] {
            let program = TrialProgram::find(name.as_ref(), &workspace).unwrap();
            assert_eq!(program.called_in(Path::new("/copy")), Path::new("/copy/agent.sh"));
        }
    }

    // gate, *Trials*
    #[test]
    fn what_the_workspace_ignores_is_called_where_it_is() {
        let (_folder, workspace) = workspace();
        let program = TrialProgram::find("target/agent".as_ref(), &workspace).unwrap();
        assert_eq!(
            program.called_in(Path::new("/copy")),
            workspace.root().join("target/agent")
        );
    }

    #[test]
    fn a_path_from_the_root_or_out_of_the_workspace_is_called_where_it_leads() {
        let (_folder, workspace) = workspace();
        let absolute = workspace.root().join("agent.sh");
        let program = TrialProgram::find(absolute.as_os_str(), &workspace).unwrap();
        assert_eq!(program.called_in(Path::new("/copy")), absolute);

        let parent = workspace.root().file_name().unwrap().to_str().unwrap();
        let outward = format!("../{parent}/agent.sh");
        let program = TrialProgram::find(outward.as_ref(), &workspace).unwrap();
        assert_eq!(
            program.called_in(Path::new("/copy")).canonicalize().unwrap(),
            absolute
        );
    }

    #[test]
    fn a_name_is_looked_for_on_the_path() {
        let (_folder, workspace) = workspace();
        let program = TrialProgram::find("sh".as_ref(), &workspace).unwrap();
        assert_eq!(program.called_in(Path::new("/copy")), Path::new("sh"));
        for (name, said) in [
            ("agent.sh", "there is no program agent.sh"),
            ("./absent", "there is no program ./absent"),
            ("./notes.txt", "./notes.txt cannot be run"),
        ] {
            let error = TrialProgram::find(name.as_ref(), &workspace).unwrap_err();
            assert_eq!(error.message(), said);
            assert!(!error.hints().is_empty());
        }
    }
}
