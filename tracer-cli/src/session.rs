//! State that every command shares: the streams, the data directory, and the selection of a run by its `RUN_ID`.

use std::path::{Path, PathBuf};

use tracer_catalog::{FactsStore, FetchError, RunLease};
use tracer_runs::{RunDirectory, SelectError, StoreError};
use tracer_sdk::prices::Prices;
use tracer_sdk::settings::{self, Config, SettingProblem, Settings, Sources};

use crate::error::CliError;
use crate::team_store::{self, OpenedStore};
use crate::terminal::run_list;
use crate::ui::Ui;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::text::{path_below_home, shell_quoted};
use tracer_insight::units;
use tracer_view::CommandWords;

/// Candidates listed for an ambiguous `RUN_ID`; the rest are counted.
const MAX_LISTED_CANDIDATES: usize = 10;

/// The commands that read the bucket of `--store`.
pub(crate) const READ_STORE: [&str; 12] = [
    "assert",
    "baseline",
    "diff",
    "export",
    "list",
    "mcp",
    "search",
    "show",
    "stats",
    "validate-trace",
    "view",
    "why",
];

/// The streams and the global options.
pub struct Session {
    /// The output streams.
    pub ui: Ui,
    /// The program with all its commands and their help.
    pub(crate) program: fn() -> clap::Command,
    data_dir_option: Option<PathBuf>,
    store_option: Option<String>,
    is_json: bool,
    /// Words before the arguments of a suggested command.
    invocation: String,
    /// The bucket that is read in addition to this machine.
    store: Option<OpenedStore>,
    /// The fetched runs that this command reads: they stay where they are until it ends.
    leases: Vec<RunLease>,
}

impl Session {
    /// A session with the global options; suggested commands begin with `invocation`.
    pub fn new(
        ui: Ui,
        data_dir_option: Option<PathBuf>,
        store_option: Option<String>,
        is_json: bool,
        invocation: String,
    ) -> Self {
        Self {
            ui,
            program: clap::Command::default,
            data_dir_option,
            store_option,
            is_json,
            invocation,
            store: None,
            leases: Vec::new(),
        }
    }

    /// Checks if results are printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// The bucket that `--store` names; not that of the settings.
    pub(crate) fn given_store(&self) -> Option<&str> {
        self.store_option.as_deref()
    }

    /// Opens the bucket of `--store` or of the settings: selections and lists then cover it, too.
    pub(crate) fn use_store(&mut self) -> Result<(), CliError> {
        let settings = self.settings()?;
        self.store = team_store::open(self.store_option.as_deref(), &settings, &mut self.ui)?;
        Ok(())
    }

    /// Reads what is new in the opened bucket.
    pub(crate) fn synchronize_store(&mut self) -> Result<(), CliError> {
        match &self.store {
            Some(opened) => team_store::synchronize(&opened.reader, &mut self.ui),
            None => Ok(()),
        }
    }

    /// The bucket that is read in addition to this machine.
    pub(crate) fn store(&self) -> Option<&OpenedStore> {
        self.store.as_ref()
    }

    /// The facts of all runs of this machine, and of the opened bucket.
    pub(crate) fn facts_store(&self) -> Result<FactsStore, CliError> {
        let store = FactsStore::new(self.data_dir()?).with_prices(self.prices()?);
        Ok(match &self.store {
            Some(opened) => store.with_team(std::sync::Arc::clone(&opened.team)),
            None => store,
        })
    }

    /// Settings in code: the option takes precedence over the environment and the settings files.
    pub fn config(&self) -> Config {
        match &self.data_dir_option {
            Some(path) => Config::new().data_dir(path),
            None => Config::new(),
        }
    }

    /// The data directory. An invalid setting stops the command (decisions, section 9).
    pub fn data_dir(&self) -> Result<PathBuf, CliError> {
        self.settings().map(|settings| settings.data_dir)
    }

    /// All settings. An invalid one stops the command.
    pub fn settings(&self) -> Result<Settings, CliError> {
        let (settings, problems) = settings::load(&self.config());
        without_problems(settings, &problems)
    }

    /// The prices of models. An invalid one of the settings stops the command.
    pub fn prices(&self) -> Result<Prices, CliError> {
        // Files that cannot be read are problems of the settings.
        self.settings()?;
        let (prices, problems) = settings::read_prices(&Sources::read());
        without_problems(prices, &problems)
    }

    /// A suggested command line for the same data directory.
    pub fn command(&self, rest: &str) -> String {
        let (command, arguments) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        let store = self.store_option().filter(|_| READ_STORE.contains(&command));
        let program = self.program(self.data_dir_option.as_deref());
        format!("{program} {command}{}{arguments}", store.unwrap_or_default())
    }

    /// First words of command lines for another shell, whose working directory may be another one.
    pub(crate) fn command_words(&self) -> CommandWords {
        let data_dir = self.data_dir_option.as_deref();
        let absolute = data_dir.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        CommandWords {
            program: self.program(absolute.as_deref()),
            store: self.store_option().unwrap_or_default(),
        }
    }

    /// The program and its global options.
    fn program(&self, data_dir: Option<&Path>) -> String {
        match data_dir {
            None => self.invocation.clone(),
            Some(path) => format!("{} --data-dir {}", self.invocation, quoted(path)),
        }
    }

    /// The option for the opened bucket, after a space.
    fn store_option(&self) -> Option<String> {
        let store = self.store.as_ref().filter(|store| store.is_option)?;
        Some(format!(
            " --store {}",
            shell_quoted(&store.reader.url().to_string())
        ))
    }

    /// A next step: its purpose, and the command line.
    pub(crate) fn next_step(&self, purpose: &str, arguments: &str) -> String {
        format!("{purpose}: {}", self.command(arguments))
    }

    /// Prints a next step to standard error.
    pub(crate) fn suggest(&mut self, purpose: &str, arguments: &str) {
        let step = self.next_step(purpose, arguments);
        self.ui.hint(&step);
    }

    /// Prints a suggested command line to standard error, behind what it does.
    pub(crate) fn print_next(&mut self, what: &str, arguments: &str) {
        let command = self.command(arguments);
        self.ui
            .remark_line(&Line::of(format!("  {what}"), Tone::Muted).with(command, Tone::Strong));
    }

    /// Selects a run; without an argument the newest, with a note on standard error.
    pub fn select(&mut self, run_id: Option<&str>) -> Result<(RunDirectory, String), CliError> {
        let store = self.facts_store()?;
        let directory = store
            .select(run_id)
            .map_err(|error| self.not_selected(run_id.unwrap_or_default(), &store, error))?;
        let short_id = short_id(&store, &directory);
        let lease = store
            .files(&directory)
            .map_err(|error| self.not_fetched(&short_id, &error))?;
        let directory = lease.directory.clone();
        self.leases.push(lease);
        if run_id.is_none() {
            self.ui.remark(format!("newest run, {short_id}"));
        }
        Ok((directory, short_id))
    }

    fn not_selected(&self, wanted: &str, store: &FactsStore, error: SelectError) -> CliError {
        let list = self.next_step("list the runs", "list");
        match error {
            SelectError::NoRuns => self.no_runs(store.runs().data_dir()),
            SelectError::Store(error) => self.store_error(&error),
            SelectError::NotFound { candidates } => CliError::input(format!(
                "no run has an ID that starts with {wanted:?}, or this name"
            ))
            .with_details(
                candidates
                    .into_iter()
                    .map(|directory| candidate("closest: ", store, directory)),
            )
            .with_hint(list),
            SelectError::Ambiguous { candidates } => {
                let hidden = candidates.len().saturating_sub(MAX_LISTED_CANDIDATES);
                let more = (hidden > 0).then(|| format!("… and {hidden} more"));
                CliError::input(format!("{wanted:?} matches {} runs", candidates.len()))
                    .with_details(
                        candidates
                            .into_iter()
                            .take(MAX_LISTED_CANDIDATES)
                            .map(|directory| candidate("", store, directory))
                            .chain(more),
                    )
                    .with_hint("give more characters of the ID")
            }
            other => CliError::input("failed to select a run")
                .with_source(other)
                .with_hint(list),
        }
    }

    fn not_fetched(&self, short_id: &str, error: &FetchError) -> CliError {
        let what = CliError::input(format!(
            "run {short_id} is in the bucket, and cannot be fetched: {error}"
        ));
        match error {
            FetchError::Gone => what.with_hint(self.next_step("list the runs", "list")),
            FetchError::NotKept(_) => {
                what.with_hint("check the permissions of the data directory and the free space")
            }
            FetchError::Damaged(_) => {
                what.with_hint("ask whoever sent it to send it again: tracer push --again --to URL")
            }
            _ => what.with_hint("try again when the bucket can be reached"),
        }
    }

    /// Error of the store as a whole.
    pub fn store_error(&self, error: &StoreError) -> CliError {
        let message = CliError::input(error.to_string());
        match error {
            StoreError::Missing { .. } => message
                .with_hint(self.next_step("record a first run", "demo"))
                .with_hint("or choose another data directory: --data-dir DIR, or TRACER_DATA_DIR"),
            // An unreadable folder, or a later variant.
            _ => message.with_hint(
                "check its permissions, or choose another data directory: --data-dir DIR, or TRACER_DATA_DIR",
            ),
        }
    }

    /// Place of the runs, for people.
    pub(crate) fn place(&self, data_dir: &Path) -> String {
        match &self.store {
            None => path_below_home(data_dir),
            Some(opened) => format!("{} and on this machine", opened.reader.url()),
        }
    }

    fn no_runs(&self, data_dir: &Path) -> CliError {
        let place = self.place(data_dir);
        CliError::input(format!("no runs in {place} yet"))
            .with_hint(self.next_step("record a first run", "demo"))
    }
}

/// Values of settings files and the environment; an invalid setting stops the command.
fn without_problems<T>(given: T, problems: &[SettingProblem]) -> Result<T, CliError> {
    if problems.is_empty() {
        return Ok(given);
    }
    Err(CliError::input("a setting is invalid")
        .with_details(problems.iter().map(ToString::to_string))
        .with_hint("correct it, or remove it to use the default"))
}

/// Row of a similar or ambiguous run: ID, name and start.
fn candidate(before: &str, store: &FactsStore, directory: RunDirectory) -> String {
    let id = short_id(store, &directory);
    match store.summary(directory).meta {
        Ok(meta) => {
            let name = display_name(meta.run_name.as_deref());
            format!(
                "{before}{id}  {name}  {}",
                units::moment(meta.started_at.instant())
            )
        }
        Err(_) => format!("{before}{id}  damaged"),
    }
}

/// Shortest unique prefix of the ID, at least eight characters.
pub fn short_id(store: &FactsStore, directory: &RunDirectory) -> String {
    run_list::short_id(
        directory.trace_id,
        store.ids_like(directory.trace_id).unwrap_or_default(),
    )
}

/// The path, quoted for a shell.
pub fn quoted(path: &Path) -> String {
    shell_quoted(&path.display().to_string())
}
