//! Why a recording saw no model call: the likely reasons for one command, from what was observed (capture, section 4). Pure.

use super::child::exit_words;
use super::findings::EnvironmentFindings;
use super::program::{Program, ProgramKind};
use crate::proxy::ProxySummary;
use crate::server::ServerStatistics;
use tracer_insight::process_exit::ProcessExit;
use tracer_insight::text::counted;
use tracer_insight::units;

/// Observations of a command that has ended.
#[derive(Debug, Clone)]
pub struct Observation<'a> {
    /// Its program.
    pub program: &'a Program,
    /// Findings in its environment.
    pub environment: &'a EnvironmentFindings,
    /// `true` when there was a receiver.
    pub receives_otlp: bool,
    /// `true` when there was a proxy for model APIs.
    pub proxies_models: bool,
    /// Summary of the requests to it.
    pub proxied: &'a ProxySummary,
    /// Statistics of the receiver.
    pub received: ServerStatistics,
    /// Model calls in the run, from any recorder.
    pub model_calls: u64,
    /// Its exit, where it was waited for.
    pub exit: Option<ProcessExit>,
    /// Its duration, in microseconds, where that is known.
    pub duration: Option<u64>,
}

/// The likely reasons why there is no model call, the likeliest first; empty when there is one. Each says what to do.
///
/// ```
/// use std::path::Path;
/// use tracer_capture::proxy::ProxySummary;
/// use tracer_capture::server::ServerStatistics;
/// use tracer_capture::record::{EnvironmentFindings, Inherited, Observation, Program, likely_reasons};
///
/// let command = ["uvicorn".into(), "app:app".into()];
/// let environment = Inherited::new([("OTEL_SDK_DISABLED", "true")]);
/// let reasons = likely_reasons(&Observation {
///     program: &Program::of_command(&command, Path::new(".")),
///     environment: &EnvironmentFindings::new(&environment, ""),
///     receives_otlp: true,
///     proxies_models: true,
///     proxied: &ProxySummary::default(),
///     received: ServerStatistics::default(),
///     model_calls: 0,
///     exit: None,
///     duration: None,
/// });
/// assert!(reasons[0].starts_with("OTEL_SDK_DISABLED=true"));
/// ```
#[must_use]
pub fn likely_reasons(observed: &Observation<'_>) -> Vec<String> {
    if observed.model_calls > 0 {
        return Vec::new();
    }
    // The proxy saw what the program asks: how to see more is no answer.
    let reasons = of_routes(observed.proxied);
    if !reasons.is_empty() {
        return reasons;
    }
    let sees_nothing = !observed.receives_otlp && !observed.proxies_models;
    if observed.environment.recording_is_off && sees_nothing {
        return vec![RECORDING_OFF.to_owned(), NOT_RECEIVED.to_owned()];
    }
    if sees_nothing {
        return vec![
            "neither OpenTelemetry (--no-otel) nor calls of models (--no-proxy) were received, so that only what tracer's own \
             SDK records can be seen"
                .to_owned(),
        ];
    }
    let mut reasons = Vec::new();
    if !observed.receives_otlp {
        reasons.extend(of_proxy(observed));
        reasons.push(NOT_RECEIVED.to_owned());
        return reasons;
    }
    let received = &observed.received;
    if received.not_taken() > 0 {
        reasons.push(format!(
            "{} could not be read: they are no valid OTLP",
            counted(received.not_taken(), "span or log record")
        ));
    }
    if received.spans > 0 || received.log_records > 0 {
        reasons.push(format!(
            "{} and {} arrived, none of a model call: something else of the program is instrumented",
            counted(received.spans, "span"),
            counted(received.log_records, "log record"),
        ));
        reasons.extend(of_proxy(observed));
        reasons.extend(of_program(observed.program, true));
        return reasons;
    }
    reasons.extend(of_end(observed));
    reasons.extend(of_environment(observed.environment));
    reasons.extend(of_proxy(observed));
    if received.connections > 0 {
        reasons.push(format!(
            "an exporter connected ({}) and sent no span: the program recorded none, or was killed before it sent them",
            counted(received.connections, "connection")
        ));
    }
    reasons.extend(of_program(observed.program, received.connections > 0));
    reasons
}

/// What the proxy saw of requests, none of them a model call.
fn of_routes(proxied: &ProxySummary) -> Vec<String> {
    let services = (proxied.service_calls() > 0).then(|| {
        format!(
            "{} asked a model for something else than an answer, such as embeddings",
            counted(proxied.service_calls(), "request")
        )
    });
    let unknown = (!proxied.unknown_routes.is_empty()).then(|| {
        format!(
            "what it asked is of no API for models that is known here: {}",
            proxied.unknown_routes.join(", ")
        )
    });
    let refused = (!proxied.refused_routes.is_empty()).then(|| {
        format!(
            "the proxy refused what it asked (404), as no provider has the path {}: look how the program joins its base URL and \
             the path",
            proxied.refused_routes.join(", ")
        )
    });
    [services, unknown, refused].into_iter().flatten().collect()
}

/// Reason for which the proxy for model APIs saw no call of a model.
fn of_proxy(observed: &Observation<'_>) -> Option<String> {
    if !observed.proxies_models {
        return None;
    }
    if observed.proxied.requests() > 0 {
        return Some(format!(
            "{} went to a provider, none to an API for models that is known here",
            counted(observed.proxied.requests(), "request")
        ));
    }
    Some(
        "no request for a model came through the proxy: the program made none, or its base URL is set in code or in a \
         file instead of the environment"
            .to_owned(),
    )
}

const NOT_RECEIVED: &str = "OpenTelemetry was not received: leave out --no-otel";

const RECORDING_OFF: &str = "TRACER_ENABLED turns off the recording of annotated programs: unset it";

fn of_environment(environment: &EnvironmentFindings) -> Vec<String> {
    let switches = environment.switches.iter();
    let mut reasons: Vec<String> = switches
        .map(|cause| format!("{}: {}", cause.message, cause.remedy))
        .collect();
    if environment.recording_is_off {
        reasons.push(RECORDING_OFF.to_owned());
    }
    if !environment.dotenv.is_empty() {
        reasons.push(format!(
            "the file .env sets {}; a program that loads it with override=True does not see what record sets: remove it \
             there",
            environment.dotenv.join(", ")
        ));
    }
    reasons
}

/// Reasons that the kind of program suggests; `is_exporting` when it has an exporter already.
fn of_program(program: &Program, is_exporting: bool) -> Vec<String> {
    let name = &program.name;
    match program.kind {
        ProgramKind::Python => vec![python(program, is_exporting)],
        ProgramKind::Node => vec![node(program, is_exporting)],
        ProgramKind::ClaudeCode => vec![
            "Claude Code takes its telemetry settings from managed settings or ~/.claude/settings.json before the \
             environment: look for OTEL_ and CLAUDE_CODE_ENABLE_TELEMETRY there"
                .to_owned(),
        ],
        ProgramKind::Codex => vec![
            "Codex reads its telemetry settings from config.toml and -c otel.…, which record adds where the command is \
             codex itself: start codex directly"
                .to_owned(),
        ],
        ProgramKind::GeminiCli => vec![
            "the Gemini CLI takes \"telemetry\" of ~/.gemini/settings.json or .gemini/settings.json: remove it there, or \
             enable it"
                .to_owned(),
        ],
        ProgramKind::Container => vec![format!(
            "a container started by {name} has an environment and a loopback address of its own: run tracer record inside \
             it, or tracer receive --host outside"
        )],
        ProgramKind::Launcher => vec![format!(
            "what {name} started exports no OpenTelemetry, or got another environment (sudo, ssh, env -i): record the \
             agent's own command to learn more"
        )],
        ProgramKind::Native | ProgramKind::Unknown => vec![format!(
            "{name} exports no OpenTelemetry: if it is yours and in Rust, add tracer_sdk::layer() or #[tracer_sdk::trace]; \
             otherwise look for its telemetry switch"
        )],
    }
}

/// A command that failed may have done so before it asked a model.
fn of_end(observed: &Observation<'_>) -> Option<String> {
    let exit = observed.exit.filter(|exit| !exit.is_success())?;
    let after = observed.duration.map_or_else(String::new, |duration| {
        format!(" after {}", units::duration(duration))
    });
    Some(format!(
        "the command ended with {}{after}, perhaps before it asked a model",
        exit_words(exit)
    ))
}

fn python(program: &Program, is_exporting: bool) -> String {
    let name = &program.name;
    if is_exporting || program.is_instrumented {
        return format!(
            "{name} is started with OpenTelemetry, and exported no model call: the instrumentation of its framework is missing, \
             or an exporter in its code wins over the environment"
        );
    }
    format!(
        "{name} exported nothing: pip install opentelemetry-distro opentelemetry-exporter-otlp and the package of its framework, \
         and start it with: tracer record -- opentelemetry-instrument python …"
    )
}

fn node(program: &Program, is_exporting: bool) -> String {
    let name = &program.name;
    if is_exporting {
        return format!(
            "{name} exported no model call: the telemetry of its framework is off, or an exporter in its code wins over the \
             environment"
        );
    }
    format!(
        "{name} exported nothing: npm install @opentelemetry/auto-instrumentations-node, and set \
         NODE_OPTIONS=--import=@opentelemetry/auto-instrumentations-node/register"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::record::environment::Inherited;

    static NOTHING: OnceLock<ProxySummary> = OnceLock::new();

    fn program(kind: ProgramKind) -> Program {
        Program {
            name: "agent".to_owned(),
            kind,
            is_instrumented: false,
            position: 0,
        }
    }

    fn observed<'a>(program: &'a Program, environment: &'a EnvironmentFindings) -> Observation<'a> {
        Observation {
            program,
            environment,
            receives_otlp: true,
            proxies_models: false,
            proxied: NOTHING.get_or_init(ProxySummary::default),
            received: ServerStatistics::default(),
            model_calls: 0,
            exit: Some(ProcessExit::Code(0)),
            duration: Some(300_000),
        }
    }

    fn reasons(kind: ProgramKind) -> String {
        let program = program(kind);
        likely_reasons(&observed(&program, &EnvironmentFindings::default())).join("\n")
    }

    #[test]
    fn a_recorded_model_call_needs_no_reason() {
        let program = program(ProgramKind::Python);
        let environment = EnvironmentFindings::default();
        let seen = Observation {
            model_calls: 1,
            ..observed(&program, &environment)
        };
        assert_eq!(likely_reasons(&seen), [""; 0]);
    }

    #[test]
    fn what_went_through_the_proxy_is_named() {
        let program = program(ProgramKind::Python);
        let environment = EnvironmentFindings::default();
        let proxied = ProxySummary {
            model_calls: 2,
            other_requests: 1,
            unknown_routes: vec!["POST /v1/realtime/sessions".to_owned()],
            ..ProxySummary::default()
        };
        let seen = Observation {
            proxies_models: true,
            proxied: &proxied,
            ..observed(&program, &environment)
        };
        assert_eq!(
            likely_reasons(&seen),
            [
                "2 requests asked a model for something else than an answer, such as embeddings",
                "what it asked is of no API for models that is known here: POST /v1/realtime/sessions",
            ]
        );
    }

    #[test]
    fn a_refused_request_is_the_reason() {
        let program = program(ProgramKind::Native);
        let environment = EnvironmentFindings::default();
        let proxied = ProxySummary {
            refused_routes: vec!["/olama/api/chat".to_owned()],
            ..ProxySummary::default()
        };
        let seen = Observation {
            proxies_models: true,
            proxied: &proxied,
            ..observed(&program, &environment)
        };
        assert_eq!(
            likely_reasons(&seen),
            [
                "the proxy refused what it asked (404), as no provider has the path /olama/api/chat: look how the program joins \
                 its base URL and the path"
            ]
        );
    }

    #[test]
    fn every_kind_of_program_has_a_reason() {
        for (kind, expected) in [
            (ProgramKind::Python, "opentelemetry-instrument"),
            (ProgramKind::Node, "NODE_OPTIONS"),
            (ProgramKind::ClaudeCode, "settings.json"),
            (ProgramKind::Codex, "config.toml"),
            (ProgramKind::GeminiCli, ".gemini/settings.json"),
            (ProgramKind::Container, "loopback"),
            (ProgramKind::Launcher, "sudo"),
            (ProgramKind::Native, "tracer_sdk::layer()"),
            (ProgramKind::Unknown, "telemetry switch"),
        ] {
            let reasons = reasons(kind);
            assert!(reasons.contains(expected), "{kind:?}: {reasons}");
        }
    }

    #[test]
    fn a_command_that_failed_at_once_is_named_first() {
        let program = program(ProgramKind::Python);
        let environment = EnvironmentFindings::default();
        let failed = Observation {
            exit: Some(ProcessExit::Code(1)),
            ..observed(&program, &environment)
        };
        assert_eq!(
            likely_reasons(&failed)[0],
            "the command ended with exit code 1 after 300 ms, perhaps before it asked a model"
        );
        assert!(!reasons(ProgramKind::Python).contains("exit code"));
    }

    #[test]
    fn a_program_that_exports_needs_no_exporter() {
        let launched = Program {
            is_instrumented: true,
            ..program(ProgramKind::Python)
        };
        let environment = EnvironmentFindings::default();
        let reasons = likely_reasons(&observed(&launched, &environment)).join("\n");
        assert!(!reasons.contains("opentelemetry-distro"), "{reasons}");
    }

    #[test]
    fn what_the_environment_says_comes_before_guesses() {
        let program = program(ProgramKind::Python);
        let inherited = Inherited::new([
            ("OTEL_TRACES_EXPORTER", "console"),
            ("OTEL_TRACES_SAMPLER", "always_off"),
            ("OTEL_SDK_DISABLED", "true"),
            ("TRACER_ENABLED", "0"),
        ]);
        let environment = EnvironmentFindings::new(&inherited, "OTEL_EXPORTER_OTLP_ENDPOINT=https://a");
        let reasons = likely_reasons(&observed(&program, &environment));
        for (reason, expected) in reasons.iter().zip([
            "OTEL_SDK_DISABLED=true",
            "OTEL_TRACES_EXPORTER=console",
            "always_off",
            "TRACER_ENABLED",
            "override=True",
            "pip install",
        ]) {
            assert!(reason.contains(expected), "{expected}: {reason}");
        }
        assert_eq!(reasons.len(), 6);
    }

    #[test]
    fn spans_without_a_model_call_are_counted() {
        let program = program(ProgramKind::Python);
        let environment = EnvironmentFindings::new(&Inherited::new([("OTEL_SDK_DISABLED", "true")]), "");
        let seen = Observation {
            received: ServerStatistics {
                connections: 1,
                spans: 12,
                log_records: 1,
                rejected_items: 2,
                ..ServerStatistics::default()
            },
            ..observed(&program, &environment)
        };
        let reasons = likely_reasons(&seen).join("\n");
        assert!(
            reasons.contains("2 span or log records could not be read"),
            "{reasons}"
        );
        assert!(reasons.contains("12 spans and 1 log record arrived"), "{reasons}");
        assert!(
            !reasons.contains("OTEL_SDK_DISABLED"),
            "it is not disabled: {reasons}"
        );
        assert!(
            !reasons.contains("opentelemetry-distro"),
            "it has an exporter: {reasons}"
        );
    }

    #[test]
    fn a_connection_without_spans_is_named() {
        let program = program(ProgramKind::Native);
        let environment = EnvironmentFindings::default();
        let seen = Observation {
            received: ServerStatistics {
                connections: 2,
                ..ServerStatistics::default()
            },
            ..observed(&program, &environment)
        };
        assert!(likely_reasons(&seen)[0].contains("2 connections"));
    }

    #[test]
    fn without_a_receiver_that_is_the_reason() {
        let program = program(ProgramKind::Python);
        for (inherited, count) in [(&[][..], 1), (&[("TRACER_ENABLED", "0")][..], 2)] {
            let environment = EnvironmentFindings::new(&Inherited::new(inherited.iter().copied()), "");
            let seen = Observation {
                receives_otlp: false,
                ..observed(&program, &environment)
            };
            let reasons = likely_reasons(&seen);
            assert_eq!(reasons.len(), count);
            assert!(reasons.join("\n").contains("--no-otel"));
        }
    }
}
