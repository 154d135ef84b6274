//! [`OtlpSettings`]: endpoint and encoding of a push, from OpenTelemetry's variables.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::endpoint::OtlpEndpoint;
use crate::error::ShipError;

const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Encoding of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Protobuf, and JSON where the endpoint answers that it accepts no protobuf.
    HttpProtobuf,
    HttpJson,
}

/// PEM files of an encrypted connection; the platform's root certificates are trusted where none is named.
#[derive(Debug, Clone)]
pub(super) struct TlsFiles {
    /// Certificates to trust in place of the platform's.
    pub(super) certificate: Option<PathBuf>,
    /// The client's private key.
    pub(super) client_key: Option<PathBuf>,
    /// The client's certificate, and its chain.
    pub(super) client_certificate: Option<PathBuf>,
}

/// Settings of a push to an endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OtlpSettings {
    /// The endpoint.
    pub endpoint: OtlpEndpoint,
    /// Headers of every request; their values are marked as sensitive, and `Debug` does not show them.
    pub(super) headers: HeaderMap,
    pub(super) protocol: Protocol,
    /// Requests are compressed by gzip.
    pub(super) is_compressed: bool,
    /// Time for an answer.
    pub(super) timeout: Duration,
    pub(super) tls: TlsFiles,
}

impl OtlpSettings {
    /// Settings from OpenTelemetry's variables: `OTEL_EXPORTER_OTLP_TRACES_…` before `OTEL_EXPORTER_OTLP_…`; one that is
    /// empty counts as missing. A base URL, to which `/v1/traces` is added, takes precedence over theirs.
    ///
    /// # Errors
    ///
    /// [`ShipError::Setting`] or [`ShipError::Grpc`], which names the variable and not its value.
    pub fn resolve(
        base_url: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ShipError> {
        let environment = ExporterVariables(variable);
        Ok(Self {
            endpoint: environment.endpoint(base_url)?,
            headers: environment.headers()?,
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
    fn invalid(&self, reason: &str) -> ShipError {
        ShipError::Setting {
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

    fn endpoint(&self, base_url: Option<&str>) -> Result<OtlpEndpoint, ShipError> {
        if let Some(base) = base_url {
            return OtlpEndpoint::from_base(base, "the endpoint");
        }
        if let Some(found) = self.get("TRACES_ENDPOINT") {
            return OtlpEndpoint::exact(&found.value, &found.name);
        }
        match self.get("ENDPOINT") {
            Some(found) => OtlpEndpoint::from_base(&found.value, &found.name),
            None => OtlpEndpoint::from_base(DEFAULT_ENDPOINT, "the endpoint"),
        }
    }

    /// `name=value,name=value`, percent-encoded.
    fn headers(&self) -> Result<HeaderMap, ShipError> {
        let mut headers = HeaderMap::new();
        let Some(found) = self.find("HEADERS") else {
            return Ok(headers);
        };
        for (number, entry) in (1..).zip(found.value.split(',')) {
            if entry.trim().is_empty() {
                continue;
            }
            let (name, value) = header(entry).ok_or_else(|| {
                found.invalid(&format!("entry {number} is not NAME=VALUE, percent-encoded"))
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn protocol(&self) -> Result<Protocol, ShipError> {
        let Some(found) = self.find("PROTOCOL") else {
            return Ok(Protocol::HttpProtobuf);
        };
        match found.value.trim() {
            "http/protobuf" => Ok(Protocol::HttpProtobuf),
            "http/json" => Ok(Protocol::HttpJson),
            "grpc" => Err(ShipError::Grpc { name: found.name }),
            _ => Err(found.invalid("expected http/protobuf or http/json")),
        }
    }

    fn is_compressed(&self) -> Result<bool, ShipError> {
        let Some(found) = self.find("COMPRESSION") else {
            return Ok(true);
        };
        match found.value.trim() {
            "gzip" => Ok(true),
            "none" => Ok(false),
            _ => Err(found.invalid("expected gzip or none")),
        }
    }

    fn timeout(&self) -> Result<Duration, ShipError> {
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

/// Name and value of an entry.
fn header(entry: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = entry.split_once('=')?;
    let name = percent_decode_str(name.trim()).decode_utf8().ok()?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    let mut value = HeaderValue::from_str(value.trim()).ok()?;
    value.set_sensitive(true);
    Some((HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(base_url: Option<&str>, variables: &[(&str, &str)]) -> Result<OtlpSettings, ShipError> {
        OtlpSettings::resolve(base_url, |name| {
            let found = variables.iter().find(|(known, _)| name == *known);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn of(variables: &[(&str, &str)]) -> Result<OtlpSettings, ShipError> {
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
        assert_eq!(settings.headers.len(), 1);
        assert_eq!(settings.headers["x-traces"], "1");
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

    #[test]
    fn headers_are_decoded_and_never_shown() {
        let list = " Authorization = Basic%20YQ%3D%3D ,, x-b=1=2";
        let settings = of(&[("OTEL_EXPORTER_OTLP_HEADERS", list)]).unwrap();
        assert_eq!(settings.headers["authorization"], "Basic YQ==");
        assert_eq!(settings.headers["x-b"], "1=2");
        assert!(!format!("{settings:?}").contains("YQ"));
    }

    #[test]
    fn a_wrong_header_is_named_by_its_number_alone() {
        for text in ["a=1,s3cret", "a=1,s3cret\u{1}=x", "a=1,b=s3cret%00", "a=1,b=%ff"] {
            let error = of(&[("OTEL_EXPORTER_OTLP_HEADERS", text)]).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("OTEL_EXPORTER_OTLP_HEADERS is invalid: entry 2"),
                "{text}"
            );
            assert!(!text.contains("s3cret"));
        }
    }
}
