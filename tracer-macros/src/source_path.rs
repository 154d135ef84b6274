//! Path of a source file as a trace records it: relative to the root of its package, never a path of the build machine.

use std::env;

use proc_macro2::Span;

/// The path of the file that holds `span`, relative to the package being built.
pub(crate) fn source_path(span: Span) -> String {
    // `unwrap` turns the span into the compiler's own, which exists wherever an attribute is expanded.
    let file = span.unwrap().file();
    relative_to_package(&file, &env::var("CARGO_MANIFEST_DIR").unwrap_or_default())
}

/// The compiler names a file from where it was started: the workspace, so that the path begins with what the package's own
/// folder ends with; or in full, for a package from a registry.
fn relative_to_package(file: &str, package: &str) -> String {
    let (file, package) = (file.replace('\\', "/"), package.replace('\\', "/"));
    let file: Vec<&str> = file.split('/').filter(|part| *part != ".").collect();
    let package: Vec<&str> = package.split('/').filter(|part| !part.is_empty()).collect();
    if !is_absolute(&file) {
        return file[shared_parts(&package, &file)..].join("/");
    }
    let parts: Vec<&str> = file.iter().copied().filter(|part| !part.is_empty()).collect();
    match parts.strip_prefix(package.as_slice()) {
        Some(inside) if !package.is_empty() => inside.join("/"),
        // Generated or included from elsewhere: the name alone says nothing about the machine.
        _ => parts.last().copied().unwrap_or_default().to_owned(),
    }
}

fn is_absolute(file: &[&str]) -> bool {
    file.first()
        .is_some_and(|first| first.is_empty() || first.ends_with(':'))
}

/// Most parts at the start of `file` that are the last ones of `package`. The file's own name is never one.
fn shared_parts(package: &[&str], file: &[&str]) -> usize {
    let most = package.len().min(file.len().saturating_sub(1));
    (0..=most)
        .rev()
        .find(|count| package.ends_with(&file[..*count]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::relative_to_package;

    #[test]
    fn a_member_of_a_workspace_is_named_from_its_own_root() {
        assert_eq!(
            relative_to_package("agents/src/main.rs", "/home/me/work/agents"),
            "src/main.rs"
        );
        assert_eq!(
            relative_to_package("crates/agents/src/main.rs", "/home/me/work/crates/agents"),
            "src/main.rs"
        );
        assert_eq!(
            relative_to_package("tests/tests/macros.rs", "/home/me/work/tests"),
            "tests/macros.rs"
        );
    }

    #[test]
    fn a_package_that_is_its_own_workspace_is_named_as_it_is() {
        assert_eq!(
            relative_to_package("src/main.rs", "/home/me/agent"),
            "src/main.rs"
        );
        assert_eq!(
            relative_to_package("./src/main.rs", "/home/me/agent"),
            "src/main.rs"
        );
        assert_eq!(relative_to_package("src/main.rs", ""), "src/main.rs");
    }

    #[test]
    fn no_path_of_the_build_machine_is_left() {
        let registry = "/home/me/.cargo/registry/src/index/agent-0.1.0";
        assert_eq!(
            relative_to_package(&format!("{registry}/src/lib.rs"), registry),
            "src/lib.rs"
        );
        assert_eq!(
            relative_to_package("/tmp/build/out/generated.rs", "/home/me/agent"),
            "generated.rs"
        );
        assert_eq!(
            relative_to_package("/tmp/build/out/generated.rs", ""),
            "generated.rs"
        );
    }

    #[test]
    fn windows_paths_use_forward_slashes() {
        assert_eq!(
            relative_to_package(r"agents\src\main.rs", r"C:\work\agents"),
            "src/main.rs"
        );
        assert_eq!(
            relative_to_package(r"C:\work\agents\src\main.rs", r"C:\work\agents"),
            "src/main.rs"
        );
    }
}
