#[tracer_sdk::trace]
const fn agent() -> u8 {
    1
}

// It is still there, and still const.
const ONE: u8 = agent();

fn main() {
    drop(ONE);
}
