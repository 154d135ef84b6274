#[tracer_sdk::trace]
fn sync(early: bool) -> u32 {
    if early {
        return "early";
    }
    "late"
}

#[tracer_sdk::trace(tool)]
async fn awaited(early: bool) -> Result<u32, String> {
    if early {
        return Ok("early");
    }
    7
}

#[tracer_sdk::trace]
async fn nothing() {
    7
}

#[tracer_sdk::trace(span)]
fn boxed() -> std::pin::Pin<Box<dyn Future<Output = u32>>> {
    Box::pin(async { "late" })
}

fn main() {
    sync(true);
    drop((awaited(true), nothing(), boxed()));
}
