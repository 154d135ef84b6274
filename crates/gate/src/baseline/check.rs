//! Whether what a baseline holds fits together, and is what was once written.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::{BaselineError, BaselineErrorCode};
use super::{Baseline, TrialSample};
use tracer_insight::digest::{sha256_hex, write_canonical};

impl Baseline {
    /// The SHA-256 digest of what was measured: everything but when it was made, who accepted it, and the digest itself.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let mut baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// let digest = baseline.sample_digest();
    /// baseline.summary.total_tokens = Some(1e9);
    /// assert_ne!(baseline.sample_digest(), digest);
    /// ```
    #[must_use]
    pub fn sample_digest(&self) -> String {
        let mut measured = json!({
            "source_run_ids": self.source_run_ids,
            "source_run_name": self.source_run_name,
            "summary": self.summary,
            "signature": self.first_signature(),
            "trial_sample": self.trial_sample,
            "guardrail_events": self.guardrail_events,
        });
        if let Some(ours) = &self.x_tracer {
            // Files from before these were kept have them empty.
            let kept = [
                ("agent", json!(ours.agent), ours.agent.is_none()),
                ("command", json!(ours.command), ours.command.is_empty()),
                (
                    "possible_tools",
                    json!(ours.possible_tools),
                    ours.possible_tools.is_empty(),
                ),
            ];
            for (name, value, _) in kept.into_iter().filter(|(_, _, is_empty)| !is_empty) {
                measured[name] = value;
            }
        }
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = write_canonical(&measured, &mut text);
        sha256_hex(&text)
    }

    pub(super) fn check(&self) -> Result<(), BaselineError> {
        let summary = serde_json::to_value(&self.summary).unwrap_or_default();
        let numbers = summary.as_object().into_iter().flatten();
        for (key, value) in numbers.filter_map(|(key, value)| Some((key, value.as_f64()?))) {
            if !is_count(value) {
                return Err(wrong(format!("summary.{key} is below zero, or not a number")));
            }
        }
        if let Some(sample) = &self.trial_sample {
            check_sample(sample)?;
            if self.source_run_ids.len() as u64 != sample.trials {
                return Err(wrong(format!(
                    "source_run_ids has {} runs, trial_sample.trials says {}",
                    self.source_run_ids.len(),
                    sample.trials
                )));
            }
        }
        match &self.x_tracer {
            Some(provenance) if provenance.digest != self.sample_digest() => Err(BaselineError::new(
                BaselineErrorCode::WrongDigest,
                "x_tracer.digest: the file was edited after it was written",
            )),
            _ => Ok(()),
        }
    }
}

fn check_sample(sample: &TrialSample) -> Result<(), BaselineError> {
    if sample.trials == 0 {
        return Err(wrong("trial_sample.trials is 0"));
    }
    let lengths = [("signature_ids".to_owned(), sample.signature_ids.len())]
        .into_iter()
        .chain(
            sample
                .metrics
                .iter()
                .map(|(name, values)| (format!("metrics.{name}"), values.len())),
        )
        .chain(
            sample
                .invariants
                .iter()
                .map(|(name, values)| (format!("invariants.{name}"), values.len())),
        );
    for (place, length) in lengths {
        if length as u64 != sample.trials {
            return Err(wrong(format!(
                "trial_sample.{place} has {length} values, trial_sample.trials says {}",
                sample.trials
            )));
        }
    }
    for (name, values) in &sample.metrics {
        if !values.iter().copied().all(is_count) {
            return Err(wrong(format!(
                "trial_sample.metrics.{name} holds a value below zero, or not a number"
            )));
        }
    }
    let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
    for id in &sample.signature_ids {
        *counts.entry(id).or_default() += 1;
    }
    if !counts
        .iter()
        .map(|(id, count)| (*id, *count))
        .eq(sample.signature_counts.iter().map(|(id, count)| (id, *count)))
    {
        return Err(wrong(
            "trial_sample.signature_counts does not count trial_sample.signature_ids",
        ));
    }
    let is_own = |id: &&String| {
        sample
            .signatures
            .get(*id)
            .is_some_and(|signature| signature.id() == **id)
    };
    if !counts.keys().all(is_own) {
        return Err(wrong(
            "trial_sample.signature_ids holds an ID that is not the digest of a signature in trial_sample.signatures",
        ));
    }
    Ok(())
}

/// Nothing that is measured can be below zero.
fn is_count(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

fn wrong(message: impl Into<String>) -> BaselineError {
    BaselineError::new(BaselineErrorCode::WrongSample, message)
}

/// A JSON value that is no number, distinguished from one that is: a boolean is not a number.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| is_count(*number))
}
