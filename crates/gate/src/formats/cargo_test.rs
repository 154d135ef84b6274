//! Frozen runs as a file of `cargo test`.

/// The beginning of the file: the function that every test calls.
const HEAD: &str = include_str!("cargo_test/head.rs.txt");

/// The tests with one more, which gates on a command by the policy and the cassette of `name`; `None` where `existing` is another
/// file, or has the test.
#[must_use]
pub fn with_test(existing: Option<&str>, name: &str, command: &[String]) -> Option<String> {
    let existing = existing.unwrap_or(HEAD);
    let function = function_name(name);
    // Only the first line: formatters rewrite code.
    if existing.lines().next() != HEAD.lines().next() || existing.contains(&format!("fn {function}()")) {
        return None;
    }
    let words: Vec<String> = command.iter().map(|word| format!("{word:?}")).collect();
    Some(format!(
        "{existing}\n#[test]\nfn {function}() {{\n    frozen({name:?}, &[{}]);\n}}\n",
        words.join(", ")
    ))
}

/// The name with a prefix, which makes it an identifier that is neither a keyword nor the function of all tests.
fn function_name(name: &str) -> String {
    let word = |char: char| {
        if char.is_ascii_alphanumeric() {
            char.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let words: String = name.chars().map(word).collect();
    format!("run_{words}")
}

#[test]
fn a_test_is_added_once_and_to_no_other_file() {
    let command = ["target/debug/agent".to_owned(), "a \"b\"".to_owned()];
    let first = with_test(None, "support-1f2e", &command).unwrap();
    assert!(first.contains(
        "fn run_support_1f2e() {\n    frozen(\"support-1f2e\", &[\"target/debug/agent\", \"a \\\"b\\\"\"]);"
    ));
    assert_eq!(with_test(Some(&first), "support-1f2e", &command), None);
    let both = with_test(Some(&first), "7b-other", &command).unwrap();
    assert!(both.starts_with(&first) && both.contains("fn run_7b_other()"));
    let formatted = first.replace("\n        ", "\n            ");
    for name in ["frozen", "type"] {
        let both = with_test(Some(&formatted), name, &command).unwrap();
        assert!(both.starts_with(&formatted) && both.contains(&format!("fn run_{name}()")));
    }
    assert_eq!(with_test(Some("fn main() {}"), "other", &command), None);
}
