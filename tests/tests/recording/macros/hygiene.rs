//! `#[trace]` needs nothing in scope, and takes nothing from it.

#![no_implicit_prelude]

/// The expansion must find none of these.
mod std {}
mod core {}

#[expect(dead_code, reason = "there to be in the way")]
trait InTheWay: ::std::marker::Sized {
    fn enter(self) {}
    fn clone(self) {}
    fn with(self) {}
    fn refused(self) {}
    fn result(self) {}
    fn fail(self) {}
}

impl<T> InTheWay for T {}

#[expect(dead_code, reason = "there to be in the way")]
enum Option {
    None,
}

#[::tracer_sdk::trace(tool, args, result, name = "hygiene")]
fn sync(scope: u8, result: u8, arguments: u8, value: u8) -> ::std::result::Result<u8, ::std::fmt::Error> {
    let error = value;
    let exceeded = error;
    ::std::result::Result::Ok(scope + result + arguments + exceeded)
}

#[::tracer_sdk::trace(max_llm_calls = 1, max_duration_s = 1, stop_on_loop)]
async fn awaited(scope: u8, future: u8, result: u8) -> u8 {
    scope + future + result
}

#[::tracer_sdk::trace(llm, model = "gpt-5", provider = "openai", args)]
fn boxed(
    scope: u8,
    future: u8,
) -> ::std::pin::Pin<::std::boxed::Box<dyn ::std::future::Future<Output = u8> + ::std::marker::Send>> {
    ::std::boxed::Box::pin(async move { scope + future })
}

#[::std::prelude::v1::test]
fn the_expansion_stands_alone() {
    let _recording = ::tracer_tests::recording::recorded(|| {
        ::std::assert_eq!(sync(1, 2, 3, 4), ::std::result::Result::Ok(10));
        let mut context = ::std::task::Context::from_waker(::std::task::Waker::noop());
        let mut future = ::std::boxed::Box::pin(awaited(1, 2, 3));
        let ready = ::std::future::Future::poll(future.as_mut(), &mut context);
        ::std::assert!(::std::matches!(ready, ::std::task::Poll::Ready(6)));
        let mut future = boxed(1, 2);
        let ready = ::std::future::Future::poll(future.as_mut(), &mut context);
        ::std::assert!(::std::matches!(ready, ::std::task::Poll::Ready(3)));
    });
}
