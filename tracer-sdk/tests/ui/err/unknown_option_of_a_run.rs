#[tracer_sdk::trace(nmae = "agent")]
fn agent() {}

fn main() {
    agent();
}
