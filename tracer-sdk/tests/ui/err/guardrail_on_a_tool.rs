#[tracer_sdk::trace(tool, max_llm_calls = 3, stop_on_loop)]
fn search() {}

fn main() {
    search();
}
