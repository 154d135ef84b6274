//! Which agent a run or a baseline is of.

use super::Baseline;
use crate::judge::RunMetrics;

impl Baseline {
    /// The agent that the baseline is of: the label of its runs without a time stamp; `None` when it does not tell.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::{Baseline, RunMetrics};
    ///
    /// let run = recorded(|| Ok(()));
    /// let baseline = Baseline::of_run(&RunMetrics::of(&run.meta, run.records()), "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.agent(), Some("example"));
    /// ```
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        match &self.x_tracer {
            Some(ours) => ours.agent.as_deref(),
            None => agent_of(self.source_run_name.as_deref()?),
        }
    }

    /// The agent of a run, when it is another one than that of the baseline. Where one of them has no name nobody can
    /// tell.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::{Baseline, RunMetrics};
    ///
    /// let mut run = RunMetrics::of(&recorded(|| Ok(())).meta, []);
    /// let baseline = Baseline::of_run(&run, "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.foreign_agent(&run), None);
    /// run.run_name = Some("another - 2026-01-01 07:05".to_owned());
    /// assert_eq!(baseline.foreign_agent(&run), Some("another"));
    /// ```
    #[must_use]
    pub fn foreign_agent<'run>(&self, run: &'run RunMetrics) -> Option<&'run str> {
        let known = self.agent()?;
        run.agent().filter(|agent| *agent != known)
    }
}

impl RunMetrics {
    /// The agent: the label of the run without a time stamp; `None` when it has none.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::RunMetrics;
    ///
    /// let run = recorded(|| Ok(()));
    /// assert_eq!(RunMetrics::of(&run.meta, run.records()).agent(), Some("example"));
    /// ```
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        agent_of(self.run_name.as_deref()?)
    }
}

/// The label of a run without ` - 2026-11-21 07:05` at its end; `None` when nothing else is in it.
pub(crate) fn agent_of(run_name: &str) -> Option<&str> {
    const FORM: &str = " - dddd-dd-dd dd:dd";
    let is_stamp = |text: &str| {
        text.chars().zip(FORM.chars()).all(|(char, form)| match form {
            'd' => char.is_ascii_digit(),
            form => char == form,
        })
    };
    let split = run_name.len().checked_sub(FORM.len());
    let name = match split.and_then(|start| run_name.split_at_checked(start)) {
        Some((before, stamp)) if is_stamp(stamp) => before,
        _ => run_name,
    };
    Some(name.trim()).filter(|name| !name.is_empty())
}
