//! Outside of every run a recorder takes nothing. A test program of its own: with a run elsewhere in the process, its calls
//! would belong to that run.

use allocation_counter::measure;
use tracer_sdk::{Usage, llm_call, record_error, span, state, tool_call, unattached_records};

#[test]
fn without_a_run_a_recorder_allocates_and_serialises_nothing() {
    let error = "x".parse::<u8>().unwrap_err();
    let before = unattached_records();
    let taken = measure(|| {
        tool_call("search")
            .args(&NotToBeSerialised)
            .result(&NotToBeSerialised)
            .record()
            .unwrap();
        let mut call = llm_call("gpt-5").prompt(&NotToBeSerialised).start().unwrap();
        call.response(&NotToBeSerialised).usage(Usage::new(1, 2));
        call.end().unwrap();
        state(&NotToBeSerialised).record().unwrap();
        record_error(&error).unwrap();
        span("step")
            .start()
            .in_scope(|| tool_call("search").record().unwrap());
    });
    assert_eq!(taken.count_total, 0);
    assert_eq!(unattached_records() - before, 6);
}

struct NotToBeSerialised;

impl serde::Serialize for NotToBeSerialised {
    fn serialize<S: serde::Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        panic!("serialised without a run");
    }
}
