//! One request to the endpoint, and its answer.

use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT,
};
use reqwest::{Certificate, Identity, Url, redirect};
use tracer_capture::causes::{causes, innermost};
use tracer_runs::read_input;

use super::answer::{Answer, RawAnswer};
use super::settings::{OtlpSettings, Protocol, TlsFiles};
use crate::error::{RequestFailure, ShipError};

/// Bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of a file with certificates or keys.
const MAX_PEM_BYTES: u64 = 1024 * 1024;

/// The connection to an endpoint.
pub(super) struct Client {
    http: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    is_compressed: bool,
}

impl Client {
    pub(super) fn new(settings: &OtlpSettings) -> Result<Self, ShipError> {
        // TLS needs one provider of cryptography per process. Another part of the program may have chosen one first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let endpoint = &settings.endpoint;
        let mut http = reqwest::Client::builder()
            .timeout(settings.timeout)
            // A redirection would take the headers to another host.
            .redirect(redirect::Policy::none());
        if endpoint.is_loopback() {
            // A proxy cannot reach what is on this machine.
            http = http.no_proxy();
        }
        if endpoint.is_encrypted() {
            http = with_files(http, &settings.tls)?;
        } else {
            // Without TLS the platform's certificates are not needed: do not fail where there are none.
            http = http.tls_certs_only([]);
        }
        Ok(Self {
            http: http.build().map_err(|error| ShipError::Client(reasons(&error)))?,
            url: endpoint.url().clone(),
            headers: settings.headers.clone(),
            is_compressed: settings.is_compressed,
        })
    }

    /// The bytes that go over the wire.
    pub(super) fn compressed(&self, body: Vec<u8>) -> io::Result<Bytes> {
        if self.is_compressed {
            return gzipped(&body).map(Bytes::from);
        }
        Ok(body.into())
    }

    /// Sends a request, written as `protocol` has it and compressed.
    pub(super) async fn send(&self, body: Bytes, protocol: Protocol) -> Result<Answer, RequestFailure> {
        let mut headers = self.headers.clone();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static(match protocol {
                Protocol::HttpProtobuf => "application/x-protobuf",
                Protocol::HttpJson => "application/json",
            }),
        );
        if !headers.contains_key(USER_AGENT) {
            let agent = concat!("tracer/", env!("CARGO_PKG_VERSION"));
            headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        }
        if self.is_compressed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let request = self.http.post(self.url.clone()).headers(headers).body(body);
        let mut response = request.send().await.map_err(|error| no_answer(&error))?;
        let mut answer = RawAnswer {
            status: response.status().as_u16(),
            content_type: header(&response, CONTENT_TYPE)
                .unwrap_or_default()
                .to_ascii_lowercase(),
            retry_after: header(&response, RETRY_AFTER),
            location: header(&response, LOCATION).and_then(|to| {
                let to = self.url.join(&to).ok()?;
                to.host_str().map(str::to_owned)
            }),
            body: Vec::new(),
        };
        // Once the status is there, the rest only explains it.
        while let Ok(Some(chunk)) = response.chunk().await {
            answer.body.extend_from_slice(&chunk);
            if answer.body.len() > MAX_ANSWER_BYTES {
                break;
            }
        }
        answer.interpret(SystemTime::now())
    }
}

/// The bytes of a request.
pub(super) fn encode_request(request: &ExportTraceServiceRequest, protocol: Protocol) -> io::Result<Vec<u8>> {
    match protocol {
        Protocol::HttpProtobuf => Ok(request.encode_to_vec()),
        Protocol::HttpJson => Ok(serde_json::to_vec(request)?),
    }
}

fn gzipped(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}

fn header(response: &reqwest::Response, name: HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}

fn with_files(
    mut http: reqwest::ClientBuilder,
    files: &TlsFiles,
) -> Result<reqwest::ClientBuilder, ShipError> {
    if let Some(path) = &files.certificate {
        let pem = read_pem(path)?;
        let certificates = Certificate::from_pem_bundle(&pem)
            .ok()
            .filter(|certificates| !certificates.is_empty());
        let certificates = certificates.ok_or_else(|| unusable(path, "it holds no certificate in PEM"))?;
        http = http.tls_certs_only(certificates);
    }
    match (&files.client_key, &files.client_certificate) {
        (Some(key), Some(certificate)) => {
            let mut pem = read_pem(certificate)?;
            pem.push(b'\n');
            pem.extend_from_slice(&read_pem(key)?);
            let identity = Identity::from_pem(&pem)
                .map_err(|_| unusable(key, "it and the client's certificate are no pair in PEM"))?;
            Ok(http.identity(identity))
        }
        (Some(path), None) => Err(unusable(path, "a client's key needs its certificate")),
        (None, Some(path)) => Err(unusable(path, "a client's certificate needs its key")),
        (None, None) => Ok(http),
    }
}

fn read_pem(path: &Path) -> Result<Vec<u8>, ShipError> {
    read_input(path, MAX_PEM_BYTES).map_err(|error| unusable(path, &error.to_string()))
}

fn unusable(path: &Path, reason: &str) -> ShipError {
    ShipError::TlsFile {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

fn no_answer(error: &reqwest::Error) -> RequestFailure {
    let reason = reasons(error);
    if is_about_certificates(error) {
        return ShipError::Certificate { reason }.into();
    }
    if error.is_timeout() {
        return RequestFailure::transient("no answer in time");
    }
    if error.is_connect() {
        return RequestFailure::Unreachable(reason);
    }
    RequestFailure::transient(reason)
}

/// Checks if a certificate is refused, by either side: another attempt is no use.
fn is_about_certificates(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        let tls = cause.downcast_ref::<rustls::Error>().or_else(|| {
            // An I/O error hides what it wraps from the chain of sources.
            cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref()
        });
        matches!(
            tls,
            Some(
                rustls::Error::InvalidCertificate(_)
                    | rustls::Error::NoCertificatesPresented
                    | rustls::Error::AlertReceived(_)
            )
        )
    })
}

/// The innermost cause. What wraps it repeats the URL, which may hold a secret.
fn reasons(error: &reqwest::Error) -> String {
    innermost(error).unwrap_or_else(|| "the request failed".to_owned())
}
