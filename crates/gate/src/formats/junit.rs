//! A report as JUnit XML: each check is a test case, and so is each trial, with what its process said last.

use std::time::Duration;

use crate::{Report, ReportedTrial};
use quick_junit::{NonSuccessKind, Report as Document, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::words::checks;
use crate::words::checks::CheckRow;
use crate::words::outcome::CheckOutcome;
use crate::words::trials::{outcome, why};
use crate::words::verdict;

/// A longer text is cut: a test server shows these on one page.
const MAX_LENGTH: usize = 2_000;

/// The report as a JUnit document. An INCONCLUSIVE check fails when `inconclusive_fails`, and is skipped otherwise.
///
/// # Errors
///
/// None that the texts of a report could bring about: characters that XML does not have are left out.
pub fn document(report: &Report, inconclusive_fails: bool) -> Result<String, SerializeError> {
    let mut document = Document::new("tracer gate");
    let mut suite = TestSuite::new("checks");
    for check in checks::check_rows(report) {
        suite.add_test_case(check_case(&check, inconclusive_fails));
    }
    document.add_test_suite(suite);
    let mut suite = TestSuite::new("trials");
    for trial in &report.trials {
        suite.add_test_case(trial_case(trial));
    }
    document.add_test_suite(suite);
    document.to_string()
}

fn check_case(check: &CheckRow, inconclusive_fails: bool) -> TestCase {
    let mut status = match check.outcome {
        CheckOutcome::Passed => TestCaseStatus::success(),
        CheckOutcome::Undecided if !inconclusive_fails => TestCaseStatus::skipped(),
        CheckOutcome::Failed | CheckOutcome::Undecided => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        CheckOutcome::Reported => TestCaseStatus::skipped(),
    };
    let reported = check.sentence();
    if check.outcome != CheckOutcome::Passed {
        status.set_message(cut(&reported));
        if check.outcome == CheckOutcome::Undecided {
            status.set_type("inconclusive");
            status.set_description(verdict::UNDECIDED);
        }
    }
    let mut case = TestCase::new(cut(&check.name), status);
    case.set_classname("tracer.checks");
    if check.outcome == CheckOutcome::Passed {
        case.set_system_out(cut(&reported));
    }
    case
}

fn trial_case(trial: &ReportedTrial) -> TestCase {
    let mut status = match outcome(trial) {
        CheckOutcome::Passed => TestCaseStatus::success(),
        CheckOutcome::Undecided | CheckOutcome::Reported => TestCaseStatus::skipped(),
        // An error, as JUnit has it, is a test that could not decide; a failure one that found something worse.
        CheckOutcome::Failed if trial.failure.is_some() => TestCaseStatus::non_success(NonSuccessKind::Error),
        CheckOutcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    if !trial.passed {
        status.set_message(cut(&why(trial)));
    }
    let mut case = TestCase::new(format!("trial {}", trial.trial), status);
    case.set_classname("tracer.trials");
    if let Some(time) = trial.wall_time_ms {
        case.set_time(Duration::from_millis(time));
    }
    if let Some(id) = &trial.trace_id {
        case.set_system_out(cut(&format!("trace {id}")));
    }
    if !trial.stderr_tail.is_empty() {
        case.set_system_err(cut(&trial.stderr_tail));
    }
    case
}

/// The beginning of a text, without two characters that XML does not have and the writer lets through.
fn cut(text: &str) -> String {
    let known = text
        .chars()
        .filter(|char| !matches!(char, '\u{fffe}' | '\u{ffff}'));
    known.take(MAX_LENGTH).collect()
}

#[cfg(test)]
mod tests;
