#[tracer_sdk::trace(span)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), String> {
    tokio::task::yield_now().await;
    Ok(())
}
