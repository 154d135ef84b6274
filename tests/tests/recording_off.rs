//! Recording that is off. In a program of its own: a record outside of every run would join the one run that another test
//! has live.

use tracer_sdk::{Config, Run, tool_call};
use tracer_tests::DataDir;

#[test]
fn recording_that_is_off_leaves_nothing_behind() {
    let data = DataDir::new();
    let run = Run::new("off")
        .config(&Config::new().data_dir(data.path()).enabled(false))
        .start();
    assert_eq!((run.trace_id(), run.dir(), run.stats().written), (None, None, 0));
    tool_call("search").record().unwrap();
    drop(run);
    assert!(!data.path().exists());
}
