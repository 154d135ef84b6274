//! The attribute of `tracer-sdk`, written in programs as `#[tracer_sdk::trace]`.
//!
//! `parse` splits the function, `arguments` reads the attribute, `plan` checks the two against each other, `expand` writes the
//! traced function, and `messages` has the text of every error. The body of the function is never parsed, so that an incomplete
//! one still completes in an editor; after a mistake the function is emitted unchanged, together with the error.

mod arguments;
mod expand;
mod messages;
mod options;
mod parameters;
mod parse;
mod plan;
mod returned;
mod source_path;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// Records a function: as a run, a tool call, a model call, or a span within one.
///
/// | written | recorded |
/// |---|---|
/// | `#[trace]`, `#[trace("nightly")]`, `#[trace(name = EXPR)]` | a run, or a structural span when a run is active |
/// | `#[trace(tool)]`, `#[trace(tool, "search")]` | a tool call; its default name is that of the function |
/// | `#[trace(llm, model = EXPR, provider = EXPR)]` | a model call, named by its model; `provider` may be left out |
/// | `#[trace(agent)]`, `#[trace(agent, "coder")]` | an agent within a run; loops are looked for in it by itself |
/// | `#[trace(span)]`, `#[trace(span, "plan")]` | a structural span; nothing outside a run |
///
/// | option | for | meaning |
/// |---|---|---|
/// | `name = EXPR`, or a string literal alone | run, agent, span, tool | the name, any `AsRef<str>` |
/// | `args`, `args(a, b)` | run, agent, tool, llm | keep all the arguments, or these, but never `self`; each must be `Serialize` |
/// | `result` | run, agent, tool, llm | keep the returned value, of a `Result` the one in `Ok`; it must be `Serialize` |
/// | `usage = FUNCTION` | llm | the tokens: a function of the returned value, of a `Result` the one in `Ok`, that gives a `Usage` or an `Option` of one |
/// | `max_llm_calls`, `max_tool_calls`, `max_events` `= N` | run | guardrails: maximum number (`u64`) |
/// | `max_duration_s = N` | run | guardrail: maximum duration in seconds, whole or fractional |
/// | `max_cost_usd = N` | run | guardrail: maximum cost of model calls in US dollars; feature `prices` |
/// | `stop_on_loop`, `stop_on_loop_min_repetitions = N` | run | guardrail: stop when the run repeats the same calls |
/// | `stop_on_loop = "shape"` | run | guardrail: stop as soon as calls of one shape repeat, whatever their arguments |
/// | `on_exceed = cancel` | run, async | a tripped guardrail drops the function at its next await and returns the error |
/// | `crate = PATH` | all | where `tracer_sdk` is re-exported |
///
/// Arguments and results are kept only when asked for, and pass through redaction; that a tool takes none is kept always. Of a model call they are the prompt and
/// the response, of a run or an agent its question and its answer, which `tracer list` shows and finds; a single argument is the prompt itself, several are an object. The values of options are expressions that may
/// use the arguments; they are evaluated before the body, and their guardrails count only when the function starts a run.
///
/// Without `usage`, a model call has no tokens and no cost: nothing of what the function returns is taken for them.
///
/// How the function ended is always recorded, from the value it returned: an `Err` of whatever type fails the span, with the
/// error's text and causes, as do a panic and a future dropped before it was ready. This needs no trait of the types.
///
/// A tool or model call that a guardrail refuses does not run if the function can return the refusal: its error type is
/// `From<GuardrailExceeded>`, as `anyhow::Error` and `Box<dyn Error>` are. Otherwise it runs, and its span says that it was refused.
///
/// It applies to sync and async functions and methods of any signature, among them those of `async_trait`, and those
/// that return `impl Future`, `Pin<Box<dyn Future>>`, `BoxFuture` or `LocalBoxFuture`: there the span lasts until the
/// future is ready. Only the signature identifies them, so a future under another type name is recorded as a plain
/// value. A `const fn` cannot have it.
///
/// The body runs in a closure or a block of its own. It notices that in one way: under `#[track_caller]`, `Location::caller()` returns
/// the traced function instead of its caller.
///
/// ```
/// use std::error::Error;
///
/// #[tracer_sdk::trace("sum it up", max_tool_calls = 20, stop_on_loop)]
/// fn agent(question: &str) -> Result<String, Box<dyn Error>> {
///     let pages = search(question, 3)?;
///     answer(&pages.join("\n"))
/// }
///
/// #[tracer_sdk::trace(tool, args, result)]
/// fn search(query: &str, limit: usize) -> Result<Vec<String>, Box<dyn Error>> {
///     Ok(vec![query.to_owned(); limit])
/// }
///
/// #[tracer_sdk::trace(llm, model = "gpt-5", provider = "openai", args, result)]
/// fn answer(prompt: &str) -> Result<String, Box<dyn Error>> {
///     Ok(prompt.to_uppercase())
/// }
/// ```
///
/// A function `fn f(arguments) -> R { body }` is expanded as follows: a scope is opened and made current; the body runs
/// in a closure that is called once (an `async` one in a block that is awaited); its value is checked for an error, and
/// returned.
#[proc_macro_attribute]
pub fn trace(attribute: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    traced(attribute.into(), item.into()).into()
}

/// The traced function; or the item as it was, and what is wrong.
fn traced(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let untouched = item.clone();
    let expanded = syn::parse2(item).and_then(|function: parse::TracedFn| {
        let arguments = syn::parse2(attribute)?;
        let plan = plan::plan(&arguments, &function)?;
        Ok(expand::expand(&plan, &function).into_token_stream())
    });
    expanded.unwrap_or_else(|error| {
        let error = error.to_compile_error();
        quote!(#untouched #error)
    })
}
