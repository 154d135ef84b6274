//! Programs whose runs are started by the attribute, for tests that need a process of their own: `traced_functions <program>`.

#![expect(clippy::print_stdout, reason = "the test reads what the program did")]

use std::error::Error;

use tracer_sdk::trace;
use tracer_tests::recording::block_on;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("unnamed") => unnamed(),
        Some("named") => named("nightly").unwrap_or_else(|error| println!("failed: {error}")),
        Some("asked") => println!("{}", asked("Why?")),
        Some("guarded") => println!("returned {:?}", guarded().map_err(|error| error.to_string())),
        Some("looping") => println!("returned {:?}", looping().map_err(|error| error.to_string())),
        Some("shaped") => println!("returned {:?}", shaped().map_err(|error| error.to_string())),
        Some("panicking") => panicking(),
        Some("unattached") => println!("returned {}", calls_outside_of_a_run()),
        other => println!("no such program: {other:?}"),
    }
}

#[trace]
fn unnamed() {
    search("rust").unwrap_or_default();
}

#[trace(name = format!("agent {job}"))]
fn named(job: &str) -> Result<(), Box<dyn Error>> {
    Err(format!("no {job}").into())
}

#[trace("asked", args(question), result)]
fn asked(question: &str) -> String {
    question.replace("Why", "Because")
}

#[trace("guarded", max_tool_calls = 2)]
fn guarded() -> Result<(), Box<dyn Error>> {
    loop {
        search("rust")?;
    }
}

#[trace("looping", stop_on_loop)]
fn looping() -> Result<(), Box<dyn Error>> {
    three_searches_and_a_clock()
}

#[trace("shaped", stop_on_loop = "shape")]
fn shaped() -> Result<(), Box<dyn Error>> {
    three_searches_and_a_clock()
}

/// Three files in a row, then a tool without parameters again and again.
fn three_searches_and_a_clock() -> Result<(), Box<dyn Error>> {
    ["a.rs", "b.rs", "c.rs"]
        .into_iter()
        .try_for_each(|file| search(file).map(|_| ()))?;
    (0..4).try_for_each(|_| now().map(|_| ()))
}

#[trace(tool)]
fn now() -> Result<u64, Box<dyn Error>> {
    println!("printed the time");
    Ok(0)
}

#[trace("panicking")]
fn panicking() {
    search("rust").unwrap_or_default();
    panic!("out of cheese");
}

fn calls_outside_of_a_run() -> usize {
    let found = search("rust").unwrap_or_default();
    let future = tracer_sdk::tool_call("lookup").run(async { Ok::<usize, Box<dyn Error>>(3) });
    let looked_up = block_on(future).unwrap_or_default();
    found + planned() + answered() + looked_up
}

#[trace(tool, args)]
fn search(query: &str) -> Result<usize, Box<dyn Error>> {
    println!("searched");
    Ok(query.len())
}

#[trace(llm, model = "gpt-5", usage = |_| { println!("asked for tokens"); None })]
fn answered() -> usize {
    2
}

#[trace(span)]
fn planned() -> usize {
    1
}
