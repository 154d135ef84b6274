//! What Python code imports, as far as reading it shows.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::source;

/// How many files of the program are read.
const MAX_FILES: usize = 64;

/// Modules that belong to OpenTelemetry or bring it: with them a program may well export.
const INSTRUMENTATIONS: [&str; 7] = [
    "opentelemetry",
    "openinference",
    "logfire",
    "traceloop",
    "phoenix",
    "openlit",
    "langfuse",
];

pub(super) fn is_script(name: &str) -> bool {
    [".py", ".pyw", ".pyz"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

pub(super) fn is_instrumentation(module: &str) -> bool {
    INSTRUMENTATIONS.contains(&module)
}

/// The file that an interpreter, or a program that loads Python code, is started with.
pub(super) fn script(program: &str, arguments: &[String], directory: &Path) -> Option<PathBuf> {
    let is_interpreter = program.starts_with("python") || program.starts_with("pypy");
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-c" if is_interpreter => return None,
            "-m" if is_interpreter => return module_file(words.next()?, directory),
            // Options of the interpreter that have a value.
            "-W" | "-X" if is_interpreter => drop(words.next()),
            _ if word.starts_with('-') => {}
            _ if is_interpreter || is_script(word) => return Some(PathBuf::from(word)),
            // `uvicorn package.app:app`
            _ => {
                let module = word.split_once(':').map_or(word, |(module, _)| module);
                if let Some(file) = module_file(module, directory) {
                    return Some(file);
                }
            }
        }
    }
    None
}

/// The file of a module, relative to the directory that it is looked for in.
fn module_file(module: &str, directory: &Path) -> Option<PathBuf> {
    let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == '.';
    if module.is_empty() || !module.chars().all(is_name) {
        return None;
    }
    let path = PathBuf::from(module.replace('.', "/"));
    [
        path.with_extension("py"),
        path.join("__main__.py"),
        path.join("__init__.py"),
    ]
    .into_iter()
    .find(|candidate| directory.join(candidate).is_file())
}

/// The modules from elsewhere that a script imports, and those that its own modules import.
pub(super) fn imports(script: &Path) -> BTreeSet<String> {
    let folder = script.parent().unwrap_or(Path::new("")).to_owned();
    let mut imported = BTreeSet::new();
    let mut read = BTreeSet::new();
    let mut waiting = VecDeque::from([script.to_owned()]);
    while let Some(file) = waiting.pop_front() {
        if read.len() >= MAX_FILES || !read.insert(file.clone()) {
            continue;
        }
        let Some(text) = source(&file) else { continue };
        for module in imported_modules(&text) {
            let local = module_file(&module, &folder);
            match local {
                Some(local) => waiting.push_back(folder.join(local)),
                None => drop(imported.insert(known_name(&module))),
            }
        }
    }
    imported
}

/// The name that says which library it is: the first part, or two of them below a shared one (`google.adk`).
fn known_name(module: &str) -> String {
    let mut parts = module.split('.');
    match (parts.next(), parts.next()) {
        (Some("google"), Some(second)) => format!("google.{second}"),
        (first, _) => first.unwrap_or_default().to_owned(),
    }
}

/// The modules that `import` and `from` name at the beginning of a line, in functions too; relative ones are found by the
/// names of the folder.
fn imported_modules(text: &str) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    let mut add = |module: &str| {
        let module = module.trim().trim_start_matches('.');
        if !module.is_empty()
            && module
                .chars()
                .all(|char| char.is_alphanumeric() || "_.".contains(char))
        {
            modules.insert(module.to_owned());
        }
    };
    for line in text.lines() {
        let code = line.split('#').next().unwrap_or_default().trim_start();
        if let Some(names) = code.strip_prefix("import ") {
            for name in names.split(',') {
                add(name.split_whitespace().next().unwrap_or_default());
            }
        } else if let Some((module, names)) = code
            .strip_prefix("from ")
            .and_then(|rest| rest.split_once(" import "))
        {
            let module = module.trim();
            add(module);
            // `from google import adk`, `from . import tools`
            for name in names.trim_matches(['(', ')']).split(',') {
                let name = name.split_whitespace().next().unwrap_or_default();
                if module == "google" {
                    add(&format!("google.{name}"));
                } else if module == "." {
                    add(name);
                }
            }
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn modules(text: &str) -> Vec<String> {
        imported_modules(text).into_iter().collect()
    }

    #[test]
    fn imports_are_found_wherever_a_line_begins_with_one() {
        let text = "import os, openai as ai # import hidden\nfrom anthropic import Anthropic\n\
                    def f():\n    import litellm.utils\nx = 'import no'\nfrom google import genai, adk\nfrom . import tools\n";
        assert_eq!(
            modules(text),
            [
                "anthropic",
                "google",
                "google.adk",
                "google.genai",
                "litellm.utils",
                "openai",
                "os",
                "tools"
            ]
        );
    }

    #[test]
    fn modules_of_the_program_are_read_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("agent.py", "import models\nfrom steps.plan import plan\n");
        write("models.py", "import openai\nimport agent\n");
        write("steps/plan.py", "from google.adk.agents import Agent\n");
        write("steps/__init__.py", "");
        let found: Vec<String> = imports(&folder.path().join("agent.py")).into_iter().collect();
        assert_eq!(found, ["google.adk", "openai"]);
    }

    #[test]
    fn the_script_is_found_behind_options() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("app.py"), "").unwrap();
        fs::create_dir(folder.path().join("pack")).unwrap();
        fs::write(folder.path().join("pack/__main__.py"), "").unwrap();
        let found = |program: &str, words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            script(program, &words, folder.path()).map(|path| path.display().to_string())
        };
        for (program, words, expected) in [
            ("python", "-u -X dev x/agent.py --flag", Some("x/agent.py")),
            ("python3.12", "-m app", Some("app.py")),
            ("python", "-m pack run", Some("pack/__main__.py")),
            ("python", "-m ../../etc/passwd", None),
            ("python", "-c code", None),
            ("python", "", None),
            ("uvicorn", "--reload app:app", Some("app.py")),
            ("uvicorn", "other:app", None),
        ] {
            assert_eq!(found(program, words).as_deref(), expected, "{program} {words}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_file_holds_is_read_without_panic(text in "(import |from |\\.|,|#|\\(|a|é|\\n| ){0,60}") {
            let _ = imported_modules(&text);
        }
    }
}
