//! Containment of a path in a folder: by text, and by links.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// `path` without `.` and `..`, when it is `folder` or inside of it; `None` when it, or a link on its way, leads out.
pub(super) fn inside(folder: &Path, path: &Path) -> Option<PathBuf> {
    let plain = without_dots(path)?;
    (plain.starts_with(without_dots(folder)?) && !links_lead_out(folder, &plain)).then_some(plain)
}

/// `path` without `.` and `..`; `None` when `..` leads above its beginning.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match plain.components().next_back() {
                Some(Component::Normal(_)) => {
                    plain.pop();
                }
                // The parent of the root is the root.
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => return None,
            },
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// Returns whether the existing part of `path` is really outside of `folder`.
fn links_lead_out(folder: &Path, path: &Path) -> bool {
    // Without a folder there is nothing in it that could lead anywhere.
    let Ok(real_folder) = fs::canonicalize(folder) else {
        return false;
    };
    for part in path.ancestors() {
        match fs::symlink_metadata(part) {
            // A link that leads nowhere is there as well, and does not resolve.
            Ok(_) => return !fs::canonicalize(part).is_ok_and(|real| real.starts_with(&real_folder)),
            Err(error) if is_absent(&error) => {}
            Err(_) => return true,
        }
    }
    false
}

/// Returns whether the error means that nothing of a name is there.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_inside_when_its_text_is() {
        let folder = Path::new("/nowhere/agent");
        let inside = |path: &str| inside(folder, &folder.join(path));
        for (path, plain) in [
            ("runs", "/nowhere/agent/runs"),
            ("", "/nowhere/agent"),
            (".", "/nowhere/agent"),
            ("a/./b/../c", "/nowhere/agent/a/c"),
            ("../agent/runs", "/nowhere/agent/runs"),
            ("/nowhere/agent/runs", "/nowhere/agent/runs"),
        ] {
            assert_eq!(inside(path).as_deref(), Some(Path::new(plain)), "{path}");
        }
        for path in [
            "..",
            "../runs",
            "a/../../runs",
            "/",
            "/tmp",
            "/nowhere",
            "/nowhere/agents",
            "/nowhere/agent/../runs",
            "../../../../../../..",
        ] {
            assert_eq!(inside(path), None, "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_refused_wherever_it_is_on_the_way() {
        use std::os::unix::fs::symlink;
        let outer = tempfile::tempdir().unwrap();
        let (folder, outside) = (outer.path().join("agent"), outer.path().join("outside"));
        fs::create_dir_all(folder.join("real/deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(folder.join("file"), "").unwrap();
        symlink(&outside, folder.join("out")).unwrap();
        symlink("../..", folder.join("real/up")).unwrap();
        symlink(outer.path().join("not there"), folder.join("dangling")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        symlink(folder.join("real/deep"), folder.join("in")).unwrap();
        let is_inside = |path: &str| inside(&folder, &folder.join(path)).is_some();
        for path in ["real", "real/new/newer", "in", "in/new", "file", "file/below"] {
            assert!(is_inside(path), "{path}");
        }
        for path in [
            "out",
            "out/new",
            "real/up",
            "real/up/new/newer",
            "dangling",
            "dangling/new",
            "loop",
            "loop/new",
        ] {
            assert!(!is_inside(path), "{path}");
        }
        // A project that is reached by a link is inside of itself.
        let link = outer.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(inside(&link, &link.join("runs")).is_some());
    }
}
