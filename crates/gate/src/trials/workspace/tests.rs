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

fn look(root: &Path) -> Result<Workspace, InputError> {
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

// gate, *Trials*: a repository is not needed, and names need not be UTF-8.
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

// gate, *Trials*: what a trial writes through a link lands in its copy.
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
        error.message().starts_with("git cannot list the files of"),
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

/// What lies outside of a workspace, and must stay as it is whatever is copied.
struct Outside {
    folder: TempDir,
    before: Vec<(PathBuf, Vec<u8>)>,
}

impl Outside {
    fn new() -> Self {
        let folder = with_files(&["a.txt", "deep/b.txt"]);
        let before = all_files(folder.path());
        Self { folder, before }
    }

    #[track_caller]
    fn is_as_it_was(&self, case: &str) {
        assert_eq!(all_files(self.folder.path()), self.before, "{case}");
    }
}

/// Every file below a folder with what is in it, links not followed.
fn all_files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            files.push((entry.path().to_owned(), fs::read(entry.path()).unwrap()));
        }
    }
    files
}

/// A repository that tracks `data/a.txt`, `data/deep/b.txt` and `other`.
fn tracked() -> TempDir {
    let folder = with_files(&["data/a.txt", "data/deep/b.txt", "other"]);
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "."]);
    folder
}

type Change = fn(&Path, &Path);

/// The ways in which a tracked tree comes to lead somewhere else: each is given the workspace and the folder outside.
const WAYS_OUT: [(&str, Change); 9] = [
    ("a tracked folder becomes a link", |root, outside| {
        fs::remove_dir_all(root.join("data")).unwrap();
        symlink(outside, root.join("data")).unwrap();
    }),
    (
        "a folder within a tracked folder becomes a link",
        |root, outside| {
            fs::remove_dir_all(root.join("data/deep")).unwrap();
            symlink(outside.join("deep"), root.join("data/deep")).unwrap();
        },
    ),
    ("a tracked folder becomes a link to a link", |root, outside| {
        fs::remove_dir_all(root.join("data")).unwrap();
        symlink(outside, root.join("hop")).unwrap();
        symlink("hop", root.join("data")).unwrap();
    }),
    (
        "a tracked folder becomes a link that leads nowhere",
        |root, outside| {
            fs::remove_dir_all(root.join("data")).unwrap();
            symlink(outside.join("absent"), root.join("data")).unwrap();
        },
    ),
    ("a tracked folder becomes a link to itself", |root, _| {
        fs::remove_dir_all(root.join("data")).unwrap();
        symlink("data", root.join("data")).unwrap();
    }),
    ("a tracked folder becomes a link to the workspace", |root, _| {
        fs::remove_dir_all(root.join("data")).unwrap();
        symlink(root, root.join("data")).unwrap();
    }),
    ("a tracked file becomes a link", |root, outside| {
        fs::remove_file(root.join("data/a.txt")).unwrap();
        symlink(outside.join("a.txt"), root.join("data/a.txt")).unwrap();
    }),
    ("a tracked file becomes a hard link", |root, outside| {
        fs::remove_file(root.join("data/a.txt")).unwrap();
        fs::hard_link(outside.join("a.txt"), root.join("data/a.txt")).unwrap();
    }),
    ("a tracked folder becomes a file", |root, outside| {
        fs::remove_dir_all(root.join("data")).unwrap();
        fs::copy(outside.join("a.txt"), root.join("data")).unwrap();
    }),
];

#[test]
fn no_copy_ever_writes_to_what_is_outside_of_it() {
    for (case, change) in WAYS_OUT {
        let (folder, outside) = (tracked(), Outside::new());
        let root = folder.path().canonicalize().unwrap();
        change(&root, outside.folder.path());
        let original = all_files(&root);
        let copy = copied(&look(&root).unwrap());
        outside.is_as_it_was(case);
        assert_eq!(all_files(&root), original, "{case}");
        // What a trial does to the files of its copy stays there, too; a link that leads out is the user's own.
        for (file, _) in all_files(copy.path()) {
            fs::write(file, "a trial was here").unwrap();
        }
        outside.is_as_it_was(case);
        assert_eq!(all_files(&root), original, "{case}");
    }
}

#[test]
fn what_changes_between_listing_and_copying_is_not_followed() {
    for (case, change) in WAYS_OUT {
        let (folder, outside) = (tracked(), Outside::new());
        let root = folder.path().canonicalize().unwrap();
        let workspace = look(&root).unwrap();
        change(&root, outside.folder.path());
        let copy = copied(&workspace);
        outside.is_as_it_was(case);
        assert_eq!(
            fs::read_to_string(copy.path().join("other")).unwrap(),
            "other",
            "{case}: the rest is copied"
        );
    }
}

#[test]
fn a_target_is_created_and_never_opened_through_what_is_there() {
    // Whoever lists first has the place: a link that was copied is no folder to copy into.
    let (folder, outside) = (tracked(), Outside::new());
    let target = tempfile::tempdir().unwrap();
    symlink(outside.folder.path(), target.path().join("data")).unwrap();
    symlink(outside.folder.path().join("a.txt"), target.path().join("other")).unwrap();
    copy(&look(folder.path()).unwrap(), target.path(), || false).unwrap();
    outside.is_as_it_was("links in the target");
}

#[test]
fn a_workspace_that_is_changed_all_the_time_is_copied_without_harm() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let (folder, outside) = (tracked(), Outside::new());
    let root = folder.path().canonicalize().unwrap();
    let workspace = look(&root).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // The folder and a link to the outside take turns.
                fs::rename(root.join("data"), root.join("aside")).unwrap();
                symlink(outside.folder.path(), root.join("data")).unwrap();
                fs::remove_file(root.join("data")).unwrap();
                fs::rename(root.join("aside"), root.join("data")).unwrap();
            }
        });
        for _ in 0..200 {
            let target = tempfile::tempdir().unwrap();
            // What vanishes while it is read is an error of that trial; what matters is what was not touched.
            let _ = copy(&workspace, target.path(), || false);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    outside.is_as_it_was("a race");
}

#[test]
fn a_pipe_in_the_place_of_a_file_blocks_nothing() {
    let folder = tracked();
    let workspace = look(folder.path()).unwrap();
    fs::remove_file(folder.path().join("other")).unwrap();
    nix::unistd::mkfifo(&folder.path().join("other"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let copy = copied(&workspace);
    assert!(!copy.path().join("other").exists());
    fingerprint(&workspace).unwrap();
}

#[test]
fn another_repository_in_the_workspace_is_left_out_whatever_its_place_becomes() {
    let outside = Outside::new();
    let folder = tracked();
    let inner = folder.path().join("vendored");
    fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "--quiet"]);
    fs::write(inner.join("a.txt"), "inner").unwrap();
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "--quiet", "--message", "first"]);
    // As a submodule is tracked: a commit in the place of a folder.
    git(
        folder.path(),
        &["-c", "advice.addEmbeddedRepo=false", "add", "vendored"],
    );
    let copy = copied(&look(folder.path()).unwrap());
    assert!(!copy.path().join("vendored").exists());

    fs::remove_dir_all(&inner).unwrap();
    symlink(outside.folder.path(), &inner).unwrap();
    copied(&look(folder.path()).unwrap());
    outside.is_as_it_was("a submodule becomes a link");
}

#[test]
fn what_lies_behind_a_link_is_no_part_of_the_fingerprint() {
    let (folder, outside) = (tracked(), Outside::new());
    fs::remove_dir_all(folder.path().join("data")).unwrap();
    symlink(outside.folder.path(), folder.path().join("data")).unwrap();
    let print = || fingerprint(&look(folder.path()).unwrap()).unwrap();
    let before = print();
    fs::write(outside.folder.path().join("a.txt"), "changed").unwrap();
    assert_eq!(print(), before);
}
