#[tracer_sdk::trace(tool, result = true, args = query)]
fn search(_query: &str) {}

#[tracer_sdk::trace(stop_on_loop = true, on_exceed = stop)]
async fn agent() {}

fn main() {
    search("rust");
    drop(agent());
}
