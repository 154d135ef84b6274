//! What the fuzz targets check holds for their seeds, and for every input that was once found to break something.

#![expect(unreachable_pub, reason = "the checks are the fuzz targets' too")]

// The checks of the fuzz targets, which are a package outside the workspace.
#[path = "../../../fuzz/checks.rs"]
mod checks;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus");
    let seeds = std::fs::read_dir(std::path::Path::new(folder).join(target)).unwrap();
    let mut count = 0;
    for seed in seeds {
        let bytes = std::fs::read(seed.unwrap().path()).unwrap();
        check(&bytes);
        // Files that are cut are what a reader meets; so is every beginning of a seed.
        (0..bytes.len())
            .step_by(17)
            .for_each(|length| check(&bytes[..length]));
        count += 1;
    }
    assert!(count >= 5, "{target} has {count} seeds");
}

#[test]
fn metadata() {
    replay("meta", checks::meta);
}

#[test]
fn lines_of_a_log() {
    replay("span_line", checks::span_line);
}

#[test]
fn run_directories() {
    replay("run_directory", checks::run_directory);
}

#[test]
fn redaction_of_text() {
    replay("redact_text", checks::redact_text);
}
