#[tokio::main(flavor = "current_thread")]
#[tracer_sdk::trace(span)]
async fn main() -> Result<(), String> {
    tokio::task::yield_now().await;
    Ok(())
}
