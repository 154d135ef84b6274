//! OTLP over HTTP: spans of runs to a collector or back end, as they are recorded (capture, section 7).

mod answer;
mod batch;
mod client;
mod content;
mod destination;
mod endpoint;
mod repeats;
mod settings;
mod tail;

pub use destination::OtlpDestination;
pub use endpoint::OtlpEndpoint;
pub use settings::OtlpSettings;
#[cfg(test)]
pub(crate) use tail::SentPart;
