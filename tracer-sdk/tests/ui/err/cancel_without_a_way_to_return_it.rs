#[tracer_sdk::trace(max_llm_calls = 3, on_exceed = cancel)]
async fn agent() -> Result<u8, String> {
    Ok(1)
}

fn main() {
    drop(agent());
}
