#[tracer_sdk::trace("one", name = "other", max_events = 1, max_events = 2)]
fn agent() {}

fn main() {
    agent();
}
