//! What `tracer record` adds to a command: until it starts, and from its end until the caller has its exit code.

use std::error::Error;
use std::fmt::Write;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::machine;
use crate::reading::executable;

/// The most that either may be.
const LIMIT: Duration = Duration::from_millis(50);

/// What is measured.
#[derive(Debug)]
pub struct RecordPlan {
    /// How often the command runs, alone and recorded in turns.
    pub rounds: usize,
    /// The `tracer` executable; `None` is the one of the workspace's release build.
    pub tracer: Option<PathBuf>,
}

/// What one run of the command took beyond its own work.
#[derive(Debug, Clone, Copy)]
struct Taken {
    until_start: Duration,
    from_end: Duration,
}

/// Runs the command alone and recorded, with and without something to export. The report, and whether the limits are kept.
pub fn measure(plan: &RecordPlan) -> Result<(String, bool), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let tracer = executable(plan.tracer.as_deref())?;
    let mut report = machine::facts(folder.path());
    let mut is_kept = true;
    for (what, task) in [
        ("silent command", "silent"),
        ("exports one span at its end", "export"),
    ] {
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..plan.rounds.max(1) {
            let alone = run(None, "silent", folder.path())?;
            let recorded = run(Some(&tracer), task, folder.path())?;
            starts.push(recorded.until_start.saturating_sub(alone.until_start));
            ends.push(recorded.from_end.saturating_sub(alone.from_end));
        }
        let (start, end) = (median(&mut starts), median(&mut ends));
        is_kept &= start <= LIMIT && end <= LIMIT;
        writeln!(
            report,
            "{what}: +{:.1} ms until it starts, +{:.1} ms after its end (limit {} ms each)",
            start.as_secs_f64() * 1e3,
            end.as_secs_f64() * 1e3,
            LIMIT.as_millis()
        )?;
    }
    Ok((report, is_kept))
}

fn run(tracer: Option<&Path>, task: &str, folder: &Path) -> Result<Taken, Box<dyn Error>> {
    let command = std::env::current_exe()?;
    let mut child = match tracer {
        Some(tracer) => {
            let mut child = Command::new(tracer);
            child.args(["record", "--quiet", "--"]).arg(&command);
            child
        }
        None => Command::new(&command),
    };
    child
        .args(["recorded-command", task])
        .env("TRACER_DATA_DIR", folder)
        .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
        .stdin(Stdio::null());
    let before = now();
    let output = child.output()?;
    let after = now();
    if !output.status.success() {
        return Err(format!("the command failed: {output:?}").into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut times = text.split_whitespace().map(str::parse::<u64>);
    let mut next = || times.next().ok_or("the command printed too little");
    let (started, ended) = (next()??, next()??);
    Ok(Taken {
        until_start: Duration::from_nanos(started).saturating_sub(before),
        from_end: after.saturating_sub(Duration::from_nanos(ended)),
    })
}

/// The command: prints when it started and when it ended.
pub fn recorded_command(task: &str) -> Result<(), Box<dyn Error>> {
    let started = now();
    if task == "export" {
        export()?;
    }
    println!("{} {}", started.as_nanos(), now().as_nanos());
    std::io::stdout().flush()?;
    Ok(())
}

fn export() -> Result<(), Box<dyn Error>> {
    let endpoint = std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT")?;
    let address = endpoint.strip_prefix("http://").ok_or("not a URL")?;
    let time = now().as_nanos();
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"1000000000000001","name":"chat","startTimeUnixNano":"{time}","endTimeUnixNano":"{time}","attributes":[{{"key":"gen_ai.operation.name","value":{{"stringValue":"chat"}}}}]}}]}}]}}]}}"#
    );
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /v1/traces HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.read_to_string(&mut String::new())?;
    Ok(())
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
