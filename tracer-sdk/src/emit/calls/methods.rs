//! Methods that several recorders have, each with its documentation: written once, and expanded in all of them.

/// The methods that every timed span has.
macro_rules! timed_methods {
    () => {
        /// Makes this span the parent of what is recorded on this thread until the guard is dropped.
        ///
        /// Not across an `.await`: use `instrument` there.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| {
        ///     let mut plan = tracer_sdk::span("plan").start();
        ///     let _inside = plan.enter();
        ///     tracer_sdk::tool_call("search").record()
        /// });
        /// assert_eq!(run.spans[0].parent_span_id, Some(run.spans[1].span_id));
        /// ```
        pub fn enter(&self) -> Option<crate::ContextGuard> {
            self.span.enter()
        }

        /// The context of this span, to be carried into threads and tasks; `None` outside of a run.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| {
        ///     let mut plan = tracer_sdk::span("plan").start();
        ///     let search = || tracer_sdk::tool_call("search").record();
        ///     match plan.context() {
        ///         Some(context) => std::thread::spawn(context.wrap(search)).join().unwrap(),
        ///         None => search(),
        ///     }
        /// });
        /// assert_eq!(run.spans[0].parent_span_id, Some(run.spans[1].span_id));
        /// ```
        #[must_use]
        pub fn context(&self) -> Option<crate::Context> {
            self.span.context()
        }

        /// Runs a closure whose recordings become children of this span.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| {
        ///     let mut plan = tracer_sdk::span("plan").start();
        ///     plan.in_scope(|| tracer_sdk::tool_call("search").record())
        /// });
        /// assert_eq!(run.spans[0].parent_span_id, Some(run.spans[1].span_id));
        /// ```
        pub fn in_scope<R>(&self, work: impl FnOnce() -> R) -> R {
            self.span.in_scope(work)
        }

        /// Wraps a future whose recordings become children of this span.
        ///
        /// ```
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() {
        /// use tracer_sdk::testing::capture_async;
        ///
        /// let run = capture_async(async {
        ///     let mut plan = tracer_sdk::span("plan").start();
        ///     plan.instrument(async { tracer_sdk::tool_call("search").record() }).await
        /// });
        /// let spans = run.await.spans;
        /// assert_eq!(spans[0].parent_span_id, Some(spans[1].span_id));
        /// # }
        /// ```
        pub fn instrument<F: std::future::Future>(&self, future: F) -> crate::InContext<F> {
            self.span.instrument(future)
        }

        /// Adds an attribute of your own; a structured value is stored as JSON text.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| {
        ///     let mut plan = tracer_sdk::span("plan").start();
        ///     plan.attribute("steps", &4);
        /// });
        /// assert_eq!(run.spans[0].attributes["steps"], 4);
        /// ```
        pub fn attribute<T: serde::Serialize + ?Sized>(&mut self, key: &str, value: &T) -> &mut Self {
            self.span.edit(|span| span.attribute(key, value));
            self
        }

        /// Says that the work failed, with the error's type and message.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| {
        ///     let mut plan = tracer_sdk::span("plan").start();
        ///     plan.fail("no plan was found");
        /// });
        /// assert_eq!(run.spans[0].status_description, "no plan was found");
        /// ```
        pub fn fail<E: std::fmt::Display + ?Sized>(&mut self, error: &E) -> &mut Self {
            self.span
                .edit(|span| span.fail(crate::ErrorInfo::of(error)));
            self
        }

        /// The span's ID; `None` outside of a run.
        ///
        /// ```
        /// assert_eq!(tracer_sdk::span("outside of a run").start().id(), None);
        /// let folder = tempfile::tempdir()?;
        /// let config = tracer_sdk::Config::new().data_dir(folder.path());
        /// let run = tracer_sdk::Run::new("research").config(&config).start();
        /// assert!(tracer_sdk::span("plan").start().id().is_some());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[must_use]
        pub fn id(&self) -> Option<tracer_format::SpanId> {
            self.span.id()
        }
    };
}

pub(crate) use timed_methods;

/// The methods of every timed call in addition to those of every timed span.
macro_rules! timed_call_methods {
    () => {
        /// Ends the call now and writes it.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| tracer_sdk::tool_call("search").start()?.end());
        /// assert!(run.spans[0].duration_ms.is_some());
        /// ```
        ///
        /// # Errors
        ///
        /// [`GuardrailExceeded`](crate::GuardrailExceeded) when the run has crossed one of its limits; the call is
        /// written all the same.
        pub fn end(self) -> Result<(), crate::GuardrailExceeded> {
            self.span.end(crate::emit::open_span::EndTime::Now)
        }
    };
}

pub(crate) use timed_call_methods;

/// The methods with which every recorder of a span describes it, on the builder.
macro_rules! described_methods {
    () => {
        /// Adds an attribute of your own; a structured value is stored as JSON text.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| tracer_sdk::tool_call("search").attribute("attempt", &2).record());
        /// assert_eq!(run.spans[0].attributes["attempt"], 2);
        /// ```
        pub fn attribute<T: serde::Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
            self.span.edit(|span| span.attribute(key, value));
            self
        }

        /// Attaches metadata of your own, an object; it comes back as `meta` of the projected record.
        ///
        /// ```
        /// use serde_json::json;
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| tracer_sdk::tool_call("search").meta(&json!({"step": 7})).record());
        /// assert_eq!(run.records[1].meta["step"], 7);
        /// ```
        pub fn meta<T: serde::Serialize + ?Sized>(mut self, value: &T) -> Self {
            self.span.edit(|span| span.meta(value));
            self
        }
    };
}

pub(crate) use described_methods;

/// The methods that every recorder of a call has, on the builder.
macro_rules! call_methods {
    () => {
        /// Says that the call failed, with the error's type and message.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| tracer_sdk::tool_call("search").fail("the index is not there").record());
        /// assert_eq!(run.spans[0].status_description, "the index is not there");
        /// ```
        pub fn fail<E: std::fmt::Display + ?Sized>(mut self, error: &E) -> Self {
            self.span
                .edit(|span| span.fail(crate::ErrorInfo::of(error)));
            self
        }

        /// Which attempt at the same call this is, from 1: a second one repeats what failed before.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| {
        ///     tracer_sdk::tool_call("search").attempt(1).fail("try again").record()?;
        ///     tracer_sdk::tool_call("search").attempt(2).result("found").record()
        /// });
        /// assert_eq!(run.spans[1].attributes["tracer.attempt"], 2);
        /// assert!(run.records[1].meta.contains_key("attempt_of")); // the first one, at the second
        /// ```
        #[inline]
        pub fn attempt(mut self, number: u32) -> Self {
            self.span.edit(|span| {
                let number = crate::write::draft::ScalarValue::Unsigned(u64::from(number));
                span.scalar(tracer_format::names::ATTEMPT, number);
            });
            self
        }

        /// Sets the duration of the call, which ended just now. Without it the call has no duration.
        ///
        /// ```
        /// use std::time::Instant;
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| {
        ///     let before = Instant::now();
        ///     // … the call …
        ///     tracer_sdk::tool_call("search").duration(before.elapsed()).record()
        /// });
        /// assert!(run.spans[0].duration_ms.is_some());
        /// ```
        #[inline]
        pub fn duration(mut self, duration: std::time::Duration) -> Self {
            self.span.edit(|span| span.set_duration(duration));
            self
        }

        /// Writes the call.
        ///
        /// ```
        /// use tracer_sdk::testing::capture;
        ///
        /// let run = capture(|| tracer_sdk::tool_call("search").record());
        /// assert_eq!(run.meta.counts.tool_calls, 1);
        /// ```
        ///
        /// # Errors
        ///
        /// [`GuardrailExceeded`](crate::GuardrailExceeded) when the run has crossed one of its limits; the call is
        /// written all the same.
        #[inline]
        pub fn record(self) -> Result<(), crate::GuardrailExceeded> {
            self.span.end(crate::emit::open_span::EndTime::Now)
        }
    };
}

pub(crate) use call_methods;
