//! [`PushHeaders`]: what is sent along with each request, such as a key. Never shown.

use std::fmt;

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::error::PushError;

/// Headers of every request. Their values are not part of `Debug`.
///
/// ```
/// use tracer_capture::push::PushHeaders;
///
/// let headers = PushHeaders::from_list("authorization=Basic%20czNjcmV0,x-team=a", "OTEL_EXPORTER_OTLP_HEADERS")?;
/// assert_eq!(format!("{headers:?}"), r#"PushHeaders(["authorization", "x-team"])"#);
/// # Ok::<(), tracer_capture::push::PushError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PushHeaders(HeaderMap);

impl PushHeaders {
    /// Headers as OpenTelemetry's variables have them: `name=value,name=value`, percent-encoded. `name` is the variable's.
    ///
    /// ```
    /// use tracer_capture::push::PushHeaders;
    ///
    /// assert!(PushHeaders::from_list("x-team=a", "OTEL_EXPORTER_OTLP_HEADERS").is_ok());
    /// assert!(PushHeaders::from_list("x-team", "OTEL_EXPORTER_OTLP_HEADERS").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`PushError::Setting`], which names the entry by its number.
    pub fn from_list(text: &str, name: &str) -> Result<Self, PushError> {
        let mut headers = Self::default();
        for (number, entry) in (1..).zip(text.split(',')) {
            if entry.trim().is_empty() {
                continue;
            }
            let invalid = || PushError::Setting {
                name: name.to_owned(),
                reason: format!("entry {number} is not NAME=VALUE, percent-encoded"),
            };
            let (key, value) = entry.split_once('=').ok_or_else(invalid)?;
            let key = decoded(key).ok_or_else(invalid)?;
            let value = decoded(value).ok_or_else(invalid)?;
            headers.insert(&key, &value).ok_or_else(invalid)?;
        }
        Ok(headers)
    }

    fn insert(&mut self, name: &str, value: &str) -> Option<()> {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let mut value = HeaderValue::from_str(value).ok()?;
        value.set_sensitive(true);
        self.0.insert(name, value);
        Some(())
    }

    pub(super) fn map(&self) -> &HeaderMap {
        &self.0
    }
}

impl fmt::Debug for PushHeaders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.keys().map(HeaderName::as_str).collect();
        formatter.debug_tuple("PushHeaders").field(&names).finish()
    }
}

fn decoded(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text.trim()).decode_utf8().ok()?;
    Some(decoded.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(headers: &'a PushHeaders, name: &str) -> &'a str {
        headers.map().get(name).unwrap().to_str().unwrap()
    }

    #[test]
    fn variables_are_decoded() {
        let headers = PushHeaders::from_list(" Authorization = Basic%20YQ%3D%3D ,, x-b=1=2", "V").unwrap();
        assert_eq!(value(&headers, "authorization"), "Basic YQ==");
        assert_eq!(value(&headers, "x-b"), "1=2");
    }

    #[test]
    fn a_wrong_entry_is_named_by_its_number_alone() {
        for text in ["a=1,s3cret", "a=1,s3cret\u{1}=x", "a=1,b=s3cret%00", "a=1,b=%ff"] {
            let error = PushHeaders::from_list(text, "OTEL_EXPORTER_OTLP_HEADERS").unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("OTEL_EXPORTER_OTLP_HEADERS is invalid: entry 2"),
                "{text}"
            );
            assert!(!text.contains("s3cret"));
        }
    }

    #[test]
    fn values_are_never_shown() {
        let headers = PushHeaders::from_list("authorization=s3cret", "V").unwrap();
        assert!(!format!("{headers:?} {:?}", headers.map()).contains("s3cret"));
    }
}
