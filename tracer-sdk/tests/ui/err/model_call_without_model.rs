#[tracer_sdk::trace(llm, provider = "openai")]
fn complete() {}

fn main() {
    complete();
}
