//! Variables of a program that keep it from being recorded.
//!
//! They are read before it starts, and named when nothing arrives.

use std::path::Path;

use super::environment::Inherited;
use crate::cause::Cause;
use crate::small_file;

/// Settings in the environment that may keep spans away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentFindings {
    /// Switches that keep spans away, with what to do.
    pub switches: Vec<Cause>,
    /// `TRACER_ENABLED` turns the recording of annotated programs off.
    pub recording_is_off: bool,
    /// Variables of OpenTelemetry and base URLs that the file `.env` sets: a program that loads it sends elsewhere.
    pub dotenv: Vec<String>,
}

impl EnvironmentFindings {
    /// Reads the environment of a command and the file `.env` of its directory.
    #[must_use]
    pub fn of_command(inherited: &Inherited, directory: &Path) -> Self {
        let dotenv = small_file::text(&directory.join(".env"));
        Self::new(inherited, dotenv.as_deref().unwrap_or_default())
    }

    /// Findings in the variables and in the text of a file of variables.
    #[must_use]
    pub fn new(inherited: &Inherited, dotenv: &str) -> Self {
        let is_off =
            |value: &str| matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off");
        Self {
            switches: switches(inherited),
            recording_is_off: inherited.get("TRACER_ENABLED").is_some_and(is_off),
            dotenv: names_of_telemetry(dotenv),
        }
    }
}

/// Switches of OpenTelemetry by which a program exports no spans, or not all.
pub fn switches(inherited: &Inherited) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut add = |code, message: String, remedy| causes.push(Cause::new(code, message, remedy));
    let disabled = inherited.get("OTEL_SDK_DISABLED");
    if disabled.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        add(
            "otel_disabled",
            "OTEL_SDK_DISABLED=true turns OpenTelemetry off in the program".to_owned(),
            "unset it",
        );
    }
    let is_otlp = |exporter: &str| matches!(exporter.trim(), "otlp" | "otlp_proto_http" | "otlp_proto_grpc");
    let exporters = inherited.get("OTEL_TRACES_EXPORTER");
    if let Some(exporters) = exporters.filter(|exporters| !exporters.split(',').any(is_otlp)) {
        add(
            "otel_exporter_other",
            format!("OTEL_TRACES_EXPORTER={exporters} sends spans elsewhere"),
            "unset it, or add otlp",
        );
    }
    if let Some(sampler) = sampler(inherited) {
        add(
            "otel_sampler_off",
            format!("OTEL_TRACES_SAMPLER leaves traces out ({sampler})"),
            "set it to always_on",
        );
    }
    let flags = inherited
        .get("TRACEPARENT")
        .and_then(|parent| parent.split('-').nth(3))
        .and_then(|flags| u8::from_str_radix(flags, 16).ok());
    if flags.is_some_and(|flags| flags & 1 == 0) {
        add(
            "parent_unsampled",
            "TRACEPARENT names a trace that is not sampled (its last field is even)".to_owned(),
            "unset it",
        );
    }
    causes
}

/// The sampler, unless it keeps every trace.
fn sampler(inherited: &Inherited) -> Option<String> {
    let name = inherited.get("OTEL_TRACES_SAMPLER")?;
    if name.ends_with("always_on") {
        return None;
    }
    let argument = inherited.get("OTEL_TRACES_SAMPLER_ARG");
    // The default ratio is all of them.
    if name.ends_with("traceidratio") && argument.is_none_or(|ratio| ratio.parse() == Ok(1.0)) {
        return None;
    }
    Some(match argument {
        Some(argument) if name.ends_with("traceidratio") => format!("{name} {argument}"),
        _ => name.to_owned(),
    })
}

/// The ends of the variables that name the address of a provider.
const BASE_URL: [&str; 3] = ["_BASE_URL", "_API_BASE", "OLLAMA_HOST"];

/// The variables of a `.env` file that move or stop an exporter, or lead past the proxy.
fn names_of_telemetry(dotenv: &str) -> Vec<String> {
    const NAMES: [&str; 6] = [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
        "OTEL_TRACES_EXPORTER",
        "OTEL_SDK_DISABLED",
        "TRACER_ENABLED",
    ];
    let lines = dotenv.lines().map(str::trim);
    let names = lines.filter_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        Some(line.split_once('=')?.0.trim())
    });
    let mut found: Vec<String> = Vec::new();
    for name in names.filter(|name| NAMES.contains(name) || BASE_URL.iter().any(|end| name.ends_with(end))) {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(variables: &[(&str, &str)]) -> EnvironmentFindings {
        EnvironmentFindings::new(&Inherited::new(variables.iter().copied()), "")
    }

    #[test]
    fn an_ordinary_environment_keeps_nothing_away() {
        let ordinary = [
            ("OTEL_TRACES_EXPORTER", "console, otlp"),
            ("OTEL_TRACES_SAMPLER", "parentbased_always_on"),
            ("OTEL_SDK_DISABLED", "false"),
            (
                "TRACEPARENT",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            ),
            ("TRACER_ENABLED", "1"),
        ];
        assert_eq!(findings(&ordinary), EnvironmentFindings::default());
        assert_eq!(findings(&[]), EnvironmentFindings::default());
        assert_eq!(findings(&[("OTEL_TRACES_SAMPLER", "traceidratio")]).switches, []);
    }

    #[test]
    fn whatever_keeps_spans_away_is_found() {
        let found = findings(&[
            ("OTEL_TRACES_EXPORTER", "console"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.1"),
            ("OTEL_SDK_DISABLED", "True"),
            (
                "TRACEPARENT",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
            ),
            ("TRACER_ENABLED", "off"),
        ]);
        assert!(found.recording_is_off);
        let codes: Vec<_> = found.switches.iter().map(|cause| cause.code).collect();
        assert_eq!(
            codes,
            [
                "otel_disabled",
                "otel_exporter_other",
                "otel_sampler_off",
                "parent_unsampled"
            ]
        );
        assert!(found.switches[1].message.contains("console"), "{found:?}");
        assert!(
            found.switches[2]
                .message
                .contains("(parentbased_traceidratio 0.1)"),
            "{found:?}"
        );
    }

    #[test]
    fn nonsense_in_the_environment_is_no_finding() {
        let nonsense = [("TRACEPARENT", "00-zz"), ("OTEL_SDK_DISABLED", "perhaps")];
        assert_eq!(findings(&nonsense), EnvironmentFindings::default());
    }

    #[test]
    fn a_file_of_variables_names_what_it_moves() {
        let text = "# OTEL_SDK_DISABLED=true\nOPENAI_API_KEY=x\nexport OTEL_TRACES_EXPORTER = none\n\
                    OTEL_EXPORTER_OTLP_ENDPOINT=https://a\nOTEL_EXPORTER_OTLP_ENDPOINT=https://b\nbroken\n";
        let found = EnvironmentFindings::new(&Inherited::default(), text);
        assert_eq!(
            found.dotenv,
            ["OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT"]
        );
    }
}
