//! Program name for suggested commands: `tracer`, or `cargo run -p tracer-cli --` when it was started from a clone.

use std::ffi::OsString;
use std::path::Path;

use crate::session::quoted;

/// The words before a command's arguments, as this process was started.
pub(crate) fn detect() -> String {
    let directory = std::env::current_dir().unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    from_environment(|name| std::env::var_os(name), &program, &directory)
}

/// `cargo run` describes the package that it runs in environment variables; those of another package were inherited from
/// a program that calls this one.
fn from_environment(variable: impl Fn(&str) -> Option<OsString>, program: &Path, directory: &Path) -> String {
    let installed = "tracer".to_owned();
    if variable("CARGO_PKG_NAME").is_none_or(|name| name != env!("CARGO_PKG_NAME")) {
        return installed;
    }
    let Some(manifest_dir) = variable("CARGO_MANIFEST_DIR") else {
        return installed;
    };
    let Some(workspace) = Path::new(&manifest_dir).parent() else {
        return installed;
    };
    let mut words = "cargo run".to_owned();
    if program.components().any(|part| part.as_os_str() == "release") {
        words.push_str(" --release");
    }
    if !directory.starts_with(workspace) {
        words.push_str(" --manifest-path ");
        words.push_str(&quoted(&workspace.join("Cargo.toml")));
    }
    words.push_str(" -p tracer-cli --");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(name: &str, program: &str, directory: &str) -> String {
        let variable = |wanted: &str| match wanted {
            "CARGO_PKG_NAME" => Some(name.into()),
            "CARGO_MANIFEST_DIR" => Some("/clone/tracer-cli".into()),
            _ => None,
        };
        from_environment(variable, Path::new(program), Path::new(directory))
    }

    #[test]
    fn a_suggested_command_repeats_how_the_program_was_started() {
        let debug = "/clone/target/debug/tracer";
        assert_eq!(
            started("tracer-cli", debug, "/clone"),
            "cargo run -p tracer-cli --"
        );
        assert_eq!(
            started("tracer-cli", debug, "/clone/docs"),
            "cargo run -p tracer-cli --"
        );
        assert_eq!(
            started("tracer-cli", "/clone/target/release/tracer", "/clone"),
            "cargo run --release -p tracer-cli --"
        );
        assert_eq!(
            started("tracer-cli", debug, "/elsewhere"),
            "cargo run --manifest-path /clone/Cargo.toml -p tracer-cli --"
        );
    }

    #[test]
    fn an_installed_program_is_suggested_by_its_name() {
        let nothing = |_: &str| None;
        assert_eq!(
            from_environment(nothing, Path::new("/usr/bin/tracer"), Path::new("/clone")),
            "tracer"
        );
        // Cargo ran another program, which calls the installed one.
        assert_eq!(started("agent", "/usr/bin/tracer", "/clone"), "tracer");
    }
}
