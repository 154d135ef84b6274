//! One script of a page: its module with all that it imports. A browser that asks for each of twenty modules spends a sixth of a
//! page's start on asking.
//!
//! Each module becomes a function that runs once, when somebody first needs what it exports; `import()` calls it as well, so that a
//! part that is shown late costs nothing before but its text. The page's modules are written for it: an import or an export is one
//! line (`imported`, `exported`), names are never re-exported or reassigned, and no module imports itself by a detour.
//!
//! A function in parentheses is compiled while the script is still loading, any other first looked over and compiled when it is
//! called, while the page waits: a third of its scripts' time. So what the page needs at once is in parentheses.

use std::collections::BTreeSet;
use std::fmt::Write;

/// What all functions of modules are made with.
const ONCE: &str = "const once$ = (make) => { let made; return () => (made ??= make()); };\n";

/// The modules that a script still lacks.
#[derive(Default)]
struct Missing {
    needed_at_once: Vec<String>,
    needed_late: Vec<String>,
}

impl Missing {
    /// The next module, and whether it is needed at once.
    fn next(&mut self) -> Option<(String, bool)> {
        let at_once = self.needed_at_once.pop().map(|name| (name, true));
        at_once.or_else(|| self.needed_late.pop().map(|name| (name, false)))
    }
}

/// The script of the page whose module has this name. `read` gives the text of a module; one that is missing is left out, and the
/// browser says so.
pub(super) fn of(page: &str, read: impl Fn(&str) -> Option<String>) -> String {
    let mut script = ONCE.to_owned();
    let mut seen = BTreeSet::from([page.to_owned()]);
    let mut missing = Missing::default();
    let first = joinable(page, &read);
    missing.needed_at_once.extend(first.imports);
    missing.needed_late.extend(first.late_imports);
    while let Some((name, at_once)) = missing.next() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let module = joinable(&name, &read);
        let (open, close) = if at_once { ("(", ")") } else { ("", "") };
        // Writing to a string does not fail.
        let _ = writeln!(
            script,
            "const {} = once$({open}() => {{\n{}return {{ {} }};\n}}{close});",
            function(&name),
            module.code,
            module.exports.join(", ")
        );
        let imports = if at_once {
            &mut missing.needed_at_once
        } else {
            &mut missing.needed_late
        };
        imports.extend(module.imports);
        missing.needed_late.extend(module.late_imports);
    }
    // It alone may wait at its top, and it needs all others.
    script + &first.code
}

/// A module as a part of a script.
#[derive(Default)]
struct Joinable {
    /// With calls in the place of its imports.
    code: String,
    /// Names.
    exports: Vec<String>,
    /// Files.
    imports: Vec<String>,
    /// Files that it imports by `import()`.
    late_imports: Vec<String>,
}

fn joinable(name: &str, read: impl Fn(&str) -> Option<String>) -> Joinable {
    let text = without_comments(&read(name).unwrap_or_default());
    let mut module = Joinable::default();
    for line in text.lines() {
        if let Some((names, file)) = imported(line) {
            let names = names.replace(" as ", ": ");
            let _ = writeln!(module.code, "const {names} = {}();", function(file));
            module.imports.push(file.to_owned());
            continue;
        }
        let line = exported(line).map_or(line, |(name, declaration)| {
            module.exports.push(name.to_owned());
            declaration
        });
        let mut rest = line;
        while let Some((before, file, after)) = imported_late(rest) {
            let _ = write!(module.code, "{before}Promise.resolve({}())", function(file));
            module.late_imports.push(file.to_owned());
            rest = after;
        }
        module.code.push_str(rest);
        module.code.push('\n');
    }
    module
}

/// `import { fill, make } from "./dom.js";`: the names with their braces, and the file.
fn imported(line: &str) -> Option<(&str, &str)> {
    let (names, file) = line.strip_prefix("import ")?.split_once(" from \"./")?;
    Some((names, file.strip_suffix("\";")?))
}

/// The first `import("./menu.js")` of a line: what is before it, the file, what is behind it.
fn imported_late(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once("import(\"./")?;
    let (file, after) = rest.split_once("\")")?;
    Some((before, file, after))
}

/// `export async function ask() {`: the name, and the line without `export`.
fn exported(line: &str) -> Option<(&str, &str)> {
    let declaration = line.strip_prefix("export ")?;
    let kinds = ["async function ", "function ", "class ", "const "];
    let behind = kinds.iter().find_map(|kind| declaration.strip_prefix(kind))?;
    let end = behind.find(|char: char| !char.is_alphanumeric() && char != '_')?;
    Some((behind.get(..end)?, declaration))
}

/// The name of the function that a module becomes; `$` keeps it apart from the module's own names.
fn function(file: &str) -> String {
    file.trim_end_matches(".js").replace('-', "_") + "$"
}

/// A module without the comments that begin a line. Those within a line stay: to find them, strings would have to be understood.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut is_comment = false;
    for line in text.lines() {
        let line = line.trim_start();
        let rest = if is_comment || line.starts_with("/*") {
            let end = line.split_once("*/");
            is_comment = end.is_none();
            end.map_or("", |(_, rest)| rest.trim_start())
        } else {
            line
        };
        if !rest.is_empty() && !rest.starts_with("//") {
            code.push_str(rest);
            code.push('\n');
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    fn modules() -> BTreeMap<String, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files
            .filter(|file| file.extension().is_some_and(|extension| extension == "js"))
            .map(|file| {
                let name = file.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(file).unwrap())
            })
            .collect()
    }

    fn imports(text: &str) -> Vec<String> {
        text.lines()
            .filter_map(imported)
            .map(|(_, file)| file.to_owned())
            .collect()
    }

    #[test]
    fn a_page_is_its_module_behind_the_functions_of_those_it_needs() {
        let modules = BTreeMap::from([
            (
                "page.js",
                "// The page.\nimport { ask as question } from \"./api.js\";\n\nconst { help } = await import(\"./help-text.js\");\nquestion(help);\n",
            ),
            (
                "api.js",
                "/** Asks. */\nexport async function ask() {\n  return 1; // at once\n}\nexport const MOST = 2;\n/** @type {number} */ let own = 1;\n",
            ),
            (
                "help-text.js",
                "/**\n * Helps.\n */\nexport class Help {}\nexport const help = new Help();\n",
            ),
        ]);
        let script = of("page.js", |name| modules.get(name).map(|text| (*text).to_owned()));
        let expected = "\
const once$ = (make) => { let made; return () => (made ??= make()); };
const api$ = once$((() => {
async function ask() {
return 1; // at once
}
const MOST = 2;
let own = 1;
return { ask, MOST };
}));
const help_text$ = once$(() => {
class Help {}
const help = new Help();
return { Help, help };
});
const { ask: question } = api$();
const { help } = await Promise.resolve(help_text$());
question(help);
";
        assert_eq!(script, expected);
    }

    #[test]
    fn every_import_and_export_of_the_page_is_understood_and_no_text_runs_over_lines() {
        for (name, text) in modules() {
            let code = without_comments(&text);
            for line in code.lines() {
                let is_import = line.starts_with("import ") || line.starts_with("import{");
                assert_eq!(is_import, imported(line).is_some(), "{name}: {line}");
                assert_eq!(
                    line.starts_with("export"),
                    exported(line).is_some(),
                    "{name}: {line}"
                );
                assert_eq!(
                    line.matches("import(").count(),
                    line.matches("import(\"./").count(),
                    "{name}: {line}"
                );
                assert_eq!(line.matches('`').count() % 2, 0, "{name}: {line}");
                assert!(!line.contains("$("), "{name}: {line}");
            }
        }
    }

    #[test]
    fn no_module_of_the_page_imports_itself_by_a_detour() {
        let mut left: BTreeMap<String, Vec<String>> = modules()
            .into_iter()
            .map(|(name, text)| (name, imports(&text)))
            .collect();
        while !left.is_empty() {
            let known: Vec<String> = left.keys().cloned().collect();
            let is_free = |imports: &[String]| imports.iter().all(|file| !known.contains(file));
            left.retain(|_, imports| !is_free(imports));
            assert!(left.len() < known.len(), "a circle: {left:?}");
        }
    }
}
