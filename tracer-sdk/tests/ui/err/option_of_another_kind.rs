#[tracer_sdk::trace(tool, model = "gpt-5")]
fn search() {}

#[tracer_sdk::trace(span, args)]
fn agent(_question: &str) {}

fn main() {
    search();
    agent("why");
}
