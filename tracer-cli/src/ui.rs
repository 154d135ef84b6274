//! The only place that writes: data to standard output, talk to standard error, colour where it is wanted.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::stream::{AsLockedWrite, RawStream};
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::error::{CliError, ErrorKind};
use crate::json;
use crate::render::line::{Line, Tone};

/// How wide output is that no terminal shows.
const WIDTH_WITHOUT_TERMINAL: usize = 100;

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
    width: usize,
}

struct Stream {
    writer: Box<dyn Write>,
    coloured: bool,
}

impl Stream {
    fn new(stream: impl RawStream + AsLockedWrite + 'static, colour: Colour) -> Self {
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
        Self { writer, coloured }
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        paint(&mut self.writer, line, self.coloured)?;
        self.writer.write_all(b"\n")
    }
}

impl Ui {
    /// The process's own streams.
    pub fn new(colour: Colour) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        Self {
            out: Stream::new(io::stdout(), colour),
            err: Stream::new(io::stderr(), colour),
            is_terminal,
            // A terminal that does not know its size says zero.
            width: width.filter(|width| *width > 0).unwrap_or(WIDTH_WITHOUT_TERMINAL),
        }
    }

    /// Whether a person looks at standard output.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Writes lines to standard output.
    pub fn lines<'a>(&mut self, lines: impl IntoIterator<Item = &'a Line>) -> Result<(), CliError> {
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
        let _ = self.out.writer.flush();
        let _ = self.err.line(line).and_then(|()| self.err.writer.flush());
    }

    /// Says a next step on standard error.
    pub fn hint(&mut self, hint: &str) {
        self.note(&Line::of("hint: ", Tone::Active).with(hint, Tone::Plain));
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

/// Writes a line with or without colour.
fn paint(writer: &mut (impl Write + ?Sized), line: &Line, coloured: bool) -> io::Result<()> {
    for piece in line.pieces() {
        let style = style(piece.tone());
        if coloured && style != Style::new() && !piece.text().is_empty() {
            write!(writer, "{style}{}{style:#}", piece.text())?;
        } else {
            writer.write_all(piece.text().as_bytes())?;
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
        paint(&mut text, line, coloured).unwrap();
        text.push(b'\n');
    }
    String::from_utf8(text).unwrap()
}
