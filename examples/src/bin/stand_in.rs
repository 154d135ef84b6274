//! The stand-in for a model as a program of its own, to record a cassette against: it prints the variables that lead an agent
//! to it, and serves until it is ended.
//!
//! ```text
//! cargo run -p tracer-examples --bin stand_in
//! ```

use std::process::ExitCode;

use tracer_examples::stand_in::{MODEL, StandIn};

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what to set is all that it says"
)]
async fn main() -> ExitCode {
    let stand_in = match StandIn::start().await {
        Ok(stand_in) => stand_in,
        Err(error) => {
            eprintln!("error: the stand-in cannot be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let endpoint = stand_in.endpoint();
    println!("export OPENAI_BASE_URL={}", endpoint.base_url);
    println!("export OPENAI_API_KEY={}", endpoint.api_key);
    println!("export OPENAI_MODEL={MODEL}");
    std::future::pending().await
}
