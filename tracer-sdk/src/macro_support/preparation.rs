//! The synchronous part of a function that returns a future: within its span, which the future ends.

use crate::emit::context::ContextGuard;
use crate::emit::panic::PanicWatch;
use crate::emit::scope::Scope;

/// Makes a scope the current context until the guard is dropped, and leaves it open for the future to end.
pub fn prepare(scope: &Scope) -> Preparation {
    Preparation {
        context: scope.context().map(|context| context.enter()),
        scope: scope.clone(),
        watch: scope.watch(),
    }
}

/// Leaves the scope when dropped. Ends it only when the thread began to unwind meanwhile: then there will be no future.
#[must_use = "the context lasts as long as this guard"]
pub struct Preparation {
    context: Option<ContextGuard>,
    scope: Scope,
    watch: Option<PanicWatch>,
}

impl Drop for Preparation {
    fn drop(&mut self) {
        drop(self.context.take());
        self.scope.end_if_panicked(self.watch.as_ref());
    }
}
