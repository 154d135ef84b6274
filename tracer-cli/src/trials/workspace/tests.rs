//! What belongs to a workspace, and what a copy of it has. `git` is the real one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn with_files(names: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, *name).unwrap();
    }
    folder
}

fn look(root: &Path) -> Result<Workspace, CliError> {
    Workspace::look(root, Path::new("/nowhere"))
}

fn names(workspace: &Workspace) -> Vec<&str> {
    let name = |file: &'_ PathBuf| -> &'_ str { Box::leak(file.display().to_string().into_boxed_str()) };
    workspace.files.iter().map(name).collect()
}

fn copied(workspace: &Workspace) -> TempDir {
    let target = tempfile::tempdir().unwrap();
    copy(workspace, target.path(), || false).unwrap();
    target
}

#[test]
fn in_a_repository_what_is_tracked_or_not_ignored_belongs_to_the_workspace() {
    let folder = with_files(&["a.py", ".env", ".config", "build/out", "sub/new.txt", "gone.txt"]);
    git(folder.path(), &["init", "--quiet"]);
    fs::write(folder.path().join(".gitignore"), ".env\nbuild\n").unwrap();
    git(folder.path(), &["add", "a.py", ".gitignore", "gone.txt"]);
    fs::remove_file(folder.path().join("gone.txt")).unwrap();
    let workspace = look(folder.path()).unwrap();
    assert_eq!(
        names(&workspace),
        [".config", ".gitignore", "a.py", "gone.txt", "sub/new.txt"]
    );
    assert_eq!(workspace.commit(), None, "nothing was committed yet");
    assert!(workspace.has(Path::new("a.py")) && !workspace.has(Path::new("build/out")));

    let copy = copied(&workspace);
    assert_eq!(
        fs::read_to_string(copy.path().join("sub/new.txt")).unwrap(),
        "sub/new.txt"
    );
    for absent in [".git", ".env", "build", "gone.txt"] {
        assert!(!copy.path().join(absent).exists(), "{absent}");
    }
}

#[test]
fn a_part_of_a_repository_is_a_workspace_with_the_commit_of_the_whole() {
    let folder = with_files(&["top", "agent/run.py"]);
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "--message", "first"]);
    let workspace = look(&folder.path().join("agent")).unwrap();
    assert_eq!(names(&workspace), ["run.py"]);
    assert_eq!(workspace.commit().map(str::len), Some(40));
}

// gate-contract 15.4 R1: a repository is not needed, and names need not be UTF-8.
#[test]
fn elsewhere_everything_belongs_to_the_workspace_but_hidden_files_and_build_folders() {
    let folder = with_files(&[
        "agent.py",
        "data/notes.md",
        ".env",
        ".cache/x",
        "target/debug/agent",
        "node_modules/x/index.js",
        "src/__pycache__/a.pyc",
        "environment/pyvenv.cfg",
        "environment/bin/python",
    ]);
    assert_eq!(
        names(&look(folder.path()).unwrap()),
        ["agent.py", "data/notes.md"]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_no_text_is_copied() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let name = OsStr::from_bytes(b"bad\xff.txt");
    for in_repository in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "x").unwrap();
        if in_repository {
            git(folder.path(), &["init", "--quiet"]);
        }
        let copy = copied(&look(folder.path()).unwrap());
        assert!(copy.path().join(name).exists());
    }
}

#[test]
fn a_copy_keeps_permissions_and_times() {
    let folder = with_files(&["agent.sh", "locked"]);
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    for (name, mode) in [("agent.sh", 0o755), ("locked", 0o444)] {
        let path = folder.path().join(name);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let copy = copied(&look(folder.path()).unwrap());
    let metadata = |name: &str| fs::metadata(copy.path().join(name)).unwrap();
    assert_eq!(metadata("agent.sh").permissions().mode() & 0o777, 0o755);
    assert_eq!(metadata("agent.sh").modified().unwrap(), old);
    assert_eq!(metadata("locked").permissions().mode() & 0o777, 0o444);
}

// gate-contract 15.4 R5: what a trial writes through a link lands in its copy.
#[test]
fn a_link_into_the_workspace_becomes_one_into_the_copy() {
    let folder = with_files(&["data/notes"]);
    let root = folder.path().canonicalize().unwrap();
    symlink(root.join("data"), root.join("absolute")).unwrap();
    symlink("data", root.join("relative")).unwrap();
    symlink("/nowhere/at/all", root.join("outside")).unwrap();
    let copy = copied(&look(&root).unwrap());
    for link in ["absolute", "relative"] {
        fs::write(copy.path().join(link).join("notes"), "changed").unwrap();
    }
    assert_eq!(fs::read_to_string(root.join("data/notes")).unwrap(), "data/notes");
    let outside = fs::read_link(copy.path().join("outside")).unwrap();
    assert_eq!(outside, Path::new("/nowhere/at/all"));
}

#[test]
fn a_fingerprint_changes_with_names_and_contents_and_with_nothing_else() {
    let print = |folder: &TempDir| fingerprint(&look(folder.path()).unwrap()).unwrap();
    let (one, other) = (with_files(&["a", "b"]), with_files(&["b", "a"]));
    assert_eq!(print(&one), print(&other));
    fs::write(other.path().join("a"), "changed").unwrap();
    assert_ne!(print(&one), print(&other));
    assert_ne!(print(&one), print(&with_files(&["a", "c"])));
}

#[test]
fn a_repository_that_git_cannot_read_is_not_taken_for_a_plain_folder() {
    let folder = with_files(&["a.py", ".git"]);
    let error = look(folder.path()).unwrap_err();
    assert!(
        error.message().starts_with("git cannot tell the files of"),
        "{error}"
    );
}

#[test]
fn the_store_is_no_part_of_the_workspace() {
    let folder = with_files(&["agent.py", "data/runs/1/meta.json", "data.txt"]);
    let workspace = Workspace::look(folder.path(), &folder.path().join("data")).unwrap();
    assert_eq!(names(&workspace), ["agent.py", "data.txt"]);
}

#[test]
fn a_copy_is_given_up_when_the_user_stops() {
    let folder = with_files(&["a"]);
    let target = tempfile::tempdir().unwrap();
    let error = copy(&look(folder.path()).unwrap(), target.path(), || true).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Interrupted);
}
