//! Arguments drop where and when those of the plain function do.

#![allow(
    unused,
    clippy::let_underscore_must_use,
    clippy::many_single_char_names,
    clippy::shadow_reuse,
    clippy::shadow_unrelated,
    clippy::too_many_arguments,
    reason = "an argument that is not used drops, too"
)]

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::task::Poll;

use tokio::task::yield_now;
use tracer_sdk::trace;
use tracer_tests::recording::{block_on, recorded};

thread_local! {
    static DROPPED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Says when it is dropped.
struct Noisy(&'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        DROPPED.with_borrow_mut(|dropped| dropped.push(self.0));
    }
}

struct Pair {
    left: Noisy,
    right: Noisy,
}

fn pair(left: &'static str, right: &'static str) -> Pair {
    Pair {
        left: Noisy(left),
        right: Noisy(right),
    }
}

/// The same function with and without the attribute, each of both kinds.
macro_rules! each {
    ($plain:ident $traced:ident $awaited:ident $traced_awaited:ident ($($input:tt)*) $body:block) => {
        fn $plain($($input)*) $body

        #[trace(span)]
        fn $traced($($input)*) $body

        async fn $awaited($($input)*) {
            yield_now().await;
            $body
            yield_now().await;
        }

        #[trace(span)]
        async fn $traced_awaited($($input)*) {
            yield_now().await;
            $body
            yield_now().await;
        }
    };
}

each!(named traced_named awaited_named traced_awaited_named
(a: Noisy, mut b: Noisy, c: Noisy, _d: Noisy, e: Noisy) {
    let local = Noisy("local");
    // In another order than that of the parameters, and not all.
    let _ = c.0.len();
    b.0 = "changed";
    let _ = a.0.len();
});

each!(unnamed traced_unnamed awaited_unnamed traced_awaited_unnamed (a: Noisy, _: Noisy, c: Noisy) {
    let local = Noisy("local");
    let _ = (c.0, a.0);
});

each!(apart traced_apart awaited_apart traced_awaited_apart
(a: Noisy, Pair { left, right: _ }: Pair, (_, ref b): (Noisy, Noisy), mut c: Noisy, _: Noisy, d @ Pair { .. }: Pair) {
    let local = Noisy("local");
    c.0 = "changed";
    let _ = (d.left.0, b.0);
    drop(left);
});

each!(moved traced_moved awaited_moved traced_awaited_moved (a: Noisy, b: Pair, c: Noisy) {
    let first = c;
    let part = b.right;
});

fn dropped(work: impl FnOnce()) -> Vec<&'static str> {
    drop(DROPPED.take());
    work();
    DROPPED.take()
}

/// What the four of them drop, when they are called with arguments that `call` makes.
macro_rules! orders {
    ($plain:ident $traced:ident $awaited:ident $traced_awaited:ident ($($argument:expr),*)) => {
        [
            dropped(|| $plain($($argument),*)),
            dropped(|| drop(recorded(|| $traced($($argument),*)))),
            dropped(|| block_on($awaited($($argument),*))),
            dropped(|| drop(recorded(|| block_on($traced_awaited($($argument),*))))),
            dropped(|| cancelled($awaited($($argument),*))),
            dropped(|| drop(recorded(|| cancelled($traced_awaited($($argument),*))))),
        ]
    };
}

/// Drops a future that waits.
fn cancelled(future: impl Future<Output = ()>) {
    block_on(async {
        let mut future = Box::pin(future);
        poll_fn(|task| {
            let _ = future.as_mut().poll(task);
            Poll::Ready(())
        })
        .await;
    });
}

fn assert_as_plain(
    [
        plain,
        traced,
        awaited,
        traced_awaited,
        cancelled,
        traced_cancelled,
    ]: [Vec<&'static str>; 6],
) {
    assert_eq!(traced, plain);
    assert_eq!(traced_awaited, awaited);
    assert_eq!(traced_cancelled, cancelled);
    assert_eq!(awaited, plain);
}

#[test]
fn arguments_drop_in_the_order_of_plain_code() {
    let (a, b, c, d, e) = (
        || Noisy("a"),
        || Noisy("b"),
        || Noisy("c"),
        || Noisy("d"),
        || Noisy("e"),
    );
    let orders = orders!(named traced_named awaited_named traced_awaited_named (a(), b(), c(), d(), e()));
    assert_eq!(orders[0], ["local", "e", "d", "c", "changed", "a"]);
    assert_as_plain(orders);
    let orders =
        orders!(moved traced_moved awaited_moved traced_awaited_moved (a(), pair("left", "right"), c()));
    assert_eq!(orders[0], ["right", "c", "left", "a"]);
    assert_as_plain(orders);
}

#[test]
fn unnamed_arguments_and_parts_drop_as_in_plain_code() {
    let (a, b, c, d) = (|| Noisy("a"), || Noisy("b"), || Noisy("c"), || Noisy("d"));
    let orders = orders!(unnamed traced_unnamed awaited_unnamed traced_awaited_unnamed (a(), b(), c()));
    assert_eq!(orders[0], ["local", "c", "b", "a"]);
    assert_as_plain(orders);
    let orders = orders!(apart traced_apart awaited_apart traced_awaited_apart
        (a(), pair("left", "right"), (b(), b()), c(), d(), pair("first", "second")));
    assert_eq!(
        orders[0],
        [
            "left", "local", "first", "second", "d", "changed", "b", "b", "right", "a"
        ]
    );
    assert_as_plain(orders);
}
