//! The kind of program that a command starts, as its words and the file's first bytes say it. It decides what is added for it, and
//! the advice when nothing arrives.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest chain of programs that start one another and are followed: `env uv run …`.
const MAX_WRAPPERS: usize = 8;

/// Kind of program that a command starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramKind {
    /// Python code.
    Python,
    /// JavaScript or TypeScript, in Node.js, Bun or Deno.
    Node,
    /// Claude Code.
    ClaudeCode,
    /// The Codex CLI.
    Codex,
    /// The Gemini CLI.
    GeminiCli,
    /// A container, whose environment is its own.
    Container,
    /// A shell, a build tool: what matters is what it starts.
    Launcher,
    /// A compiled program: Rust, Go, C.
    Native,
    /// Something else, or nothing that could be read.
    Unknown,
}

/// Properties of the program that a command starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name: the script if there is one, the file name of the program otherwise.
    pub name: String,
    /// Its kind.
    pub kind: ProgramKind,
    /// Started by a launcher of OpenTelemetry.
    pub is_instrumented: bool,
    /// The position of the program itself in the command, behind what only starts it (`env`, `uv run`).
    pub position: usize,
}

impl Program {
    /// Identifies the program of a command started in `directory`. Nothing is run; what cannot be read stays unknown.
    #[must_use]
    pub fn of_command(command: &[OsString], directory: &Path) -> Self {
        let words: Vec<String> = command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let mut is_instrumented = false;
        let mut position = 0;
        for _ in 0..MAX_WRAPPERS {
            let Some(word) = words.get(position) else { break };
            let name = file_name(word);
            is_instrumented |= matches!(name, "opentelemetry-instrument" | "logfire");
            match behind_wrapper(name, words.get(position + 1..).unwrap_or_default()) {
                Some(skipped) => position += 1 + skipped,
                None => break,
            }
        }
        let rest = words.get(position..).unwrap_or_default();
        let mut program = Self::of_words(rest, directory);
        program.is_instrumented |= is_instrumented;
        program.position = position;
        program
    }

    /// Default name of a run of the command: the program and what it is to run, without options, which may be secret,
    /// and without prompts.
    ///
    /// ```
    /// use std::path::Path;
    /// use tracer_capture::record::Program;
    ///
    /// let command = ["uv", "run", "/usr/bin/python3", "-u", "agent.py", "--key", "k-123"].map(Into::into);
    /// let program = Program::of_command(&command, Path::new("."));
    /// assert_eq!(program.run_name(&command), "python3 agent.py");
    /// ```
    #[must_use]
    pub fn run_name(&self, command: &[OsString]) -> String {
        let mut words = command.get(self.position..).unwrap_or_default().iter();
        let program = words
            .next()
            .map(|word| word.to_string_lossy())
            .unwrap_or_default();
        let mut name = file_name(&program).to_owned();
        let is_interpreter = matches!(
            self.kind,
            ProgramKind::Python | ProgramKind::Node | ProgramKind::Native
        );
        for word in words {
            let word = word.to_string_lossy();
            let is_code = matches!(&*word, "-c" | "-e" | "--eval");
            if is_code || !word.starts_with('-') && word.contains(char::is_whitespace) {
                break;
            }
            if !word.starts_with('-') {
                name.push(' ');
                name.push_str(&word);
                break;
            }
            // The word behind another program's option may be its value.
            if !is_interpreter {
                break;
            }
        }
        name
    }

    fn of_words(words: &[String], directory: &Path) -> Self {
        let Some((first, arguments)) = words.split_first() else {
            return Self::new("", ProgramKind::Unknown);
        };
        let name = file_name(first);
        if let Some(kind) = kind_by_name(name) {
            let script = arguments.iter().find(|word| kind_of_script(word) == Some(kind));
            return Self::new(script.map_or(name, String::as_str), kind);
        }
        if let Some(kind) = kind_of_script(name) {
            return Self::new(first, kind);
        }
        let found = which::which_in(first, std::env::var_os("PATH"), directory).ok();
        let kind = match found.as_deref().and_then(beginning) {
            Some(FileStart::Interpreter(interpreter)) => kind_by_name(file_name(&interpreter)),
            Some(FileStart::MachineCode) => Some(ProgramKind::Native),
            None => None,
        };
        Self::new(name, kind.unwrap_or(ProgramKind::Unknown))
    }

    fn new(name: &str, kind: ProgramKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            is_instrumented: false,
            position: 0,
        }
    }
}

/// The kind of program that a file is by its ending.
fn kind_of_script(name: &str) -> Option<ProgramKind> {
    let (_, ending) = name.rsplit_once('.')?;
    match ending {
        "py" | "pyw" | "pyz" => Some(ProgramKind::Python),
        "js" | "mjs" | "cjs" | "ts" | "mts" => Some(ProgramKind::Node),
        _ => None,
    }
}

/// The last part of a path, without `.exe`.
fn file_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Kind of a program by its name, packages of npm among them: `npx @openai/codex`.
fn kind_by_name(name: &str) -> Option<ProgramKind> {
    let without_version = name.split_once('@').map_or(name, |(name, _)| name);
    let numbers = |prefix| {
        let rest: Option<&str> = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.chars().all(|char| char.is_ascii_digit() || char == '.'))
    };
    if numbers("python") || numbers("pypy") {
        return Some(ProgramKind::Python);
    }
    let kind = match without_version {
        "uvicorn" | "gunicorn" | "hypercorn" | "fastapi" | "flask" | "streamlit" | "chainlit" | "pytest"
        | "ipython" | "jupyter" | "langgraph" | "adk" | "crewai" | "celery" => ProgramKind::Python,
        "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" | "npm" | "pnpm" | "yarn" | "next"
        | "vite" | "mastra" | "genkit" => ProgramKind::Node,
        "claude" | "claude-code" => ProgramKind::ClaudeCode,
        "codex" => ProgramKind::Codex,
        "gemini" | "gemini-cli" => ProgramKind::GeminiCli,
        "docker" | "podman" | "nerdctl" | "kubectl" => ProgramKind::Container,
        "sh" | "bash" | "zsh" | "dash" | "fish" | "ksh" | "make" | "just" | "task" | "sudo" | "doas"
        | "su" | "ssh" | "tmux" | "screen" | "xargs" | "parallel" => ProgramKind::Launcher,
        "cargo" => ProgramKind::Native,
        _ => return None,
    };
    Some(kind)
}

/// Number of words behind `name` that belong to it, when it only starts the program behind them; `None` otherwise.
fn behind_wrapper(name: &str, rest: &[String]) -> Option<usize> {
    let subcommand = |expected: &[&str]| {
        let first = rest.first()?;
        expected.contains(&first.as_str()).then_some(1)
    };
    let skipped = match name {
        "env"
        | "nohup"
        | "nice"
        | "ionice"
        | "time"
        | "stdbuf"
        | "setsid"
        | "command"
        | "exec"
        | "opentelemetry-instrument"
        | "dotenv"
        | "npx"
        | "bunx"
        | "uvx"
        | "pipx" => 0,
        "uv" | "poetry" | "pipenv" | "pdm" | "rye" | "hatch" | "conda" | "mamba" | "logfire" => {
            subcommand(&["run"])?
        }
        "timeout" => 1,
        "npm" | "pnpm" | "yarn" => subcommand(&["exec", "dlx"])?,
        _ => return None,
    };
    let own = rest.iter().skip(skipped);
    let options = own.take_while(|word| word.starts_with('-') || is_assignment(word));
    let words = skipped + options.count();
    // Nothing behind it: whatever it is, it is the program.
    (words < rest.len()).then_some(words)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Magic numbers of machine code: ELF, PE, Mach-O.
const MAGIC: [&[u8]; 5] = [
    b"\x7fELF",
    b"MZ",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
];

/// Beginning of a program's file.
enum FileStart {
    /// A line that names who runs the file.
    Interpreter(String),
    /// The magic number of a program for the machine.
    MachineCode,
}

fn beginning(file: &Path) -> Option<FileStart> {
    if !file.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(256).read_to_end(&mut bytes).ok()?;
    if MAGIC.iter().any(|magic| bytes.starts_with(magic)) {
        return Some(FileStart::MachineCode);
    }
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().filter(|word| file_name(word) != "env");
    let interpreter = words.find(|word| !word.starts_with('-') && !is_assignment(word))?;
    Some(FileStart::Interpreter(interpreter.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;

    fn program(command: &str) -> Program {
        program_in(command, Path::new("/nonexistent"))
    }

    fn program_in(command: &str, directory: &Path) -> Program {
        let words: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
        Program::of_command(&words, directory)
    }

    #[test]
    fn programs_are_known_by_their_names() {
        for (command, kind) in [
            ("python agent.py", ProgramKind::Python),
            ("/opt/venv/bin/python3.12 -m agent", ProgramKind::Python),
            ("uvicorn app:app", ProgramKind::Python),
            ("./agent.py", ProgramKind::Python),
            ("node agent.mjs", ProgramKind::Node),
            ("npm start", ProgramKind::Node),
            ("claude -p hello", ProgramKind::ClaudeCode),
            ("codex exec hello", ProgramKind::Codex),
            ("gemini -p hello", ProgramKind::GeminiCli),
            ("docker run agent", ProgramKind::Container),
            ("sh -c agent", ProgramKind::Launcher),
            ("cargo run", ProgramKind::Native),
            ("pythonista", ProgramKind::Unknown),
            ("", ProgramKind::Unknown),
        ] {
            assert_eq!(program(command).kind, kind, "{command}");
        }
    }

    #[test]
    fn what_only_starts_a_program_is_looked_through() {
        for (command, position, kind) in [
            ("env A=1 B=2 python agent.py", 3, ProgramKind::Python),
            ("uv run --with openai agent.py", 3, ProgramKind::Unknown),
            ("uv run agent.py", 2, ProgramKind::Python),
            ("poetry run python agent.py", 2, ProgramKind::Python),
            ("npx -y @openai/codex exec", 2, ProgramKind::Codex),
            ("npx @anthropic-ai/claude-code@2.1.0", 1, ProgramKind::ClaudeCode),
            ("timeout 10 claude", 2, ProgramKind::ClaudeCode),
            ("nohup nice -n5 node a.js", 3, ProgramKind::Node),
        ] {
            let program = program(command);
            assert_eq!((program.position, program.kind), (position, kind), "{command}");
        }
        // Nothing is behind them: they are the program.
        for command in ["env", "uv pip list"] {
            assert_eq!(program(command).position, 0, "{command}");
        }
        let endless = "env ".repeat(50);
        assert!(program(&endless).position <= MAX_WRAPPERS);
    }

    #[test]
    fn a_run_is_named_without_options_and_prompts() {
        for (command, expected) in [
            (&["python", "agent.py"][..], "python agent.py"),
            (
                &["python", "-m", "agents.main", "--token", "x"],
                "python agents.main",
            ),
            (&["python", "-c", "print()"], "python"),
            (&["./bin/agent", "--api-key", "secret"], "agent"),
            (&["claude", "-p", "fix it"], "claude"),
            (&["codex", "exec", "fix it"], "codex exec"),
            (&["gemini", "fix the bug"], "gemini"),
            (&["env", "A=1", "node", "src/agent.mjs"], "node src/agent.mjs"),
        ] {
            let words: Vec<OsString> = command.iter().map(OsString::from).collect();
            let program = Program::of_command(&words, Path::new("/nonexistent"));
            assert_eq!(program.run_name(&words), expected);
        }
    }

    #[test]
    fn launchers_of_opentelemetry_are_known() {
        assert!(program("opentelemetry-instrument python agent.py").is_instrumented);
        assert!(!program("python agent.py").is_instrumented);
    }

    #[test]
    fn a_program_is_called_as_its_script() {
        for (command, name) in [
            ("python -u src/agent.py --flag", "src/agent.py"),
            ("python -m agent", "python"),
            ("npx tsx agent.ts", "agent.ts"),
            ("./bin/agent", "agent"),
        ] {
            assert_eq!(program(command).name, name, "{command}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_says_by_its_beginning_what_runs_it() {
        use std::os::unix::fs::OpenOptionsExt;

        let folder = tempfile::tempdir().unwrap();
        for (name, content, kind) in [
            (
                "a",
                &b"#!/usr/bin/env -S python3 -u\nimport anthropic\n"[..],
                ProgramKind::Python,
            ),
            ("b", b"#! /usr/bin/node\n", ProgramKind::Node),
            ("c", b"\x7fELF\x02", ProgramKind::Native),
            ("d", b"#!/bin/sh\n", ProgramKind::Launcher),
            ("e", b"#!", ProgramKind::Unknown),
            ("f", b"", ProgramKind::Unknown),
        ] {
            let mut options = fs::OpenOptions::new();
            options.write(true).create(true).mode(0o755);
            let mut file = options.open(folder.path().join(name)).unwrap();
            file.write_all(content).unwrap();
            let program = program_in(&format!("./{name}"), folder.path());
            assert_eq!(program.kind, kind, "{name}");
        }
    }

    #[test]
    fn a_folder_or_nothing_in_the_place_of_a_program_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("agent")).unwrap();
        assert_eq!(program_in("./agent", folder.path()).kind, ProgramKind::Unknown);
        assert_eq!(program_in("./nothing", folder.path()).kind, ProgramKind::Unknown);
    }
}
