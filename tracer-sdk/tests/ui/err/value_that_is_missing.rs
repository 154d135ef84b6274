#[tracer_sdk::trace(name, max_events, on_exceed, crate)]
fn agent() {}

#[tracer_sdk::trace(name = )]
fn other() {}

fn main() {
    agent();
    other();
}
