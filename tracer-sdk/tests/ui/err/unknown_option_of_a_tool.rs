#[tracer_sdk::trace(tool, arguments)]
fn search() {}

fn main() {
    search();
}
