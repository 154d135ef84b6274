//! Which value wins.

use std::path::{Path, PathBuf};

use super::files::{FOLDER, SettingsFile, Sources};
use super::inside::inside;
use super::layer::Layer;
use super::problem::SettingProblem;
use super::resolved::BYTES_PER_MB;
use super::unknown_keys::unknown_keys;
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
    let mut code = config.clone();
    code.check(&mut problems);
    let environment = Layer::of_environment(&sources.environment, working_directory, home);
    let environment = read(&environment, &mut problems);
    let (user, _) = read_file(sources.user.as_ref(), home, &mut problems);
    let (mut project, file) = read_file(sources.project.as_ref(), home, &mut problems);
    if let Some(file) = &file {
        only_tighten(&mut project, &user, file, &mut problems);
        only_inside(&mut project, file, &mut problems);
        no_store(&mut project, file, &mut problems);
    }
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

/// Values of a source. A `redact` that cannot be read leaves redaction on, whatever sources below it say.
fn read(layer: &Layer<'_>, problems: &mut Vec<SettingProblem>) -> Config {
    let mut values = Config::read(layer, problems);
    if layer.has("redact") {
        values.redact = values.redact.or(Some(true));
    }
    values
}

/// Values of a settings file, and the file where it can be read.
fn read_file<'a>(
    file: Option<&'a SettingsFile>,
    home: Option<&'a Path>,
    problems: &mut Vec<SettingProblem>,
) -> (Config, Option<Layer<'a>>) {
    let parse = |file: &'a SettingsFile| {
        let text = file.text.as_deref().map_err(String::as_str);
        Layer::of_file(&file.path, text, home)
    };
    match file.map(parse) {
        None => (Config::new(), None),
        Some(Ok(file)) => {
            let values = read(&file, problems);
            unknown_keys(&file, problems);
            (values, Some(file))
        }
        Some(Err(problem)) => {
            problems.push(problem);
            // It might have said so.
            (Config::new().redact(true), None)
        }
    }
}

/// A project file may come with somebody else's code: it can tighten redaction, never loosen it.
fn only_tighten(layer: &mut Config, below: &Config, file: &Layer<'_>, problems: &mut Vec<SettingProblem>) {
    if layer.redact == Some(false) {
        layer.redact = None;
        let allowed = "must not be false in a project file: it can tighten redaction, not loosen it";
        problems.push(file.problem("redact", allowed));
    }
    let default = Settings::with_data_dir("");
    let limits = [
        (
            "max_field_bytes",
            &mut layer.max_field_bytes,
            below.max_field_bytes.map_or(default.max_field_bytes, saturated),
        ),
        (
            "max_message_bytes",
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
fn only_inside(layer: &mut Config, file: &Layer<'_>, problems: &mut Vec<SettingProblem>) {
    let Some(path) = layer.data_dir.take() else { return };
    let is_inside = |folder: PathBuf| inside(file.base, &folder).is_some();
    let stays_inside = |data_dir: &PathBuf| FOLDERS.iter().all(|folder| is_inside(data_dir.join(folder)));
    layer.data_dir = inside(file.base, &path).filter(stays_inside);
    if layer.data_dir.is_none() {
        let allowed = "must be a folder inside the project, and no link may lead out of it";
        problems.push(file.problem("data_dir", allowed));
    }
}

/// A project file may come with somebody else's code: it must not send this user's credentials to a bucket of its choice, and
/// not fill this user's disk.
fn no_store(layer: &mut Config, file: &Layer<'_>, problems: &mut Vec<SettingProblem>) {
    if layer.store.take().is_some() {
        let allowed = "must not be in a project file: set it in ~/.tracer/config.toml or in TRACER_STORE";
        problems.push(file.problem("store", allowed));
    }
    if layer.store_cache_mb.take().is_some() {
        let allowed =
            "must not be in a project file: set it in ~/.tracer/config.toml or in TRACER_STORE_CACHE_MB";
        problems.push(file.problem("store_cache_mb", allowed));
    }
}

#[cfg(test)]
mod tests;
