#[tracer_sdk::trace(max_llm_calls = 3, on_exceed = cancel)]
fn agent() {}

fn main() {
    agent();
}
