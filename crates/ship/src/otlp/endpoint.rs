//! [`OtlpEndpoint`]: the URL that runs are pushed to.

use std::fmt;

use reqwest::Url;
use tracer_capture::is_loopback_host;
use tracer_insight::digest::sha256_hex;

use crate::error::ShipError;

/// Path of traces below the base of an OTLP endpoint.
const TRACES_PATH: &str = "v1/traces";
/// Hexadecimal digits of the hash that names an endpoint.
const KEY_DIGITS: usize = 16;

/// The URL that takes traces. It shows neither its password nor its query.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpEndpoint {
    url: Url,
}

impl OtlpEndpoint {
    /// The endpoint below a base URL: `/v1/traces` is added unless it is there. `name` is what an error calls it.
    ///
    /// # Errors
    ///
    /// [`ShipError::Setting`]: the text is no URL of HTTP.
    pub fn from_base(text: &str, name: &str) -> Result<Self, ShipError> {
        let mut endpoint = Self::exact(text, name)?;
        let path = endpoint.url.path().trim_end_matches('/');
        if !path.ends_with(&format!("/{TRACES_PATH}")) {
            let path = format!("{path}/{TRACES_PATH}");
            endpoint.url.set_path(&path);
        }
        Ok(endpoint)
    }

    /// The endpoint as it is given, without a path added.
    ///
    /// # Errors
    ///
    /// [`ShipError::Setting`]: the text is no URL of HTTP.
    pub fn exact(text: &str, name: &str) -> Result<Self, ShipError> {
        let invalid = |reason: &str| ShipError::Setting {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        // `localhost:4318` is a URL of the scheme `localhost`.
        let expected = "expected a URL such as http://localhost:4318";
        let mut url = Url::parse(text.trim()).map_err(|_| invalid(expected))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(invalid(expected));
        }
        url.set_fragment(None);
        Ok(Self { url })
    }

    /// `true` when only this machine is reached.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback_host(self.url.host_str().unwrap_or_default())
    }

    /// The host, as people know the endpoint.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Name of this endpoint's files: a hash of all but the password, which changes.
    pub(crate) fn key(&self) -> String {
        let mut url = self.url.clone();
        // Only URLs without a host have no place for a password.
        let _ = url.set_password(None);
        let mut key = sha256_hex(url.as_str().as_bytes());
        key.truncate(KEY_DIGITS);
        key
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.url;
        write!(formatter, "{}://{}", url.scheme(), self.host())?;
        if let Some(port) = url.port() {
            write!(formatter, ":{port}")?;
        }
        formatter.write_str(url.path())
    }
}

impl fmt::Debug for OtlpEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "OtlpEndpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn base(text: &str) -> String {
        OtlpEndpoint::from_base(text, "the endpoint").unwrap().to_string()
    }

    #[rstest]
    #[case("http://localhost:4318", "http://localhost:4318/v1/traces")]
    #[case("http://localhost:4318/", "http://localhost:4318/v1/traces")]
    #[case("https://a.test/otel", "https://a.test/otel/v1/traces")]
    #[case("https://a.test/otel/v1/traces", "https://a.test/otel/v1/traces")]
    #[case("https://a.test/otel/v1/traces/", "https://a.test/otel/v1/traces/")]
    #[case("https://[::1]:4318", "https://[::1]:4318/v1/traces")]
    fn a_base_gets_the_path_of_traces(#[case] given: &str, #[case] expected: &str) {
        assert_eq!(base(given), expected);
    }

    #[rstest]
    #[case("localhost:4318")]
    #[case("ftp://a.test")]
    #[case("")]
    #[case("s3cret")]
    fn what_is_no_url_is_refused_unquoted(#[case] given: &str) {
        let error = OtlpEndpoint::from_base(given, "OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT is invalid: "),
            "{text}"
        );
        assert!(!text.contains("s3cret"));
    }

    #[test]
    fn secrets_of_the_url_are_never_shown() {
        let endpoint = OtlpEndpoint::exact("https://me:s3cret@a.test/v1/traces?key=s3cret#x", "").unwrap();
        assert_eq!(endpoint.to_string(), "https://a.test/v1/traces");
        assert!(!format!("{endpoint:?}").contains("s3cret"));
    }

    #[test]
    fn a_new_password_is_the_same_endpoint() {
        let key = |url: &str| OtlpEndpoint::exact(url, "").unwrap().key();
        assert_eq!(key("https://me:one@a.test/"), key("https://me:two@a.test/"));
        assert_ne!(key("https://a.test/one"), key("https://a.test/two"));
        assert_ne!(key("https://a.test/?team=1"), key("https://a.test/?team=2"));
    }
}
