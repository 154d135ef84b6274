mod vendored {
    pub use tracer_sdk as telemetry;
}

#[vendored::telemetry::trace(tool, args, result, crate = vendored::telemetry)]
pub fn search(query: &str) -> Result<usize, String> {
    Ok(query.len())
}

#[vendored::telemetry::trace(crate = crate::vendored::telemetry)]
pub async fn agent() {}

fn main() {}
