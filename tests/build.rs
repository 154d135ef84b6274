//! Makes the examples of the guides into documentation tests, without a line in them that a reader would not type.
//!
//! rustdoc's hidden lines (`# …`) are visible on a repository's page. So what only the test of an example needs is in a
//! comment of the page, directly above the block, with `BLOCK` in the place of the example:
//!
//! ```text
//! <!-- test: traced(async { BLOCK Ok(()) }); -->
//! ```

use std::path::Path;
use std::{env, fs, io};

const GUIDES: [&str; 1] = ["instrument-rust.md"];
/// What every example of a guide may use.
const WORLD: &str = "# use tracer_tests::guide::*;";

fn main() -> io::Result<()> {
    let output = env::var("OUT_DIR").map_err(io::Error::other)?;
    for guide in GUIDES {
        let source = Path::new("../docs").join(guide);
        println!("cargo::rerun-if-changed={}", source.display());
        fs::write(
            Path::new(&output).join(guide),
            testable(&fs::read_to_string(source)?),
        )?;
    }
    Ok(())
}

fn testable(guide: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut around = None;
    let mut after: Option<String> = None;
    for line in guide.lines() {
        if let Some(test) = line
            .strip_prefix("<!-- test: ")
            .and_then(|rest| rest.strip_suffix(" -->"))
        {
            around = test.split_once("BLOCK");
            assert!(
                around.is_some(),
                "the comment {line:?} does not say where BLOCK belongs"
            );
        } else if line.starts_with("```rust") {
            let (before, behind) = around.take().unwrap_or_default();
            lines.extend([line.to_owned(), WORLD.to_owned(), format!("# {before}")]);
            after = Some(format!("# {behind}"));
        } else {
            if line == "```" {
                lines.extend(after.take());
            }
            lines.push(line.to_owned());
        }
    }
    lines.join("\n")
}
