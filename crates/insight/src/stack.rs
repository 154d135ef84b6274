//! The lines of a stack trace, and which of them are the user's own code.

/// Places of code that comes with a language or from a registry.
const FOREIGN_PLACES: [&str; 12] = [
    "/rustc/",
    "/.rustup/",
    "/.cargo/registry/",
    "/.cargo/git/",
    "/library/std/",
    "/library/core/",
    "site-packages/",
    "dist-packages/",
    "/lib/python",
    "node_modules/",
    "node:internal",
    "<frozen ",
];
/// Beginnings of the names of functions that come with Rust or record the run.
const FOREIGN_NAMES: [&str; 9] = [
    "std::",
    "core::",
    "alloc::",
    "tokio::",
    "rust_begin_unwind",
    "tracer_sdk::",
    "__rust",
    "__libc",
    "_start",
];

/// The lines, each with whether it is the user's own code. A frame of two lines, function and place, is judged as one.
pub fn lines(stack: &str) -> impl Iterator<Item = (&str, bool)> {
    let lines: Vec<&str> = stack.lines().collect();
    let mut judged: Vec<(&str, bool)> = Vec::with_capacity(lines.len());
    for (number, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let is_place =
            trimmed.starts_with("at ") && starts_a_frame(lines.get(number.wrapping_sub(1)).copied());
        let is_user = if is_place {
            judged.last().is_some_and(|(_, is_user)| *is_user)
        } else {
            let place = lines
                .get(number + 1)
                .filter(|next| next.trim_start().starts_with("at ") && starts_a_frame(Some(line)));
            is_frame(trimmed)
                && !is_foreign(trimmed)
                && !place.is_some_and(|place| is_foreign(place.trim_start()))
        };
        judged.push((line, is_user));
    }
    judged.into_iter()
}

/// `12: tracer_cli::function`, as Rust begins a frame.
fn starts_a_frame(line: Option<&str>) -> bool {
    line.and_then(|line| line.trim_start().split_once(':'))
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The line is a frame at all, of Rust, Python or JavaScript.
fn is_frame(line: &str) -> bool {
    starts_a_frame(Some(line))
        || line.starts_with("File \"")
        || line.starts_with("at ")
        || line.contains(".rs:")
}

fn is_foreign(line: &str) -> bool {
    let name = line.split_once(": ").map_or(line, |(_, name)| name);
    let name = name.trim_start_matches('<');
    FOREIGN_PLACES.iter().any(|place| line.contains(place))
        || FOREIGN_NAMES.iter().any(|foreign| name.starts_with(foreign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(stack: &str) -> Vec<&str> {
        lines(stack)
            .filter(|(_, is_user)| *is_user)
            .map(|(line, _)| line.trim())
            .collect()
    }

    #[test]
    fn frames_of_user_code_are_distinguished_from_libraries() {
        let rust = "   0: std::panicking::begin_panic\n             at /rustc/1/library/std/src/panicking.rs:5\n   \
                    1: agent::refund\n             at ./src/refund.rs:12:5\n   2: reqwest::send\n             \
                    at /home/me/.cargo/registry/src/reqwest/lib.rs:9";
        assert_eq!(own(rust), ["1: agent::refund", "at ./src/refund.rs:12:5"]);
        let python = "Traceback (most recent call last):\n  File \"/app/agent.py\", line 3, in run\n    call()\n  \
                      File \"/usr/lib/python3/json.py\", line 9, in load\nValueError: no";
        assert_eq!(own(python), ["File \"/app/agent.py\", line 3, in run"]);
        let node = "Error: no\n    at refund (/app/agent.js:3:5)\n    at node:internal/process:9";
        assert_eq!(own(node), ["at refund (/app/agent.js:3:5)"]);
        assert!(own("").is_empty());
    }
}
