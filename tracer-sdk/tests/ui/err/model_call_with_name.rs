#[tracer_sdk::trace(llm, model = "gpt-5", name = "complete")]
fn complete() {}

fn main() {
    complete();
}
