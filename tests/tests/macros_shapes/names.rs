//! Constants and types of the program that are called as the attribute might call its own variables.

use tracer_sdk::Guardrails;
use tracer_tests::recording::{block_on, recorded, recorded_within};

mod taken {
    #![allow(
        non_upper_case_globals,
        non_camel_case_types,
        dead_code,
        reason = "that is the point"
    )]

    use std::future::{Future, ready};
    use std::pin::Pin;

    use tracer_sdk::{GuardrailExceeded, trace};

    /// Names of variables that a macro writes.
    macro_rules! take_names {
        ($($constant:ident)*; $($unit:ident)*; $($variable:ident)*) => {
            $(const $constant: u8 = 1;)*
            $(struct $unit;)*
            $(static $variable: u8 = 2;)*
        };
    }

    take_names! {
        scope result value error arguments exceeded refusal output observe name door body;
        guard _guard span future task context this site;
        refuse model provider declared limit place kept run watch argument_0
    }

    #[derive(Debug)]
    pub(super) struct Refused;

    impl From<GuardrailExceeded> for Refused {
        fn from(_: GuardrailExceeded) -> Self {
            Self
        }
    }

    #[trace(tool, args, result)]
    pub(super) fn plain(query: &str, (_, high): (u8, u8), _: u8) -> Result<usize, Refused> {
        Ok(query.len() + usize::from(high))
    }

    #[trace(tool, args, result)]
    pub(super) async fn awaited(query: &str, _: u8) -> Result<usize, Refused> {
        ready(()).await;
        Ok(query.len())
    }

    #[trace(llm, model = "gpt-5", provider = "openai", args, result)]
    pub(super) fn returned(query: &str) -> impl Future<Output = Result<usize, Refused>> {
        ready(Ok(query.len()))
    }

    #[trace("outer", max_llm_calls = 9, on_exceed = cancel)]
    pub(super) fn boxed(query: &str) -> Pin<Box<dyn Future<Output = Result<usize, Refused>> + '_>> {
        Box::pin(async move { Ok(query.len()) })
    }

    #[trace(span)]
    pub(super) fn nothing() {}
}

#[test]
fn no_name_of_the_program_is_taken() {
    let run = recorded(|| {
        taken::nothing();
        assert_eq!(taken::plain("abc", (1, 2), 3).ok(), Some(5));
        block_on(async {
            assert_eq!(taken::awaited("abc", 1).await.ok(), Some(3));
            assert_eq!(taken::returned("abc").await.ok(), Some(3));
            assert_eq!(taken::boxed("abc").await.ok(), Some(3));
        });
    });
    let names: Vec<&str> = run.spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["nothing", "plain", "awaited", "gpt-5", "outer", "test"]);
}

#[test]
fn refused_calls_return_the_refusal() {
    drop(recorded_within(
        Guardrails::new().max_tool_calls(0).max_llm_calls(0),
        || {
            assert!(taken::plain("abc", (1, 2), 3).is_err());
            block_on(async {
                assert!(taken::awaited("abc", 1).await.is_err());
                assert!(taken::returned("abc").await.is_err());
            });
        },
    ));
}
