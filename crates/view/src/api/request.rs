//! The parts of a request, checked; a wrong one is refused with an error of the API.

use std::collections::HashMap;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use tracer_sdk::format::TraceId;

use super::super::answer::ApiError;

/// The run that a path names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunId(pub(crate) TraceId);

/// The parameters behind the question mark; of one that is given twice, the last counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(HashMap<String, String>);

/// The variable parts of a path, in their order.
async fn segments<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Vec<String>, ApiError> {
    let Path(segments) = Path::<Vec<(String, String)>>::from_request_parts(parts, state)
        .await
        .map_err(|_| ApiError::bad_request("invalid_path", "the path is no text"))?;
    Ok(segments.into_iter().map(|(_, segment)| segment).collect())
}

impl<S: Send + Sync> FromRequestParts<S> for RunId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let segments = segments(parts, state).await?;
        trace_id(segments.first().map(String::as_str).unwrap_or_default()).map(Self)
    }
}

/// All variable parts of a path; the first names a run.
#[derive(Debug, Clone)]
pub(crate) struct Segments(Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for Segments {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        segments(parts, state).await.map(Self)
    }
}

impl Segments {
    /// The run that the path names.
    pub(crate) fn run(&self) -> Result<TraceId, ApiError> {
        trace_id(self.at(0))
    }

    /// A part by its number, from 0.
    pub(crate) fn at(&self, number: usize) -> &str {
        self.0.get(number).map(String::as_str).unwrap_or_default()
    }
}

/// A text that has to be a trace ID.
pub(crate) fn trace_id(text: &str) -> Result<TraceId, ApiError> {
    text.parse().map_err(|_| {
        ApiError::bad_request(
            "invalid_trace_id",
            "a run is named by its whole trace ID: 32 characters of 0-9 and a-f",
        )
    })
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::bad_request("invalid_query", "the query cannot be read"))?;
        Ok(Self(pairs.0.into_iter().collect()))
    }
}

impl Query {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A number; `None` when it is not given.
    pub(crate) fn number<Number: FromStr>(&self, name: &str) -> Result<Option<Number>, ApiError> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| {
            ApiError::bad_request("invalid_parameter", format!("`{name}` has to be a whole number"))
        })
    }

    /// A flag, `true` or `false`; false when it is absent.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.get(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::bad_request(
                "invalid_parameter",
                format!("`{name}` is `true` or `false`"),
            )),
        }
    }

    /// The first item of a part; 0 when it is absent.
    pub(crate) fn from(&self) -> Result<usize, ApiError> {
        let from: Option<u32> = self.number("from")?;
        Ok(from.map_or(0, |from| from as usize))
    }

    /// A number of at most `most`, and `otherwise` when it is not given.
    pub(crate) fn limit(&self, name: &str, otherwise: usize, most: usize) -> Result<usize, ApiError> {
        let limit = self.number(name)?.unwrap_or(otherwise);
        if (1..=most).contains(&limit) {
            return Ok(limit);
        }
        Err(ApiError::bad_request(
            "invalid_parameter",
            format!("`{name}` has to be between 1 and {most}"),
        ))
    }
}
