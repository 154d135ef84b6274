//! State that all connections share.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Bytes;

use super::forward::Forward;
use super::guard::ReceiverGuard;
use super::intake::Intake;
use super::statistics::ReceiverCounters;

/// The body of an answer.
pub(super) type ReplyBody = UnsyncBoxBody<Bytes, Infallible>;

/// Access rules, intake, upstream and counts of a receiver.
pub(super) struct Receiver {
    pub(super) guard: ReceiverGuard,
    pub(super) intake: Arc<Intake>,
    pub(super) forward: Option<Forward>,
    pub(super) counters: Arc<ReceiverCounters>,
}
