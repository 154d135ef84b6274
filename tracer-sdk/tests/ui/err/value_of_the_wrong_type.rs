#[tracer_sdk::trace(name = 7)]
fn named() {}

#[tracer_sdk::trace(max_llm_calls = "ten")]
fn limited() {}

#[tracer_sdk::trace(max_duration_s = "30 s")]
fn timed() {}

#[tracer_sdk::trace(stop_on_loop, stop_on_loop_min_repetitions = 1)]
fn looping() {}

fn main() {
    named();
    limited();
    timed();
    looping();
}
