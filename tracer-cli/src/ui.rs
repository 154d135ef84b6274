//! Standard output and standard error, with colour where it is wanted. No other module writes to them.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::stream::{AsLockedWrite, RawStream};
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::error::{CliError, ErrorKind};
use crate::terminal::characters::Characters;
use tracer_insight::json;
use tracer_insight::line::{Line, Tone};

/// Width of output that goes to no terminal, in columns.
const WIDTH_WITHOUT_TERMINAL: usize = 100;
/// Width that wraps no text.
const WIDTH_WITHOUT_WRAPPING: usize = 1 << 24;

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` or `TERM=dumb` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Standard output and standard error, as a command uses them.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the streams")]
pub struct Ui {
    out: OutputStream,
    err: OutputStream,
    is_terminal: bool,
    is_quiet: bool,
    has_status: bool,
    status_is_shown: bool,
}

struct OutputStream {
    writer: Box<dyn Write>,
    coloured: bool,
    characters: Characters,
}

impl OutputStream {
    fn new(stream: impl RawStream + AsLockedWrite + 'static, colour: Colour) -> Self {
        let characters = Characters::from_environment(anstream::stream::IsTerminal::is_terminal(&stream));
        let choice = match colour {
            Colour::Auto => AutoStream::choice(&stream),
            Colour::Always => ColorChoice::Always,
            Colour::Never => ColorChoice::Never,
        };
        let coloured = choice != ColorChoice::Never;
        // Uncoloured output goes to the stream itself: there is nothing to strip from it.
        let writer: Box<dyn Write> = if coloured {
            Box::new(BufWriter::new(AutoStream::new(stream, choice)))
        } else {
            Box::new(BufWriter::new(stream))
        };
        Self {
            writer,
            coloured,
            characters,
        }
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        if is_workflow_command(line) {
            self.writer.write_all("│ ".as_bytes())?;
        }
        paint(&mut self.writer, line, self.coloured, self.characters)?;
        self.writer.write_all(b"\n")
    }
}

impl Ui {
    /// The process's own streams; with `is_quiet`, without remarks, hints and status lines.
    pub fn new(colour: Colour, is_quiet: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            out: OutputStream::new(io::stdout(), colour),
            err: OutputStream::new(io::stderr(), colour),
            is_terminal,
            is_quiet,
            has_status: !is_quiet && is_terminal && io::stderr().is_terminal() && !is_dumb,
            status_is_shown: false,
        }
    }

    /// Checks if standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Current width of the terminal, in columns.
    pub fn width(&self) -> usize {
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        // A terminal of unknown size reports zero.
        width.filter(|width| *width > 0).unwrap_or(WIDTH_WITHOUT_TERMINAL)
    }

    /// Columns after which text wraps; text for no terminal never does.
    pub fn wrapping_width(&self) -> usize {
        if self.is_terminal {
            self.width()
        } else {
            WIDTH_WITHOUT_WRAPPING
        }
    }

    /// Checks if [`status`](Self::status) shows anything.
    pub fn shows_status(&self) -> bool {
        self.has_status
    }

    /// Shows a status line, which the next output replaces; does nothing without a terminal.
    pub fn status(&mut self, line: &Line) {
        if !self.has_status {
            return;
        }
        self.clear_status();
        // A write error is reported by the next line of data.
        let _ = self.out.writer.flush();
        let OutputStream {
            writer,
            coloured,
            characters,
        } = &mut self.err;
        let _ = paint(writer, line, *coloured, *characters).and_then(|()| writer.flush());
        self.status_is_shown = true;
    }

    /// Removes the status line.
    pub fn clear_status(&mut self) {
        if std::mem::take(&mut self.status_is_shown) {
            let _ = self
                .err
                .writer
                .write_all(b"\r\x1b[K")
                .and_then(|()| self.err.writer.flush());
        }
    }

    /// Writes lines to standard output.
    pub fn lines<'a>(&mut self, lines: impl IntoIterator<Item = &'a Line>) -> Result<(), CliError> {
        self.clear_status();
        lines
            .into_iter()
            .try_for_each(|line| self.out.line(line))
            .map_err(CliError::output)
    }

    /// Writes a line of plain text to standard output; the text must be safe for a terminal.
    pub fn plain(&mut self, text: &str) -> Result<(), CliError> {
        writeln!(self.out.writer, "{text}").map_err(CliError::output)
    }

    /// Writes a value as one line of JSON to standard output.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        json::write(&mut self.out.writer, value)
            .and_then(|()| self.out.writer.write_all(b"\n"))
            .map_err(CliError::output)
    }

    /// Standard output itself, for streamed output.
    pub fn output(&mut self) -> &mut dyn Write {
        &mut self.out.writer
    }

    /// Flushes standard output, so that messages on standard error follow the data that they refer to.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.out.writer.flush().map_err(CliError::output)
    }

    /// Prints a line to standard error. Write errors are ignored: there is no place left to report them.
    pub fn note(&mut self, line: &Line) {
        self.clear_status();
        let _ = self.out.writer.flush();
        let _ = self.err.line(line).and_then(|()| self.err.writer.flush());
    }

    /// Prints a warning to standard error.
    pub fn warn(&mut self, message: impl AsRef<str>) {
        self.note(&Line::of(message, Tone::Warning));
    }

    /// Prints a remark to standard error, unless `--quiet` is given.
    pub fn remark(&mut self, message: impl AsRef<str>) {
        self.remark_line(&Line::of(message, Tone::Muted));
    }

    /// Prints a plain message to standard error, unless `--quiet` is given.
    pub fn say(&mut self, message: impl AsRef<str>) {
        self.remark_line(&Line::of(message, Tone::Plain));
    }

    /// Prints a line to standard error, unless `--quiet` is given.
    pub fn remark_line(&mut self, line: &Line) {
        if !self.is_quiet {
            self.note(line);
        }
    }

    /// Checks if a progress bar may be drawn on standard error.
    pub fn draws_bars(&self) -> bool {
        !self.is_quiet && io::stderr().is_terminal()
    }

    /// Writes what was done to standard output.
    pub fn done(&mut self, message: impl AsRef<str>) -> Result<(), CliError> {
        self.lines(&[Line::of("✓ ", Tone::Good).with(message, Tone::Plain)])
    }

    /// Prints a workflow command for GitHub Actions, which reads standard error too. No other function prints one.
    pub fn workflow_command(&mut self, command: &str) {
        self.clear_status();
        let _ = self.out.writer.flush();
        let _ = writeln!(self.err.writer, "{command}").and_then(|()| self.err.writer.flush());
    }

    /// Prints a next step to standard error.
    pub fn hint(&mut self, hint: &str) {
        self.remark_line(&Line::of("hint: ", Tone::Active).with(hint, Tone::Plain));
    }

    /// Asks on standard error before an action, below these details; any answer but `y` or `yes` means no.
    ///
    /// # Errors
    ///
    /// One with `hint`, which names `--yes`, where standard input and standard error are no terminals.
    pub fn confirm(
        &mut self,
        action: &str,
        hint: &str,
        details: impl IntoIterator<Item = Line>,
        question: &str,
    ) -> Result<bool, CliError> {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            let needed = format!("{action} needs a confirmation, and there is no terminal to ask on");
            return Err(CliError::input(needed).with_hint(hint));
        }
        for line in details {
            self.note(&line);
        }
        self.flush()?;
        let question = Line::of(question, Tone::Strong).with(" [y/N] ", Tone::Plain);
        let OutputStream {
            writer,
            coloured,
            characters,
        } = &mut self.err;
        let asked = paint(writer, &question, *coloured, *characters).and_then(|()| writer.flush());
        let mut answer = String::new();
        asked
            .and_then(|()| io::stdin().read_line(&mut answer))
            .map_err(|error| CliError::input("failed to read the answer").with_source(error))?;
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Prints an error to standard error; a closed pipe is not one.
    pub fn error(&mut self, error: &CliError) {
        if error.kind() == ErrorKind::ClosedPipe {
            return;
        }
        self.note(&Line::of("error: ", Tone::Bad).with(error.report(), Tone::Plain));
        for detail in error.details() {
            self.note(&Line::of("  ", Tone::Plain).with(detail, Tone::Plain));
        }
        for hint in error.hints() {
            self.hint(hint);
        }
    }
}

/// Checks if GitHub Actions would run the line as a command instead of showing it: a line may start with a traced value.
fn is_workflow_command(line: &Line) -> bool {
    let text = line.pieces().iter().flat_map(|piece| piece.text().chars());
    let mut text = text.skip_while(|char| char.is_whitespace());
    text.next() == Some(':') && text.next() == Some(':')
}

/// Writes a line with or without colour.
fn paint(
    writer: &mut (impl Write + ?Sized),
    line: &Line,
    coloured: bool,
    characters: Characters,
) -> io::Result<()> {
    for piece in line.pieces() {
        let style = style(piece.tone());
        let text = characters.shown(piece.text());
        if coloured && style != Style::new() && !text.is_empty() {
            write!(writer, "{style}{text}{style:#}")?;
        } else {
            writer.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

fn style(tone: Tone) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().bold(),
        Tone::Muted => Style::new().dimmed(),
        Tone::Good => colour(AnsiColor::Green),
        Tone::Bad => colour(AnsiColor::Red),
        Tone::Warning | Tone::State => colour(AnsiColor::Yellow),
        Tone::Active => colour(AnsiColor::Blue),
        Tone::Llm => colour(AnsiColor::Magenta),
        Tone::Tool => colour(AnsiColor::Cyan),
    }
}

/// Lines as they are written to a terminal.
#[cfg(test)]
pub(crate) fn painted(lines: &[Line], coloured: bool) -> String {
    let mut text = Vec::new();
    for line in lines {
        paint(&mut text, line, coloured, Characters::All).unwrap();
        text.push(b'\n');
    }
    String::from_utf8(text).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_command_is_detected_across_pieces() {
        for (line, obeyed) in [
            (Line::of("::error::x", Tone::Plain), true),
            (
                Line::new()
                    .space(4)
                    .with(":", Tone::Muted)
                    .with(":stop-commands::x", Tone::Plain),
                true,
            ),
            (Line::of("main::run", Tone::Plain), false),
            (Line::new(), false),
        ] {
            assert_eq!(is_workflow_command(&line), obeyed, "{line:?}");
        }
    }
}
