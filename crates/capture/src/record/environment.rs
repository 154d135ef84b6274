//! Environment of a recorded command.
//!
//! The table of variables, and the handling of those that it had before (capture, section 4).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use tracer_insight::text::shell_quoted;
use tracer_sdk::TRACE_PARENT_VARIABLE;

use crate::server::{OtlpServer, Upstream};

/// The address that the proxies of a network must not be asked for.
const LOOPBACK: &str = "127.0.0.1";

/// The environment of the process that starts the command.
///
/// ```
/// use tracer_capture::record::Inherited;
///
/// let inherited = Inherited::new([("OTEL_TRACES_EXPORTER", "console"), ("EMPTY", " ")]);
/// assert_eq!(inherited.get("OTEL_TRACES_EXPORTER"), Some("console"));
/// assert_eq!(inherited.get("EMPTY"), None); // as OpenTelemetry reads it: not set
/// ```
#[derive(Debug, Clone, Default)]
pub struct Inherited {
    variables: BTreeMap<String, String>,
}

impl Inherited {
    /// These variables.
    pub fn new<Name: Into<String>, Value: Into<String>>(
        variables: impl IntoIterator<Item = (Name, Value)>,
    ) -> Self {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self { variables }
    }

    /// The variables of this process. Values that are not Unicode are decoded lossily: they are read, never handed on.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |text: OsString| text.to_string_lossy().into_owned();
        Self::new(std::env::vars_os().map(|(name, value)| (text(name), text(value))))
    }

    /// The value of a variable, trimmed; a blank one counts as not set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// The same as a function, for a proxy.
    pub fn variables(&self) -> impl Fn(&str) -> Option<String> {
        move |name: &str| self.get(name).map(str::to_owned)
    }
}

/// Addresses of a recording's receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpEndpoints {
    /// The base URL of OTLP over HTTP, without a path: `http://127.0.0.1:4318`.
    pub http: String,
    /// The URL of OTLP over gRPC.
    pub grpc: String,
}

impl From<&OtlpServer> for OtlpEndpoints {
    fn from(server: &OtlpServer) -> Self {
        let http = server.http_endpoint();
        Self {
            grpc: server.grpc_endpoint().unwrap_or_else(|| http.clone()),
            http,
        }
    }
}

/// A variable that the command is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

impl Variable {
    pub(super) fn new(name: &'static str, value: impl Into<String>) -> Self {
        Self {
            name,
            value: value.into(),
        }
    }

    /// `NAME=value`, quoted for a shell.
    ///
    /// ```
    /// use tracer_capture::record::{ChildEnvironment, Inherited, OtlpEndpoints};
    ///
    /// let endpoints = OtlpEndpoints { http: "http://127.0.0.1:4318".into(), grpc: "http://127.0.0.1:4317".into() };
    /// let environment = ChildEnvironment::of_otlp(&Inherited::default(), &endpoints);
    /// assert_eq!(environment.variables[0].assignment(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318");
    /// ```
    #[must_use]
    pub fn assignment(&self) -> String {
        format!("{}={}", self.name, shell_quoted(&self.value))
    }
}

/// Endpoint of the environment for traces and logs: the receiver forwards there what it has taken, with the headers of the
/// sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NamedEndpoints {
    /// Those of OTLP over HTTP.
    pub(super) upstream: Upstream,
    /// One of OTLP over gRPC, to which nothing is forwarded.
    pub(super) grpc: Option<String>,
}

impl NamedEndpoints {
    /// The endpoints that the variables of the OpenTelemetry specification name.
    pub(super) fn of(inherited: &Inherited) -> Self {
        let mut named = Self::default();
        let mut endpoint = |signal: &SignalVariables| {
            let url = signal.endpoint_of(inherited)?.url;
            if signal.is_grpc(inherited) {
                named.grpc = Some(url);
                return None;
            }
            Some(url)
        };
        let traces = endpoint(&SignalVariables::TRACES);
        let logs = endpoint(&SignalVariables::LOGS);
        named.upstream = Upstream { traces, logs };
        named
    }
}

/// Variables for a command's environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildEnvironment {
    /// The variables that are set, in the order of the table.
    pub variables: Vec<Variable>,
    /// Those of the table that the environment sets already, with its own value, and that stay.
    pub kept: Vec<Variable>,
}

impl ChildEnvironment {
    /// Variables by which programs export OTLP to `endpoints`: OpenTelemetry's SDKs, Claude Code and the Gemini CLI.
    ///
    /// A variable that is set already stays, but for those that would lead past the receiver: they are replaced.
    ///
    /// ```
    /// use tracer_capture::record::{ChildEnvironment, Inherited, OtlpEndpoints};
    ///
    /// let endpoints = OtlpEndpoints { http: "http://127.0.0.1:4318".into(), grpc: "http://127.0.0.1:4317".into() };
    /// let inherited = Inherited::new([("OTEL_TRACES_EXPORTER", "console")]);
    /// let environment = ChildEnvironment::of_otlp(&inherited, &endpoints);
    /// assert_eq!(environment.value("OTEL_LOGS_EXPORTER"), Some("otlp"));
    /// assert_eq!(environment.value("OTEL_TRACES_EXPORTER"), None);
    /// assert_eq!(environment.kept[0].value, "console");
    /// ```
    #[must_use]
    pub fn of_otlp(inherited: &Inherited, endpoints: &OtlpEndpoints) -> Self {
        let mut environment = Self::default();
        environment.add_endpoints(inherited, endpoints);
        for (name, value) in SWITCHES {
            environment.add_unless_set(inherited, name, value);
        }
        environment.add_metrics(inherited);
        let http = &endpoints.http;
        environment.add_unless_set(inherited, "GEMINI_TELEMETRY_OTLP_ENDPOINT", http);
        environment.exempt_loopback(inherited);
        environment
    }

    /// Variables that lead self-recording programs into the data directory, and into the run under the span that
    /// `parent` names, in the form of W3C's `traceparent`. A trace that the environment is part of already stays its
    /// own.
    ///
    /// ```
    /// use std::path::Path;
    /// use tracer_capture::record::{ChildEnvironment, Inherited};
    ///
    /// let environment = ChildEnvironment::of_run(Path::new("/data"), "00-…-01", &Inherited::default());
    /// assert_eq!(environment.value("TRACER_DATA_DIR"), Some("/data"));
    /// assert_eq!(environment.value("TRACER_TRACEPARENT"), environment.value("TRACEPARENT"));
    /// ```
    #[must_use]
    pub fn of_run(data_dir: &Path, parent: &str, inherited: &Inherited) -> Self {
        let mut environment = Self::default();
        // The command may change its directory.
        let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
        environment.set("TRACER_DATA_DIR", data_dir.to_string_lossy());
        environment.set(TRACE_PARENT_VARIABLE, parent);
        environment.add_unless_set(inherited, "TRACEPARENT", parent);
        environment
    }

    /// The value that a variable is set to.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let variable = self.variables.iter().find(|variable| variable.name == name)?;
        Some(&variable.value)
    }

    /// Sets a variable, whatever the environment has.
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.push(Variable::new(name, value));
    }

    /// Sets a variable unless the environment does.
    pub(super) fn add_unless_set(&mut self, inherited: &Inherited, name: &'static str, value: &str) {
        match inherited.get(name) {
            Some(own) => self.kept.push(Variable::new(name, own)),
            None => self.set(name, value),
        }
    }

    /// Adds what something else wants set.
    pub fn extend(&mut self, other: Self) {
        for variable in other.variables {
            if self.value(variable.name).is_none() {
                self.variables.push(variable);
            }
        }
        self.kept.extend(other.kept);
    }

    /// The endpoints for all signals and for each one. One that the environment names for a signal alone wins over the
    /// common one, so it is replaced; and a signal whose protocol is another one needs an endpoint of its own.
    fn add_endpoints(&mut self, inherited: &Inherited, endpoints: &OtlpEndpoints) {
        let is_common_grpc = is_grpc(inherited.get(COMMON_PROTOCOL));
        let base = if is_common_grpc {
            &endpoints.grpc
        } else {
            &endpoints.http
        };
        self.set(OTLP_ENDPOINT, base);
        self.add_unless_set(inherited, COMMON_PROTOCOL, "http/protobuf");
        for signal in [SignalVariables::TRACES, SignalVariables::LOGS] {
            let is_grpc = signal.is_grpc(inherited);
            if inherited.get(signal.endpoint).is_some() || is_grpc != is_common_grpc {
                let url = if is_grpc {
                    endpoints.grpc.clone()
                } else {
                    with_path(&endpoints.http, signal.path)
                };
                self.set(signal.endpoint, url);
            }
        }
    }

    /// Metrics are not recorded. Those that the environment sends somewhere go there, past the receiver.
    fn add_metrics(&mut self, inherited: &Inherited) {
        match SignalVariables::METRICS.endpoint_of(inherited) {
            None => self.add_unless_set(inherited, "OTEL_METRICS_EXPORTER", "none"),
            Some(named) if named.variable == SignalVariables::METRICS.endpoint => {}
            Some(named) => self.set(SignalVariables::METRICS.endpoint, named.url),
        }
    }

    /// Behind a proxy of the network, clients send even what is for this machine to the proxy, unless it is exempt.
    pub(super) fn exempt_loopback(&mut self, inherited: &Inherited) {
        let has_proxy = PROXIES.iter().any(|name| inherited.get(name).is_some());
        for name in EXEMPTIONS {
            let exempt = inherited.get(name).unwrap_or_default();
            let is_exempt = exempt
                .split(',')
                .any(|host| matches!(host.trim(), "*" | LOOPBACK));
            match exempt {
                _ if !has_proxy || is_exempt => {}
                "" => self.set(name, LOOPBACK),
                hosts => self.set(name, format!("{hosts},{LOOPBACK}")),
            }
        }
    }
}

/// The variable with the endpoint of all signals.
pub(super) const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const COMMON_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";

const PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
const EXEMPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// A signal of OpenTelemetry, and the variables for it alone.
struct SignalVariables {
    endpoint: &'static str,
    protocol: &'static str,
    path: &'static str,
}

impl SignalVariables {
    const TRACES: Self = Self {
        endpoint: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        protocol: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        path: "/v1/traces",
    };
    const LOGS: Self = Self {
        endpoint: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
        protocol: "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
        path: "/v1/logs",
    };
    const METRICS: Self = Self {
        endpoint: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        protocol: "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
        path: "/v1/metrics",
    };

    fn is_grpc(&self, inherited: &Inherited) -> bool {
        is_grpc(
            inherited
                .get(self.protocol)
                .or_else(|| inherited.get(COMMON_PROTOCOL)),
        )
    }

    /// The endpoint of a signal is used as it is; the common one gets the path of the signal, but for gRPC, which has none.
    fn endpoint_of(&self, inherited: &Inherited) -> Option<Endpoint> {
        if let Some(url) = inherited.get(self.endpoint) {
            return Some(Endpoint {
                variable: self.endpoint,
                url: url.to_owned(),
            });
        }
        let base = inherited.get(OTLP_ENDPOINT)?;
        Some(Endpoint {
            variable: OTLP_ENDPOINT,
            url: if self.is_grpc(inherited) {
                base.to_owned()
            } else {
                with_path(base, self.path)
            },
        })
    }
}

/// An endpoint, and the variable that names it.
struct Endpoint {
    variable: &'static str,
    url: String,
}

/// An unknown protocol counts as HTTP, as in exporters.
fn is_grpc(protocol: Option<&str>) -> bool {
    protocol == Some("grpc")
}

fn with_path(base: &str, path: &str) -> String {
    format!("{}{path}", base.trim_end_matches('/'))
}

/// Variables that turn on exporters, and the content of messages; each is set unless the environment sets it. Each is
/// read only by those that know it, so that all of them are set whatever the command is: the agent may be started by a
/// script.
const SWITCHES: &[(&str, &str)] = &[
    // OpenTelemetry's SDKs and instrumentations.
    ("OTEL_TRACES_EXPORTER", "otlp"),
    ("OTEL_LOGS_EXPORTER", "otlp"),
    (
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        "SPAN_AND_EVENT",
    ),
    ("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"),
    // Claude Code.
    ("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
    ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1"),
    ("OTEL_LOG_USER_PROMPTS", "1"),
    ("OTEL_LOG_ASSISTANT_RESPONSES", "1"),
    ("OTEL_LOG_TOOL_DETAILS", "1"),
    ("OTEL_LOG_TOOL_CONTENT", "1"),
    ("OTEL_LOG_RAW_API_BODIES", "1"),
    // Gemini CLI.
    ("GEMINI_TELEMETRY_ENABLED", "true"),
    ("GEMINI_TELEMETRY_TARGET", "local"),
    ("GEMINI_TELEMETRY_OTLP_PROTOCOL", "http"),
    ("GEMINI_TELEMETRY_TRACES_ENABLED", "true"),
    ("GEMINI_TELEMETRY_LOG_PROMPTS", "true"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints() -> OtlpEndpoints {
        OtlpEndpoints {
            http: "http://127.0.0.1:1".to_owned(),
            grpc: "http://127.0.0.1:2".to_owned(),
        }
    }

    fn environment(inherited: &[(&str, &str)]) -> ChildEnvironment {
        ChildEnvironment::of_otlp(&Inherited::new(inherited.iter().copied()), &endpoints())
    }

    #[test]
    fn an_empty_environment_gets_the_whole_table() {
        let environment = environment(&[]);
        assert_eq!(environment.kept, []);
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_TRACES_EXPORTER", "otlp"),
            ("OTEL_LOGS_EXPORTER", "otlp"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
            ("GEMINI_TELEMETRY_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ] {
            assert_eq!(environment.value(name), Some(value), "{name}");
        }
        for name in ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "NO_PROXY", "no_proxy"] {
            assert_eq!(environment.value(name), None, "{name}");
        }
    }

    #[test]
    fn no_variable_is_set_twice() {
        let proxied = [
            ("HTTP_PROXY", "http://proxy"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://up"),
        ];
        for inherited in [&[][..], &proxied[..]] {
            let mut names: Vec<_> = environment(inherited)
                .variables
                .iter()
                .map(|variable| variable.name)
                .collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }

    #[test]
    fn what_the_user_chose_stays() {
        let environment = environment(&[
            ("OTEL_TRACES_EXPORTER", "console"),
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "false"),
            ("OTEL_LOGS_EXPORTER", ""),
        ]);
        assert_eq!(environment.value("OTEL_TRACES_EXPORTER"), None);
        assert_eq!(environment.value("OTEL_LOGS_EXPORTER"), Some("otlp"));
        let kept: Vec<_> = environment.kept.iter().map(|kept| kept.value.as_str()).collect();
        assert_eq!(kept, ["console", "false"]);
    }

    #[test]
    fn an_endpoint_of_the_environment_becomes_the_upstream() {
        let inherited = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://otel.example/base/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20abc"),
        ];
        let environment = environment(&inherited);
        assert_eq!(
            environment.value("OTEL_EXPORTER_OTLP_ENDPOINT"),
            Some("http://127.0.0.1:1")
        );
        assert_eq!(environment.value("OTEL_EXPORTER_OTLP_HEADERS"), None, "they stay");
        assert_eq!(
            NamedEndpoints::of(&Inherited::new(inherited)).upstream,
            Upstream {
                traces: Some("https://otel.example/base/v1/traces".to_owned()),
                logs: Some("https://otel.example/base/v1/logs".to_owned()),
            }
        );
    }

    #[test]
    fn nothing_is_forwarded_to_an_endpoint_of_grpc() {
        let inherited = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://up:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ];
        let named = NamedEndpoints::of(&Inherited::new(inherited));
        assert_eq!(named.upstream, Upstream::default());
        assert_eq!(named.grpc.as_deref(), Some("http://up:4317"));
        let metrics = environment(&inherited);
        assert_eq!(
            metrics.value("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
            Some("http://up:4317")
        );
    }

    #[test]
    fn metrics_go_on_where_they_went() {
        let upstream = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://up:4318");
        let common = environment(&[upstream]);
        assert_eq!(
            common.value("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
            Some("http://up:4318/v1/metrics")
        );
        assert_eq!(common.value("OTEL_METRICS_EXPORTER"), None);
        let own = environment(&[upstream, ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m")]);
        assert_eq!(own.value("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"), None);
    }

    #[test]
    fn an_endpoint_for_one_signal_is_replaced_and_used_as_it_is() {
        let inherited = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://up/custom")];
        let environment = environment(&inherited);
        assert_eq!(
            environment.value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
            Some("http://127.0.0.1:1/v1/traces")
        );
        let named = NamedEndpoints::of(&Inherited::new(inherited));
        let custom = Upstream {
            traces: Some("http://up/custom".to_owned()),
            logs: None,
        };
        assert_eq!((named.upstream, named.grpc), (custom, None));
    }

    #[test]
    fn exporters_of_grpc_find_the_receiver_of_grpc() {
        let all = environment(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert_eq!(
            all.value("OTEL_EXPORTER_OTLP_ENDPOINT"),
            Some("http://127.0.0.1:2")
        );
        assert_eq!(all.value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), None);

        let logs_only = environment(&[("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "grpc")]);
        assert_eq!(
            logs_only.value("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"),
            Some("http://127.0.0.1:2")
        );
        assert_eq!(
            logs_only.value("OTEL_EXPORTER_OTLP_ENDPOINT"),
            Some("http://127.0.0.1:1")
        );
    }

    #[test]
    fn a_proxy_of_the_network_is_not_asked_for_loopback() {
        let proxy = ("http_proxy", "http://proxy:8080");
        assert_eq!(environment(&[proxy]).value("NO_PROXY"), Some("127.0.0.1"));
        let partly = environment(&[proxy, ("no_proxy", "internal.example")]);
        assert_eq!(partly.value("no_proxy"), Some("internal.example,127.0.0.1"));
        for exempt in ["*", "a, 127.0.0.1"] {
            assert_eq!(
                environment(&[proxy, ("NO_PROXY", exempt)]).value("NO_PROXY"),
                None
            );
        }
    }

    #[test]
    fn a_replayed_command_gets_placeholders_for_keys() {
        let inherited = Inherited::new([("MISTRAL_API_KEY", "real")]);
        let environment = ChildEnvironment::of_replay(&inherited, &["openai".to_owned()]);
        assert!(environment.value("OPENAI_API_KEY").is_some());
        assert_ne!(environment.value("MISTRAL_API_KEY"), Some("real"));
        assert_eq!(environment.value("XAI_API_KEY"), None);
    }
}
