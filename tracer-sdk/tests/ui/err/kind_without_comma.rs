#[tracer_sdk::trace(tool args)]
fn search(_query: &str) {}

fn main() {
    search("rust");
}
