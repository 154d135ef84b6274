//! Which value wins.

use std::path::{Path, PathBuf};

use super::files::{FOLDER, SettingsFile, Sources};
use super::inside::inside;
use super::layer::{Environment, Origin, read_layer};
use super::problem::{SettingProblem, SettingSource};
use super::resolved::BYTES_PER_MB;
use super::table::{self, Setting};
use super::toml_file::TomlFile;
use super::{Config, Settings};
use tracer_format::RUNS_FOLDER;

/// The settings that are in force for this process, and what could not be used.
///
/// Reads the environment and the settings files ([`Sources::read`]), then [`resolve()`]s.
///
/// ```
/// use tracer_sdk::settings::{Config, load};
///
/// let (settings, _problems) = load(&Config::new().data_dir("/srv/traces"));
/// assert_eq!(settings.data_dir, std::path::Path::new("/srv/traces"));
/// ```
#[must_use]
pub fn load(config: &Config) -> (Settings, Vec<SettingProblem>) {
    resolve(config, &Sources::read())
}

/// The settings that are in force, and what could not be used (decisions, section 9). Apart from its arguments it reads
/// only whether links lead a project's `data_dir` out of the project.
///
/// A value that cannot be used counts as not given, so that the next source below decides; but a `redact` that cannot
/// be read, or a file that cannot, leaves redaction on against every source below it. Without a home directory runs are
/// kept in `.tracer` in the working directory.
///
/// ```
/// use tracer_sdk::settings::{Config, Sources, resolve};
///
/// let mut sources = Sources::default();
/// sources.environment.insert("TRACER_LOOP_WINDOW".to_owned(), "many".into());
/// sources.environment.insert("TRACER_MAX_LLM_CALLS".to_owned(), "10".into());
/// let (settings, problems) = resolve(&Config::new(), &sources);
/// assert_eq!(settings.loop_window, 12);
/// assert_eq!(settings.guardrails.max_llm_calls, Some(10));
/// assert_eq!(
///     problems[0].to_string(),
///     "environment: TRACER_LOOP_WINDOW must be a whole number from 4 to 1000"
/// );
/// ```
#[must_use]
pub fn resolve(config: &Config, sources: &Sources) -> (Settings, Vec<SettingProblem>) {
    let mut problems = Vec::new();
    let home = sources.home.as_deref();
    let working_directory = sources.working_directory.as_path();
    let code = checked(config.clone(), &mut problems);
    let variables = Environment {
        variables: &sources.environment,
        working_directory,
    };
    let environment = read_layer(&variables, home, &mut problems);
    let user = file_layer(sources.user.as_ref(), home, &mut problems, |_, _, _| {});
    let mut project = file_layer(
        sources.project.as_ref(),
        home,
        &mut problems,
        |layer, file, problems| {
            only_tighten(layer, &user, file, problems);
            only_inside(layer, file, problems);
            no_store(layer, file, problems);
        },
    );
    let added_keys = project.redact_keys.take().unwrap_or_default();
    let is_turned_off = environment.enabled == Some(false);
    let given = code.or(&environment).or(&project).or(&user);

    let default_data_dir = home.unwrap_or(Path::new("")).join(FOLDER);
    let data_dir = given.data_dir.unwrap_or(default_data_dir);
    let default = Settings::with_data_dir(working_directory.join(data_dir));
    let mut redact_keys = given.redact_keys.unwrap_or(default.redact_keys);
    for key in added_keys {
        if !redact_keys.contains(&key) {
            redact_keys.push(key);
        }
    }
    let settings = Settings {
        enabled: given.enabled.unwrap_or(default.enabled) && !is_turned_off,
        data_dir: default.data_dir,
        store: given.store,
        store_cache_bytes: given
            .store_cache_mb
            .map_or(default.store_cache_bytes, |megabytes| {
                megabytes.saturating_mul(BYTES_PER_MB)
            }),
        redact: given.redact.unwrap_or(default.redact),
        redact_keys,
        max_field_bytes: given.max_field_bytes.map_or(default.max_field_bytes, saturated),
        max_message_bytes: given
            .max_message_bytes
            .map_or(default.max_message_bytes, saturated),
        loop_window: given.loop_window.map_or(default.loop_window, saturated),
        loop_repetitions: given.loop_repetitions.map_or(default.loop_repetitions, saturated),
        flush: given.flush.unwrap_or(default.flush),
        guardrails: given.guardrails,
    };
    (settings, problems)
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Values of a settings file, after `restrict` had its say.
fn file_layer(
    file: Option<&SettingsFile>,
    home: Option<&Path>,
    problems: &mut Vec<SettingProblem>,
    restrict: impl FnOnce(&mut Config, &TomlFile<'_>, &mut Vec<SettingProblem>),
) -> Config {
    let Some(SettingsFile { path, text }) = file else {
        return Config::new();
    };
    let parsed = match text {
        Ok(text) => TomlFile::parse(path, text),
        Err(reason) => Err(SettingProblem {
            source: SettingSource::File(path.clone()),
            position: None,
            key: String::new(),
            allowed: format!("cannot be read: {reason}"),
        }),
    };
    match parsed {
        Ok(file) => {
            let mut layer = read_layer(&file, home, problems);
            restrict(&mut layer, &file, problems);
            file.unknown_keys(problems);
            layer
        }
        Err(problem) => {
            problems.push(problem);
            // It might have said so.
            Config::new().redact(true)
        }
    }
}

/// A project file may come with somebody else's code: it can tighten redaction, never loosen it.
fn only_tighten(layer: &mut Config, below: &Config, file: &TomlFile<'_>, problems: &mut Vec<SettingProblem>) {
    if layer.redact == Some(false) {
        layer.redact = None;
        let allowed = "must not be false in a project file: it can tighten redaction, not loosen it";
        problems.push(file.problem(&table::REDACT, allowed));
    }
    let default = Settings::with_data_dir("");
    let limits = [
        (
            &table::MAX_FIELD_BYTES,
            &mut layer.max_field_bytes,
            below.max_field_bytes.map_or(default.max_field_bytes, saturated),
        ),
        (
            &table::MAX_MESSAGE_BYTES,
            &mut layer.max_message_bytes,
            below
                .max_message_bytes
                .map_or(default.max_message_bytes, saturated),
        ),
    ];
    for (setting, limit, most) in limits {
        if limit.is_some_and(|bytes| saturated(bytes) > most) {
            *limit = None;
            let allowed =
                format!("must be at most {most} in a project file: it can tighten redaction, not loosen it");
            problems.push(file.problem(setting, &allowed));
        }
    }
}

/// The folders of a data directory, in which runs are written and removed. A clone may bring a link in the place of each.
const FOLDERS: [&str; 5] = [RUNS_FOLDER, "cache", "cache/stores", "staging", "trash"];

/// A project file may come with somebody else's code: it can name a folder of the project for the runs, and no other.
fn only_inside(layer: &mut Config, file: &TomlFile<'_>, problems: &mut Vec<SettingProblem>) {
    let Some(path) = layer.data_dir.take() else { return };
    let is_inside = |folder: PathBuf| inside(file.base(), &folder).is_some();
    let stays_inside = |data_dir: &PathBuf| FOLDERS.iter().all(|folder| is_inside(data_dir.join(folder)));
    layer.data_dir = inside(file.base(), &path).filter(stays_inside);
    if layer.data_dir.is_none() {
        let allowed = "must be a folder inside the project, and no link may lead out of it";
        problems.push(file.problem(&table::DATA_DIR, allowed));
    }
}

/// A project file may come with somebody else's code: it must not send this user's credentials to a bucket of its choice, and
/// not fill this user's disk.
fn no_store(layer: &mut Config, file: &TomlFile<'_>, problems: &mut Vec<SettingProblem>) {
    if layer.store.take().is_some() {
        let allowed = "must not be in a project file: set it in ~/.tracer/config.toml or in TRACER_STORE";
        problems.push(file.problem(&table::STORE, allowed));
    }
    if layer.store_cache_mb.take().is_some() {
        let allowed =
            "must not be in a project file: set it in ~/.tracer/config.toml or in TRACER_STORE_CACHE_MB";
        problems.push(file.problem(&table::STORE_CACHE_MB, allowed));
    }
}

/// Values in code, without those that are not allowed.
fn checked(mut config: Config, problems: &mut Vec<SettingProblem>) -> Config {
    let mut tell = |setting: &Setting| {
        problems.push(SettingProblem {
            source: SettingSource::Code,
            position: None,
            key: setting.key.to_owned(),
            allowed: format!("must be {}", setting.allowed),
        });
    };
    let numbers = [
        (&table::MAX_FIELD_BYTES, &mut config.max_field_bytes),
        (&table::MAX_MESSAGE_BYTES, &mut config.max_message_bytes),
        (&table::LOOP_WINDOW, &mut config.loop_window),
        (&table::LOOP_REPETITIONS, &mut config.loop_repetitions),
        (
            &table::STOP_ON_LOOP_MIN_REPETITIONS,
            &mut config.guardrails.stop_on_loop_min_repetitions,
        ),
    ];
    for (setting, number) in numbers {
        if number.is_some_and(|value| !setting.allowed.range().contains(&value)) {
            *number = None;
            tell(setting);
        }
    }
    if config
        .data_dir
        .as_ref()
        .is_some_and(|path| *path == PathBuf::new())
    {
        config.data_dir = None;
        tell(&table::DATA_DIR);
    }
    config
}

#[cfg(test)]
mod tests;
