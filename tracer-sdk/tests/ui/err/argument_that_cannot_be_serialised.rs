struct Secret;

#[tracer_sdk::trace(tool, args(limit, secret))]
fn search(limit: usize, secret: Secret) -> usize {
    drop(secret);
    limit
}

#[tracer_sdk::trace(tool, args)]
fn list(secret: Secret) {
    drop(secret);
}

fn main() {
    search(1, Secret);
    list(Secret);
}
