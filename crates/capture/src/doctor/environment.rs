//! Causes in the environment: the settings, the data directory, the switches of OpenTelemetry, a parent's context.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use tracer_insight::text::path_below_home as shown;
use tracer_runs::RunStore;
use tracer_sdk::format::{RecordedStatus, TraceId};
use tracer_sdk::settings::{self, Config, Sources};
use tracer_sdk::{TRACE_PARENT_VARIABLE, TraceParent};

use crate::cause::Cause;
use crate::is_loopback_host;
use crate::record::{Inherited, switches};

/// The space that a data directory needs, in bytes.
const MIN_FREE_BYTES: u64 = 4 * 1024 * 1024;

/// Time that an endpoint on this machine may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);

/// Every cause in the environment.
pub(super) fn causes(config: &Config, inherited: &Inherited) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (settings, problems) = settings::load(&Config::new());
    let (_, invalid_prices) = settings::read_prices(&Sources::read());
    for problem in problems.iter().chain(&invalid_prices) {
        causes.push(Cause::new(
            "setting_invalid",
            format!("a setting is invalid, and its default is used: {problem}"),
            "correct it, or remove it",
        ));
    }
    if !settings.enabled {
        let (place, remedy) = match inherited.get("TRACER_ENABLED") {
            Some(_) => ("TRACER_ENABLED", "unset TRACER_ENABLED, or set it to 1"),
            None => (
                "`enabled` in a settings file",
                "remove `enabled` from config.toml",
            ),
        };
        causes.push(Cause::new(
            "recording_off",
            format!("recording is off: {place} disables it"),
            remedy,
        ));
    }
    // The data directory that `--data-dir` names for this command alone.
    let given = settings::load(config).0.data_dir;
    if given != settings.data_dir {
        causes.push(Cause::new(
            "data_dir_differs",
            format!(
                "programs record to {}, and this command reads {}",
                shown(&settings.data_dir),
                shown(&given)
            ),
            format!("start programs with TRACER_DATA_DIR={}", given.display()),
        ));
    }
    if let Some(directory) = inherited.get("TRACER_DATA_DIR")
        && Path::new(directory).is_relative()
    {
        causes.push(Cause::new(
            "data_dir_relative",
            format!("TRACER_DATA_DIR={directory} is relative: each working directory has runs of its own"),
            "set TRACER_DATA_DIR to an absolute path",
        ));
    }
    causes.extend(data_directory(&settings.data_dir));
    causes.extend(opentelemetry(inherited));
    causes.extend(parents(inherited, &settings.data_dir));
    causes
}

fn data_directory(directory: &Path) -> Vec<Cause> {
    let mut causes = Vec::new();
    for path in [directory.to_owned(), directory.join("runs")] {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        if found.is_symlink() && path != directory {
            causes.push(Cause::new(
                "data_dir_link",
                format!("{} is a symbolic link, which is refused", shown(&path)),
                "replace it by a folder, and set TRACER_DATA_DIR to where the runs are to be",
            ));
            return causes;
        }
        if !path.is_dir() {
            causes.push(Cause::new(
                "data_dir_no_folder",
                format!("{} is no folder", shown(&path)),
                "remove it, or set TRACER_DATA_DIR to another folder",
            ));
            return causes;
        }
    }
    let existing = directory.ancestors().find(|path| path.is_dir());
    let Some(existing) = existing else { return causes };
    let runs = directory.join("runs");
    let writable = if runs.is_dir() { runs.as_path() } else { existing };
    if let Err(error) = tempfile::Builder::new()
        .prefix(".tracer-doctor")
        .tempdir_in(writable)
    {
        causes.push(Cause::new(
            "data_dir_unwritable",
            format!("cannot write to {}: {error}", shown(writable)),
            "give yourself the permission, or set TRACER_DATA_DIR to another folder",
        ));
    }
    causes.extend(free_bytes(existing).and_then(|free| space(free, existing)));
    causes
}

fn space(free: u64, directory: &Path) -> Option<Cause> {
    (free < MIN_FREE_BYTES).then(|| {
        Cause::new(
            "disk_full",
            format!("the disk of {} is full", shown(directory)),
            "free some space: tracer prune --max-size 1GB",
        )
    })
}

#[cfg(unix)]
fn free_bytes(directory: &Path) -> Option<u64> {
    let found = nix::sys::statvfs::statvfs(directory).ok()?;
    #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
    Some(u64::from(found.blocks_available()).saturating_mul(u64::from(found.fragment_size())))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Variables that keep OpenTelemetry exporters from sending, or their content from being sent.
fn opentelemetry(inherited: &Inherited) -> Vec<Cause> {
    let mut causes = switches(inherited);
    for name in [
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    ] {
        if let Some(protocol) = inherited.get(name)
            && !["grpc", "http/protobuf", "http/json"].contains(&protocol)
        {
            causes.push(Cause::new(
                "otel_protocol_unknown",
                format!("{name}={protocol} is no protocol of OTLP"),
                "use grpc, http/protobuf or http/json",
            ));
        }
    }
    causes.extend(endpoint(inherited));
    for (name, is_off) in [
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", false),
        ("TRACELOOP_TRACE_CONTENT", false),
        ("OPENINFERENCE_HIDE_INPUTS", true),
        ("OPENINFERENCE_HIDE_OUTPUTS", true),
    ] {
        let Some(value) = inherited.get(name) else {
            continue;
        };
        let is_no = ["0", "false", "no", "off", "no_content"]
            .iter()
            .any(|no| value.eq_ignore_ascii_case(no));
        let is_yes = ["1", "true", "yes", "on"]
            .iter()
            .any(|yes| value.eq_ignore_ascii_case(yes));
        if if is_off { is_yes } else { is_no } {
            causes.push(Cause::new(
                "content_off",
                format!("{name}={value} keeps prompts and answers out of spans"),
                format!("unset {name}"),
            ));
        }
    }
    causes
}

fn endpoint(inherited: &Inherited) -> Vec<Cause> {
    let mut causes = Vec::new();
    let base = inherited.get("OTEL_EXPORTER_OTLP_ENDPOINT");
    let traces = inherited.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    let Some(endpoint) = traces.or(base) else {
        return causes;
    };
    let protocol = inherited
        .get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        .or_else(|| inherited.get("OTEL_EXPORTER_OTLP_PROTOCOL"));
    let (host, path) = split(endpoint);
    match (host.rsplit(':').next(), protocol) {
        (Some("4317"), Some(protocol)) if protocol.starts_with("http") => causes.push(Cause::new(
            "otel_port_protocol",
            format!("the endpoint {endpoint} is a port for gRPC, and the protocol is {protocol}"),
            "use port 4318, or OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
        )),
        (Some("4318"), Some("grpc")) => causes.push(Cause::new(
            "otel_port_protocol",
            format!("the endpoint {endpoint} is a port for HTTP, and the protocol is grpc"),
            "use port 4317, or OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        )),
        _ => {}
    }
    if traces.is_none() && path.trim_end_matches('/').ends_with("/v1/traces") {
        causes.push(Cause::new(
            "otel_endpoint_path",
            format!("OTEL_EXPORTER_OTLP_ENDPOINT={endpoint} gets a second /v1/traces"),
            "remove the path, or use OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        ));
    }
    let is_http = protocol.is_none_or(|protocol| protocol.starts_with("http"));
    if traces.is_some() && is_http && path.trim_matches('/').is_empty() && !host.ends_with(":4317") {
        causes.push(Cause::new(
            "otel_endpoint_path",
            format!("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={endpoint} has no path"),
            "add /v1/traces",
        ));
    }
    if let Some(address) = loopback(host)
        && TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_err()
    {
        causes.push(Cause::new(
            "otel_endpoint_closed",
            format!("nothing listens at {endpoint}"),
            "start a receiver: tracer receive",
        ));
    }
    causes
}

/// The host with its port, and the path.
fn split(endpoint: &str) -> (&str, &str) {
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash))
}

/// The address, if it is one of this machine: others are not asked.
fn loopback(host: &str) -> Option<SocketAddr> {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !is_loopback_host(name) {
        return None;
    }
    host.to_socket_addrs().ok()?.next()
}

/// The contexts that a parent process hands on.
fn parents(inherited: &Inherited, data_dir: &Path) -> Vec<Cause> {
    let mut causes = Vec::new();
    for name in ["TRACEPARENT", TRACE_PARENT_VARIABLE] {
        let Some(text) = inherited.get(name) else {
            continue;
        };
        let Ok(TraceParent { trace_id, .. }) = text.parse() else {
            causes.push(Cause::new(
                "parent_malformed",
                format!("{name} is not a W3C traceparent, and is ignored"),
                format!("unset {name}"),
            ));
            continue;
        };
        if name == TRACE_PARENT_VARIABLE && !is_running(data_dir, trace_id) {
            causes.push(Cause::new(
                "parent_run_ended",
                format!(
                    "TRACER_TRACEPARENT names a run that is not running in {}",
                    shown(data_dir)
                ),
                "unset TRACER_TRACEPARENT: programs start runs of their own",
            ));
        }
    }
    causes
}

fn is_running(data_dir: &Path, trace_id: TraceId) -> bool {
    RunStore::new(data_dir)
        .select(&trace_id.to_string())
        .is_ok_and(|run| {
            run.read_summary()
                .meta
                .is_ok_and(|meta| meta.status == RecordedStatus::Running)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named() {
        assert_eq!(space(u64::MAX, Path::new("/data")), None);
        let cause = space(0, Path::new("/data")).map(|cause| cause.code);
        assert_eq!(cause, Some("disk_full"));
    }

    #[test]
    fn endpoints_are_split() {
        assert_eq!(
            split("http://localhost:4318/v1/traces"),
            ("localhost:4318", "/v1/traces")
        );
        assert_eq!(split("localhost:4317"), ("localhost:4317", ""));
        assert!(loopback("collector.example:4317").is_none());
        assert!(loopback("127.0.0.1:4317").is_some());
    }
}
