//! Examples of the documentation show every name: they hide the function around them, and nothing that a visible line uses.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::Path;

/// How a hidden line begins: an asynchronous example is within a function, and one with `?` ends with the type of its error.
const WRAPPERS: [&str; 4] = [
    "#[tokio::main",
    "async fn main() ",
    "tokio::runtime::Builder::new_current_thread().",
    "Ok::<(), ",
];
/// Words after the fence of a block that is an example all the same.
const OF_AN_EXAMPLE: [&str; 4] = ["rust", "no_run", "should_panic", "compile_fail"];

/// What the examples of a text are.
#[derive(Debug, Default)]
struct Examples {
    count: usize,
    /// Line numbers and texts of lines that hide more than a wrapper.
    hiding: Vec<(usize, String)>,
}

impl Examples {
    /// Adds the examples of a page, or of the comments of a source, as numbered lines of Markdown. `None` ends a comment.
    fn add<'a>(&mut self, lines: impl Iterator<Item = (usize, Option<&'a str>)>) {
        // Within a block of code, whether it is an example.
        let mut block = None;
        for (number, line) in lines {
            let Some(line) = line.map(str::trim) else {
                block = None;
                continue;
            };
            if let Some(words) = line.strip_prefix("```") {
                block = match block {
                    Some(_) => None,
                    None => Some(is_example(words)),
                };
                self.count += usize::from(block == Some(true));
            } else if block == Some(true)
                && let Some(hidden) = line.strip_prefix("# ")
                && !is_wrapper(hidden.trim())
            {
                self.hiding.push((number, line.to_owned()));
            }
        }
    }

    fn of_source(text: &str) -> Self {
        let mut examples = Self::default();
        examples.add(text.lines().enumerate().map(|(index, line)| {
            let line = line.trim_start();
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            (index + 1, comment)
        }));
        examples
    }

    fn of_page(text: &str) -> Self {
        let mut examples = Self::default();
        examples.add(
            text.lines()
                .enumerate()
                .map(|(index, line)| (index + 1, Some(line))),
        );
        examples
    }
}

/// Whether rustdoc runs or compiles a block: without a word after its fence, or with its own words.
fn is_example(words: &str) -> bool {
    let mut words = words.split(',').filter(|word| !word.is_empty());
    words.all(|word| OF_AN_EXAMPLE.contains(&word))
}

fn is_wrapper(hidden: &str) -> bool {
    let is_end = hidden
        .trim_start_matches("Ok(())")
        .trim_matches([' ', '}', ')', ';'])
        .is_empty();
    let names_something = hidden.contains("let ") || hidden.contains("include!");
    is_end || (WRAPPERS.iter().any(|start| hidden.starts_with(start)) && !names_something)
}

/// The examples of a source and of the pages that it includes as documentation, added to the count and the problems.
fn check_source(root: &Path, path: &Path, count: &mut usize, problems: &mut Vec<String>) {
    let text = fs::read_to_string(path).unwrap();
    let pages = text.split("doc = include_str!(\"").skip(1).map(|rest| {
        let page = path.parent().unwrap().join(rest.split('"').next().unwrap());
        (Examples::of_page(&fs::read_to_string(&page).unwrap()), page)
    });
    for (examples, path) in pages.chain([(Examples::of_source(&text), path.to_owned())]) {
        *count += examples.count;
        let place = path.strip_prefix(root).unwrap().display();
        problems.extend(
            examples
                .hiding
                .iter()
                .map(|(number, line)| format!("{place}:{number}: {line}")),
        );
    }
}

#[test]
fn documentation_examples_hide_no_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let (mut count, mut problems) = (0, Vec::new());
    for path in tracer_floors::files(&root, &["rs"], &[]).unwrap() {
        check_source(&root, &path, &mut count, &mut problems);
    }
    assert!(count > 500, "{count} examples were found");
    assert!(
        problems.is_empty(),
        "show these lines, or what is shorter, such as `testing::capture`: a reader sees no hidden ones\n{}",
        problems.join("\n")
    );
}

#[test]
fn only_hidden_lines_of_examples_count() {
    let hiding = |text: &str| Examples::of_source(text).hiding;
    for hidden in [
        "let run = 1;",
        "use std::fs;",
        "fn answer() {}",
        "    .config(&config)",
        "} let run = 1;",
        "tokio::runtime::Builder::new_current_thread().build().unwrap(); let run = 1;",
    ] {
        let text = format!("    /// ```\n    /// # {hidden}\n    /// ```\n");
        assert_eq!(hiding(&text), [(2, format!("# {hidden}"))], "{text}");
    }
    for shown in [
        "//! # Errors\n",
        "/// ```\n/// let run = 1;\n/// ```\n/// # Errors\n",
        "/// ```\n/// # async fn main() {\n/// # }\n/// # Ok(()) }\n/// ```\n",
        "/// ```no_run\n/// # Ok::<(), std::io::Error>(())\n/// # Ok::<(), BucketError>(()) }).unwrap();\n/// ```\n",
        "/// ```toml\n/// # let it be\n/// ```\n",
        "/// ```\n/// #[derive(Debug)]\n/// struct Run;\n/// ```\n",
        "/// a fence of another comment: ```\nfn run() {}\n/// # let run = 1;\n",
    ] {
        assert_eq!(hiding(shown), [], "{shown}");
    }
}
