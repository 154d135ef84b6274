//! The agent that a run is of.

use super::RunProfile;

impl RunProfile {
    /// The agent: the label of the run without a time stamp; `None` when it has none.
    ///
    /// ```
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// assert_eq!(RunProfile::new(&run.meta, run.records).agent(), Some("captured"));
    /// ```
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        agent_of(self.run_name.as_deref()?)
    }
}

/// The label of a run without ` - 2026-11-21 07:05` at its end; `None` when nothing else is in it.
///
/// ```
/// use tracer_insight::profile::agent_of;
///
/// assert_eq!(agent_of("support - 2026-11-21 07:05"), Some("support"));
/// ```
#[must_use]
pub fn agent_of(run_name: &str) -> Option<&str> {
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
