//! Which agent a run or a baseline is of.

use super::Baseline;
use tracer_insight::profile::{RunProfile, agent_of};

impl Baseline {
    /// The agent that the baseline is of: the label of its runs without a time stamp; `None` when it does not tell.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tracer-sdk/docs/recorded.rs"));
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    ///
    /// let run = recorded(|| Ok(()));
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records()), "2026-01-01T00:00:00.000Z");
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
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tracer-sdk/docs/recorded.rs"));
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    ///
    /// let mut run = RunProfile::new(&recorded(|| Ok(())).meta, []);
    /// let baseline = Baseline::of_run(&run, "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.foreign_agent(&run), None);
    /// run.run_name = Some("another - 2026-01-01 07:05".to_owned());
    /// assert_eq!(baseline.foreign_agent(&run), Some("another"));
    /// ```
    #[must_use]
    pub fn foreign_agent<'run>(&self, run: &'run RunProfile) -> Option<&'run str> {
        let known = self.agent()?;
        run.agent().filter(|agent| *agent != known)
    }
}
