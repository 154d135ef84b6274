//! Answers of the API: JSON with the version of the format, or a typed error.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tracer_runs::InvalidRun;
use tracer_sdk::format::{Problem, SPEC_VERSION};

use tracer_insight::json;

const UNREADABLE: &str = "unreadable_run";

/// An error of the API: `{spec_version, error: {code, message}}`.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: ErrorBody,
    /// True where the same question, asked again, is answered: a database was damaged, and is made again.
    pub(super) is_made_again: bool,
}

/// The value of `error`.
#[derive(Debug, Serialize)]
struct ErrorBody {
    /// A word that stays the same.
    code: &'static str,
    /// The message for people. It quotes no trace.
    message: String,
    /// The problems of a damaged run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

/// An answer with the version of the trace format.
#[derive(Serialize)]
struct Versioned<Answer> {
    spec_version: &'static str,
    #[serde(flatten)]
    answer: Answer,
}

/// An error as it is answered.
#[derive(Serialize)]
struct ErrorAnswer {
    error: ErrorBody,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let body = ErrorBody {
            code,
            message: message.into(),
            problems: Vec::new(),
        };
        Self {
            status,
            body,
            is_made_again: false,
        }
    }

    /// Something in the request is not what it has to be.
    pub(super) fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// A missing resource.
    pub(super) fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// The request may not be answered.
    pub(super) fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    /// A file that cannot be read now.
    #[expect(clippy::needless_pass_by_value, reason = "takes what `map_err` gives")]
    pub(super) fn unreadable(error: impl ToString) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, UNREADABLE, error.to_string())
    }

    /// True for a file that cannot be read.
    pub(super) fn is_unreadable(&self) -> bool {
        self.body.code == UNREADABLE
    }

    /// The run is refused for its problems.
    pub(super) fn invalid_run(invalid: InvalidRun) -> Self {
        if invalid.is_input() {
            return no_such_run();
        }
        Self::damaged(invalid.problems)
    }

    /// The run's metadata cannot be read.
    pub(super) fn damaged(problems: Vec<Problem>) -> Self {
        let mut error = Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid_run",
            "the run is damaged; its problems are listed",
        );
        error.body.problems = problems;
        error
    }

    /// Something that no request explains.
    pub(super) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the viewer failed to answer this; please report what you asked for",
        )
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn message(&self) -> &str {
        &self.body.message
    }
}

/// No run has the ID.
pub(super) fn no_such_run() -> ApiError {
    ApiError::not_found("no_such_run", "no run has this ID; it may have been deleted")
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = json_response(&ErrorAnswer { error: self.body });
        *response.status_mut() = status;
        response
    }
}

/// A value as JSON, with the version of the trace format.
pub(super) fn json_response(answer: &impl Serialize) -> Response {
    json_value(&Versioned {
        spec_version: SPEC_VERSION,
        answer,
    })
}

/// A value as JSON, as it is.
pub(super) fn json_value(value: &impl Serialize) -> Response {
    match json_text(value) {
        Ok(text) => bytes_response("application/json", text),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A value as JSON text.
pub(super) fn json_text(value: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    let mut text = Vec::new();
    json::write(&mut text, value).map_err(|_| ApiError::internal())?;
    Ok(text)
}

/// A version as a validator of HTTP.
fn etag(version: &str) -> String {
    format!("\"{version}\"")
}

/// The answer that nothing has changed, when the request says that it knows this version.
pub(super) fn not_modified(request: &HeaderMap, version: &str) -> Option<Response> {
    let known = request.get(header::IF_NONE_MATCH)?.to_str().ok()?;
    let tag = etag(version);
    let is_known = known.split(',').any(|known| {
        let known = known.trim();
        known.strip_prefix("W/").unwrap_or(known) == tag
    });
    is_known.then(|| (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response())
}

/// Adds the version to an answer.
pub(super) fn with_version(mut response: Response, version: &str) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&etag(version)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Bytes of a kind.
pub(super) fn bytes_response(content_type: &'static str, bytes: impl Into<Body>) -> Response {
    (
        [(header::CONTENT_TYPE, HeaderValue::from_static(content_type))],
        bytes.into(),
    )
        .into_response()
}
