struct Secret;

#[tracer_sdk::trace(tool, result)]
fn search() -> Result<Secret, String> {
    Ok(Secret)
}

fn main() {
    drop(search());
}
