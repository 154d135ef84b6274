//! [`PushSettings`]: where to push and how, from OpenTelemetry's variables and what takes precedence over them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::endpoint::PushEndpoint;
use super::error::PushError;
use super::secret_headers::PushHeaders;

const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// How requests are written.
///
/// ```
/// use tracer_capture::push::Protocol;
///
/// assert_eq!("http/json".parse(), Ok(Protocol::HttpJson));
/// assert_eq!(Protocol::default().to_string(), "http/protobuf");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Protobuf, and JSON where the endpoint answers that it takes no protobuf.
    #[default]
    HttpProtobuf,
    /// JSON.
    HttpJson,
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::HttpProtobuf => "http/protobuf",
            Self::HttpJson => "http/json",
        })
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "http/protobuf" => Ok(Self::HttpProtobuf),
            "http/json" => Ok(Self::HttpJson),
            _ => Err("expected http/protobuf or http/json".to_owned()),
        }
    }
}

/// PEM files of an encrypted connection; the platform's root certificates hold where none is named.
///
/// ```
/// assert_eq!(tracer_capture::push::TlsFiles::default().certificate, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// Certificates to trust in place of the platform's.
    pub certificate: Option<PathBuf>,
    /// The client's private key.
    pub client_key: Option<PathBuf>,
    /// The client's certificate, and its chain.
    pub client_certificate: Option<PathBuf>,
}

/// Where to push, and how.
///
/// ```
/// use tracer_capture::push::PushSettings;
///
/// let settings = PushSettings::resolve(None, |name| match name {
///     "OTEL_EXPORTER_OTLP_ENDPOINT" => Some("http://collector.test:4318".to_owned()),
///     _ => None,
/// })?;
/// assert_eq!(settings.endpoint.to_string(), "http://collector.test:4318/v1/traces");
/// # Ok::<(), tracer_capture::push::PushError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PushSettings {
    /// Where to.
    pub endpoint: PushEndpoint,
    /// What is sent along.
    pub headers: PushHeaders,
    /// How requests are written.
    pub protocol: Protocol,
    /// Whether they are compressed, by gzip.
    pub is_compressed: bool,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Files of an encrypted connection.
    pub tls: TlsFiles,
}

impl PushSettings {
    /// Settings from OpenTelemetry's variables: `OTEL_EXPORTER_OTLP_TRACES_…` before `OTEL_EXPORTER_OTLP_…`; one that is
    /// empty counts as missing. A base URL, to which `/v1/traces` is added, takes precedence over theirs.
    ///
    /// ```
    /// use tracer_capture::push::PushSettings;
    ///
    /// let settings = PushSettings::resolve(None, |_| None)?;
    /// assert_eq!(settings.endpoint.to_string(), "http://localhost:4318/v1/traces");
    /// # Ok::<(), tracer_capture::push::PushError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PushError::Setting`] or [`PushError::Grpc`], which names the variable and not its value.
    pub fn resolve(
        base_url: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PushError> {
        let environment = ExporterVariables(variable);
        let headers = match environment.find("HEADERS") {
            Some(found) => PushHeaders::from_list(&found.value, &found.name)?,
            None => PushHeaders::default(),
        };
        Ok(Self {
            endpoint: environment.endpoint(base_url)?,
            headers,
            protocol: environment.protocol()?,
            is_compressed: environment.is_compressed()?,
            timeout: environment.timeout()?,
            tls: TlsFiles {
                certificate: environment.file("CERTIFICATE"),
                client_key: environment.file("CLIENT_KEY"),
                client_certificate: environment.file("CLIENT_CERTIFICATE"),
            },
        })
    }
}

/// OpenTelemetry's variables.
struct ExporterVariables<F>(F);

/// A variable that is set.
struct ExporterVariable {
    name: String,
    value: String,
}

impl ExporterVariable {
    fn invalid(&self, reason: &str) -> PushError {
        PushError::Setting {
            name: self.name.clone(),
            reason: reason.to_owned(),
        }
    }
}

impl<F: Fn(&str) -> Option<String>> ExporterVariables<F> {
    /// The variable of traces, else that of all signals.
    fn find(&self, setting: &str) -> Option<ExporterVariable> {
        self.get(&format!("TRACES_{setting}"))
            .or_else(|| self.get(setting))
    }

    fn get(&self, setting: &str) -> Option<ExporterVariable> {
        let name = format!("OTEL_EXPORTER_OTLP_{setting}");
        let value = (self.0)(&name).filter(|value| !value.trim().is_empty())?;
        Some(ExporterVariable { name, value })
    }

    fn endpoint(&self, base_url: Option<&str>) -> Result<PushEndpoint, PushError> {
        if let Some(base) = base_url {
            return PushEndpoint::from_base(base, "the endpoint");
        }
        if let Some(found) = self.get("TRACES_ENDPOINT") {
            return PushEndpoint::exact(&found.value, &found.name);
        }
        match self.get("ENDPOINT") {
            Some(found) => PushEndpoint::from_base(&found.value, &found.name),
            None => PushEndpoint::from_base(DEFAULT_ENDPOINT, "the endpoint"),
        }
    }

    fn protocol(&self) -> Result<Protocol, PushError> {
        let Some(found) = self.find("PROTOCOL") else {
            return Ok(Protocol::default());
        };
        if found.value.trim() == "grpc" {
            return Err(PushError::Grpc { name: found.name });
        }
        found
            .value
            .trim()
            .parse()
            .map_err(|reason: String| found.invalid(&reason))
    }

    fn is_compressed(&self) -> Result<bool, PushError> {
        let Some(found) = self.find("COMPRESSION") else {
            return Ok(true);
        };
        match found.value.trim() {
            "gzip" => Ok(true),
            "none" => Ok(false),
            _ => Err(found.invalid("expected gzip or none")),
        }
    }

    fn timeout(&self) -> Result<Duration, PushError> {
        let Some(found) = self.find("TIMEOUT") else {
            return Ok(DEFAULT_TIMEOUT);
        };
        match found.value.trim().parse() {
            Ok(milliseconds) if milliseconds > 0 => Ok(Duration::from_millis(milliseconds)),
            _ => Err(found.invalid("expected a number of milliseconds above 0")),
        }
    }

    fn file(&self, setting: &str) -> Option<PathBuf> {
        self.find(setting).map(|found| PathBuf::from(found.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(base_url: Option<&str>, variables: &[(&str, &str)]) -> Result<PushSettings, PushError> {
        PushSettings::resolve(base_url, |name| {
            let found = variables.iter().find(|(known, _)| name == *known);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn of(variables: &[(&str, &str)]) -> Result<PushSettings, PushError> {
        resolve(None, variables)
    }

    #[test]
    fn variables_of_traces_take_precedence_and_are_used_as_they_are() {
        let settings = of(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all.test"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces.test/take"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-all=1"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-traces=1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"),
            ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "/key.pem"),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", " "),
        ])
        .unwrap();
        assert_eq!(settings.endpoint.to_string(), "http://traces.test/take");
        assert_eq!(format!("{:?}", settings.headers), r#"PushHeaders(["x-traces"])"#);
        assert_eq!(settings.timeout, Duration::from_millis(2500));
        assert!(!settings.is_compressed);
        assert_eq!(settings.protocol, Protocol::HttpJson);
        assert_eq!(settings.tls.certificate, Some("/ca.pem".into()));
        assert_eq!(settings.tls.client_key, Some("/key.pem".into()));
        assert_eq!(settings.tls.client_certificate, None);
    }

    #[test]
    fn a_base_url_comes_before_variables() {
        let variables = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces.test/take")];
        let settings = resolve(Some("http://here.test"), &variables).unwrap();
        assert_eq!(settings.endpoint.to_string(), "http://here.test/v1/traces");
    }

    #[test]
    fn a_wrong_variable_is_named_without_its_value() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "s3cret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "s3cret"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "s3cret"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "s3cret"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ] {
            let error = of(&[(name, value)]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
            assert!(!error.hint().is_empty());
        }
    }
}
