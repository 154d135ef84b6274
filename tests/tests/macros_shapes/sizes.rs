//! A traced future is as large as a plain one and a constant, however deep it is nested.

#![allow(
    clippy::large_futures,
    clippy::large_types_passed_by_value,
    clippy::manual_async_fn,
    clippy::shadow_reuse,
    reason = "what is tested is the size"
)]

use std::future::Future;
use std::hint::black_box;

use tracer_sdk::{Config, Run, trace};
use tracer_tests::recording::recorded;

/// The most that one level adds to a plain one, in bytes.
const WRAPPER: usize = 640;

type Outcome = Result<usize, String>;
type Data = [u8; 1024];

async fn leaf(data: Data) -> Outcome {
    Ok(data.len())
}

/// Twelve functions, each of which awaits the one before, and the sizes of their futures.
macro_rules! twelve_levels {
    ($module:ident, $level:ident) => {
        mod $module {
            use super::*;

            twelve_levels! { $level leaf level_1 level_2 level_3 level_4 level_5 level_6 level_7 level_8 level_9 level_10 level_11 level_12 }
        }
    };
    ($level:ident $first:ident $($name:ident)*) => {
        twelve_levels! { @each $level $first $($name)* }

        pub(super) fn sizes() -> Vec<usize> {
            vec![$(size_of_val(&$name([0; 1024]))),*]
        }
    };
    (@each $level:ident $next:ident $name:ident $($more:ident)*) => {
        $level!($name $next);
        twelve_levels! { @each $level $name $($more)* }
    };
    (@each $level:ident $last:ident) => {};
}

macro_rules! plain {
    ($name:ident $next:ident) => {
        async fn $name(data: Data) -> Outcome {
            let outcome = $next(data).await;
            let _ = black_box(&data);
            outcome
        }
    };
}

macro_rules! attribute {
    ($name:ident $next:ident) => {
        #[trace]
        async fn $name(data: Data) -> Outcome {
            let outcome = $next(data).await;
            let _ = black_box(&data);
            outcome
        }
    };
}

macro_rules! tool {
    ($name:ident $next:ident) => {
        #[trace(tool, result)]
        async fn $name(data: Data) -> Outcome {
            let outcome = $next(data).await;
            let _ = black_box(&data);
            outcome
        }
    };
}

macro_rules! handed_on {
    ($name:ident $next:ident) => {
        fn $name(data: Data) -> impl Future<Output = Outcome> {
            $next(data)
        }
    };
}

macro_rules! returned {
    ($name:ident $next:ident) => {
        #[trace(tool)]
        fn $name(data: Data) -> impl Future<Output = Outcome> {
            $next(data)
        }
    };
}

macro_rules! instrumented {
    ($name:ident $next:ident) => {
        fn $name(data: Data) -> impl Future<Output = Outcome> {
            let config = Config::new().enabled(false);
            Run::new("level")
                .config(&config)
                .try_instrument($next(data))
        }
    };
}

twelve_levels!(plain_levels, plain);
twelve_levels!(attribute_levels, attribute);
twelve_levels!(tool_levels, tool);
twelve_levels!(handed_on_levels, handed_on);
twelve_levels!(returned_levels, returned);
twelve_levels!(instrumented_levels, instrumented);

/// Asserts what each level adds to what it adds to a plain one, and that this is the same for each.
fn assert_constant(of: &str, traced: &[usize], plain: &[usize]) {
    let added: Vec<usize> = traced
        .iter()
        .zip(plain)
        .map(|(traced, plain)| traced - plain)
        .collect();
    for levels in added.windows(2) {
        let more = levels[1] - levels[0];
        assert!(more <= WRAPPER, "{of}: {more} bytes with a level: {added:?}");
    }
}

#[test]
fn each_level_of_wrappers_adds_a_constant() {
    // Within a run of their own: recorders outside of one may find that of another test.
    let _recording = recorded(|| {
        let (plain, handed_on) = (plain_levels::sizes(), handed_on_levels::sizes());
        assert_constant("async fn", &attribute_levels::sizes(), &plain);
        assert_constant("tool", &tool_levels::sizes(), &plain);
        assert_constant("fn -> impl Future", &returned_levels::sizes(), &handed_on);
        assert_constant("try_instrument", &instrumented_levels::sizes(), &handed_on);
    });
}
