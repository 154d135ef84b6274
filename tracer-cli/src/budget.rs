//! Options for the budget of a recording, and the question on the terminal when a limit is reached.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use tracer_capture::proxy::{BudgetLimits, BudgetOperator, CallBudget};
use tracer_insight::line::{Line, Tone};
use tracer_sdk::format::Usd;
use tracer_sdk::guardrails::GuardrailExceeded;

use crate::error::CliError;
use crate::session::Session;
use crate::ui::{Colour, Ui};
use crate::value_parsers::{parse_count, parse_dollars, parse_duration};

const HEADING: &str = "Limits";

/// Limits of what a command may use.
#[derive(Debug, clap::Args)]
pub(crate) struct BudgetArgs {
    /// Refuse model calls once they have cost this many dollars
    #[arg(long, value_name = "USD", value_parser = parse_dollars, conflicts_with = "no_proxy", help_heading = HEADING)]
    max_cost: Option<Usd>,

    /// Refuse model calls after this many
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "no_proxy", help_heading = HEADING)]
    max_calls: Option<u64>,

    /// Refuse model calls once they have used this many tokens: 500k, 1M
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "no_proxy", help_heading = HEADING)]
    max_tokens: Option<u64>,

    /// End the command after this time: 90s, 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = HEADING)]
    max_time: Option<Duration>,

    /// Ask on the terminal when a limit other than that of time is reached: y raises it by the same amount
    #[arg(long, help_heading = HEADING)]
    ask: bool,
}

impl BudgetArgs {
    /// The budget, if there is a limit; its time begins now.
    pub(crate) fn budget(&self, session: &Session) -> Result<Option<Arc<CallBudget>>, CliError> {
        let limits = BudgetLimits {
            cost: self.max_cost,
            calls: self.max_calls,
            tokens: self.max_tokens,
            time: self.max_time,
        };
        let has_limits = limits != BudgetLimits::default();
        let of_time = BudgetLimits {
            time: self.max_time,
            ..BudgetLimits::default()
        };
        if self.ask && limits == of_time {
            return Err(CliError::input("--ask needs a limit to ask about").with_hint(
                "give --max-cost, --max-calls or --max-tokens: the end of the time is not asked about",
            ));
        }
        if self.ask && !Terminal::is_there() {
            return Err(
                CliError::input("--ask needs a terminal, and standard input or error is none")
                    .with_hint("leave out --ask: at its limit the command is then refused further calls"),
            );
        }
        if !has_limits {
            return Ok(None);
        }
        let terminal = Arc::new(Terminal { asks: self.ask });
        Ok(Some(Arc::new(CallBudget::new(
            limits,
            session.prices()?,
            terminal,
        ))))
    }
}

/// Standard input and error of this process, which the command has, too.
#[derive(Debug)]
struct Terminal {
    asks: bool,
}

impl Terminal {
    fn is_there() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }
}

impl BudgetOperator for Terminal {
    fn notify(&self, notice: &str) {
        Ui::new(Colour::Auto, false).warn(format!("tracer: {notice}"));
    }

    fn raises(&self, exceeded: &GuardrailExceeded) -> bool {
        let facts = [Line::of(format!("tracer: {exceeded}"), Tone::Warning)];
        let question = "tracer: go on, with the same amount again?";
        let mut ui = Ui::new(Colour::Auto, false);
        // Without an answer nothing is spent.
        self.asks && ui.confirm("--ask", "", facts, question).unwrap_or(false)
    }
}
