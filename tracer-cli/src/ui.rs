//! The only place that writes: data to standard output, talk to standard error, colour where it is wanted.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::stream::{AsLockedWrite, RawStream};
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::error::{CliError, ErrorKind};
use crate::terminal::characters::Characters;
use tracer_insight::json;
use tracer_insight::line::{Line, Tone};

/// How wide output is that no terminal shows.
const WIDTH_WITHOUT_TERMINAL: usize = 100;
/// Wider than any text that is worth a line of its own.
const WITHOUT_WRAPPING: usize = 1 << 24;

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` or `TERM=dumb` says otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Standard output and standard error, as a command uses them.
pub struct Ui {
    out: Stream,
    err: Stream,
    is_terminal: bool,
    has_status: bool,
    status_is_shown: bool,
}

struct Stream {
    writer: Box<dyn Write>,
    coloured: bool,
    characters: Characters,
}

impl Stream {
    fn new(stream: impl RawStream + AsLockedWrite + 'static, colour: Colour, ascii: bool) -> Self {
        let characters =
            Characters::of_environment(anstream::stream::IsTerminal::is_terminal(&stream), ascii);
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
    /// The process's own streams; with `ascii`, signs are told in ASCII.
    pub fn new(colour: Colour, ascii: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            out: Stream::new(io::stdout(), colour, ascii),
            err: Stream::new(io::stderr(), colour, ascii),
            is_terminal,
            has_status: is_terminal && io::stderr().is_terminal() && !is_dumb,
            status_is_shown: false,
        }
    }

    /// Whether a person looks at standard output.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// How many columns there are now.
    pub fn width(&self) -> usize {
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        // A terminal that does not know its size says zero.
        width.filter(|width| *width > 0).unwrap_or(WIDTH_WITHOUT_TERMINAL)
    }

    /// After how many columns a text goes on in the next line: never, where no terminal shows it.
    pub fn wrapping_width(&self) -> usize {
        if self.is_terminal {
            self.width()
        } else {
            WITHOUT_WRAPPING
        }
    }

    /// Whether [`status`](Self::status) shows anything.
    pub fn shows_status(&self) -> bool {
        self.has_status
    }

    /// Shows a line that the next output takes the place of, where a terminal can do that.
    pub fn status(&mut self, line: &Line) {
        if !self.has_status {
            return;
        }
        self.clear_status();
        // Nothing is done about a terminal that cannot be written to: the next line of data tells.
        let _ = self.out.writer.flush();
        let Stream {
            writer,
            coloured,
            characters,
        } = &mut self.err;
        let _ = paint(writer, line, *coloured, *characters).and_then(|()| writer.flush());
        self.status_is_shown = true;
    }

    /// Takes the line away that says what goes on.
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
            .map_err(|error| CliError::output(&error))
    }

    /// Writes a line of plain text, which must be safe to show, to standard output.
    pub fn plain(&mut self, text: &str) -> Result<(), CliError> {
        writeln!(self.out.writer, "{text}").map_err(|error| CliError::output(&error))
    }

    /// Writes a value as one line of JSON to standard output.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        json::write(&mut self.out.writer, value)
            .and_then(|()| self.out.writer.write_all(b"\n"))
            .map_err(|error| CliError::output(&error))
    }

    /// Standard output itself, for what is written as it is made.
    pub fn output(&mut self) -> &mut dyn Write {
        &mut self.out.writer
    }

    /// Writes what was held back; standard error comes after the data that it speaks of.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.out.writer.flush().map_err(|error| CliError::output(&error))
    }

    /// Says something on standard error. Nothing is done about a standard error that cannot be written.
    pub fn note(&mut self, line: &Line) {
        self.clear_status();
        let _ = self.out.writer.flush();
        let _ = self.err.line(line).and_then(|()| self.err.writer.flush());
    }

    /// Tells GitHub Actions something, on standard error, which it reads as well. The only way to do so.
    pub fn workflow_command(&mut self, command: &str) {
        self.clear_status();
        let _ = self.out.writer.flush();
        let _ = writeln!(self.err.writer, "{command}").and_then(|()| self.err.writer.flush());
    }

    /// Says a next step on standard error.
    pub fn hint(&mut self, hint: &str) {
        self.note(&Line::of("hint: ", Tone::Active).with(hint, Tone::Plain));
    }

    /// Whether somebody can be asked: what is said is seen, and what is typed comes from a keyboard.
    pub fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks on standard error; anything but `y` or `yes` is a no.
    pub fn ask(&mut self, question: &str) -> Result<bool, CliError> {
        self.flush()?;
        let question = Line::of(question, Tone::Strong).with(" [y/N] ", Tone::Plain);
        let Stream {
            writer,
            coloured,
            characters,
        } = &mut self.err;
        let asked = paint(writer, &question, *coloured, *characters).and_then(|()| writer.flush());
        let mut answer = String::new();
        asked
            .and_then(|()| io::stdin().read_line(&mut answer))
            .map_err(|error| CliError::input(format!("cannot ask: {error}")))?;
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Says an error on standard error; a closed pipe is not one.
    pub fn error(&mut self, error: &CliError) {
        if error.kind() == ErrorKind::ClosedPipe {
            return;
        }
        self.note(&Line::of("error: ", Tone::Bad).with(error.message(), Tone::Plain));
        for detail in error.details() {
            self.note(&Line::of("  ", Tone::Plain).with(detail, Tone::Plain));
        }
        for hint in error.hints() {
            self.hint(hint);
        }
    }
}

/// Whether GitHub Actions would obey the line instead of showing it: a value of a trace may have come to stand first.
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
    fn a_line_that_a_ci_server_would_obey_is_known_whatever_its_pieces() {
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
