#[tracer_sdk::trace(args, tool)]
fn agent(_question: &str) {}

fn main() {
    agent("why");
}
