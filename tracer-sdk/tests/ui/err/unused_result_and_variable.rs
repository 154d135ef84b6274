//! What the compiler would say of the plain function, it says of the traced one.
#![deny(unused)]

#[tracer_sdk::trace]
#[must_use]
fn sync(unused_argument: u8) -> u8 {
    let unused_variable = 1;
    2
}

#[tracer_sdk::trace(tool)]
async fn never_called(unused_argument: u8) {}

fn main() {
    sync(1);
}
