#[tracer_sdk::trace]
struct Agent;

#[tracer_sdk::trace]
impl Agent {
    fn ask(&self) {}
}

#[tracer_sdk::trace]
const ONE: u8 = 1;

fn main() {
    Agent.ask();
    drop(ONE);
}
