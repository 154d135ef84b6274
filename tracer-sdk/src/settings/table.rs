//! Table of settings, which makes `Config`, `Guardrails`, their readers and documentation.

use std::path::PathBuf;
use std::time::Duration;

use tracer_format::MAX_LINE_BYTES;
#[cfg(feature = "prices")]
use tracer_format::Usd;

use super::layer::Layer;
use super::problem::{SettingProblem, SettingSource};
use super::setting::AllowedValues::{
    Between, Bucket, Dollars, Names, Path, Seconds, Switch, SwitchOr, Whole, Word,
};
use super::setting::Setting;
use super::value::SettingValue;
use super::words::{Flush, MIN_FIELD_BYTES, MIN_LOOP_REPETITIONS, SHAPE, StopOnLoop};

/// The largest window of the loop detector: each live run keeps a signature of up to some KB for each of its records,
/// and a record is compared with those before it. More repetitions than records are no loop.
const MAX_LOOP_WINDOW: u64 = 1000;

/// Makes a struct of optional values, with one setter each, of every group of settings.
macro_rules! settings {
    ($(
        $(#[$attribute:meta])*
        $visible:vis $layer:ident $([$inner:ident: $inner_type:ty])? {$(
            $field:ident: $type:ty = $key:literal, $allowed:expr, $default:expr $(, if $feature:literal)?;
            $about:literal
            { $($(#[$setter_attribute:meta])* set($argument:ty))? }
        )+}
    )+) => {
        /// Every setting, in the order of the documentation.
        pub static SETTINGS: &[&Setting] = &[$($(
            &Setting { key: $key, allowed: $allowed, default: $default, about: $about },
        )+)+];

        $(
            $(#[$attribute])*
            #[derive(Debug, Clone, Default, PartialEq, Eq)]
            #[must_use = "it only describes settings"]
            #[non_exhaustive]
            pub struct $layer {
                $(
                    $(#[cfg(feature = $feature)])?
                    #[doc = $about]
                    $visible $field: Option<$type>,
                )+
                $($visible $inner: $inner_type,)?
            }

            impl $layer {
                /// Nothing given: everything comes from the environment, from files and from the defaults.
                ///
                /// ```
                #[doc = concat!("use tracer_sdk::", stringify!($layer), ";")]
                ///
                #[doc = concat!("assert_eq!(", stringify!($layer), "::new(), ", stringify!($layer), "::default());")]
                /// ```
                pub fn new() -> Self {
                    Self::default()
                }

                $($(
                    $(#[$setter_attribute])*
                    pub fn $field(mut self, value: $argument) -> Self {
                        self.$field = Some(value.into());
                        self
                    }
                )?)+

                /// These values, and where one is not given, that of `lower`.
                ///
                /// ```
                /// use tracer_sdk::Guardrails;
                ///
                /// let file = Guardrails::new().max_llm_calls(10).max_events(50);
                /// let both = Guardrails::new().max_llm_calls(3).or(&file);
                /// assert_eq!((both.max_llm_calls, both.max_events), (Some(3), Some(50)));
                /// ```
                $visible fn or(self, lower: &Self) -> Self {
                    Self {
                        $(
                            $(#[cfg(feature = $feature)])?
                            $field: self.$field.or_else(|| lower.$field.clone()),
                        )+
                        $($inner: self.$inner.or(&lower.$inner),)?
                    }
                }

                /// Everything that one source gives; a value that is not allowed is a problem.
                pub(super) fn read(layer: &Layer<'_>, problems: &mut Vec<SettingProblem>) -> Self {
                    $($(
                        #[cfg(not(feature = $feature))]
                        if layer.has($key) {
                            let allowed = concat!("is not in force: it needs the feature `", $feature, "` of tracer-sdk");
                            problems.push(layer.problem($key, allowed));
                        }
                    )?)+
                    Self {
                        $(
                            $(#[cfg(feature = $feature)])?
                            $field: layer.read($key, &$allowed, problems),
                        )+
                        $($inner: <$inner_type>::read(layer, problems),)?
                    }
                }

                /// Removes values in code that are not allowed.
                pub(super) fn check(&mut self, problems: &mut Vec<SettingProblem>) {
                    $(
                        $(#[cfg(feature = $feature)])?
                        if self.$field.as_ref().is_some_and(|value| !value.is_allowed(&$allowed)) {
                            self.$field = None;
                            let allowed = format!("must be {}", $allowed);
                            problems.push(SettingProblem::new(&SettingSource::Code, None, $key, &allowed));
                        }
                    )+
                    $(self.$inner.check(problems);)?
                }
            }
        )+
    };
}

settings! {
    /// Settings given in code: they win over the environment and over settings files, and what is not given here is taken
    /// from there (decisions, section 9).
    ///
    /// ```
    /// use tracer_sdk::guardrails::Guardrails;
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    ///
    /// let config = Config::new()
    ///     .data_dir("/tmp/agent-runs")
    ///     .guardrails(Guardrails::new().max_llm_calls(10));
    /// let (settings, problems) = resolve(&config, &Sources::default());
    /// assert_eq!(settings.data_dir.to_str(), Some("/tmp/agent-runs"));
    /// assert_eq!(settings.guardrails.max_llm_calls, Some(10));
    /// assert!(problems.is_empty());
    /// ```
    pub(crate) Config [guardrails: Guardrails] {
        enabled: bool = "enabled", Switch, Some("true");
        "Records runs. `TRACER_ENABLED=0` disables recording even if the code enables it."
        {
            /// Turns recording on or off. The environment variable `TRACER_ENABLED=0` turns it off all the same.
            ///
            /// ```
            /// use tracer_sdk::{Config, Run};
            ///
            /// let run = Run::new("unrecorded").config(&Config::new().enabled(false)).start();
            /// assert_eq!(run.dir(), None);
            /// ```
            set(bool)
        }
        data_dir: PathBuf = "data_dir", Path, Some("\"~/.tracer\"");
        "Folder of the runs. A relative path in a settings file starts at the folder that holds `.tracer`. A project file can only name a folder inside the project."
        {
            /// Sets the directory of the runs. A relative path starts at the working directory; `~` has no meaning here.
            ///
            /// ```
            /// use tracer_sdk::{Config, Run};
            ///
            /// let folder = tempfile::tempdir()?;
            /// let run = Run::new("ask").config(&Config::new().data_dir(folder.path())).start();
            /// assert!(run.dir().unwrap().starts_with(folder.path()));
            /// # Ok::<(), std::io::Error>(())
            /// ```
            set(impl Into<PathBuf>)
        }
        store: String = "store", Bucket, None;
        "Bucket of a team's runs that the commands that read also read, like `--store`. A project file cannot name one."
        {}
        store_cache_mb: u64 = "store_cache_mb", Whole(0), Some("2048");
        "Room for the runs that were fetched from a bucket, in megabytes; those that nobody used for the longest time go first. A project file cannot set it."
        {}
        redact: bool = "redact", Switch, Some("true");
        "Redacts secrets before anything is written. A project file cannot disable it."
        {
            /// Turns on or off that secrets are replaced before anything is written.
            ///
            /// ```
            /// use tracer_sdk::settings::{Config, Sources, resolve};
            ///
            /// let (settings, _) = resolve(&Config::new().redact(false), &Sources::default());
            /// assert!(!settings.redact);
            /// ```
            set(bool)
        }
        redact_keys: Vec<String> = "redact_keys", Names, Some(concat!(
        "[\"access_key\", \"api_key\", \"auth\", \"authorization\", \"bearer\", \"cookie\", \"credential\", \"dsn\", ",
        "\"encryption_key\", \"jwt\", \"pass\", \"passphrase\", \"passwd\", \"password\", \"private_key\", \"pwd\", ",
        "\"secret\", \"secret_key\", \"signing_key\", \"token\"]",
    ));
        "Keys whose values are redacted: those that end in one of these words. A project file adds to the list."
        {}
        max_field_bytes: u64 = "max_field_bytes", Between(MIN_FIELD_BYTES as u64, MAX_LINE_BYTES as u64), Some("20000");
        "Maximum length of a string in bytes; a longer one is truncated. A project file can only lower it."
        {
            /// Sets the length above which a string is cut, in bytes; from 100 to 1048576 (1 MiB, the longest line).
            ///
            /// ```
            /// use tracer_sdk::settings::{Config, Sources, resolve};
            ///
            /// let (settings, problems) = resolve(&Config::new().max_field_bytes(50), &Sources::default());
            /// assert_eq!(settings.max_field_bytes, 20_000); // 50 is not allowed, so the default stays
            /// assert_eq!(problems[0].to_string(), "settings in code: max_field_bytes must be a whole number from 100 to 1048576");
            /// ```
            set(u64)
        }
        max_message_bytes: u64 = "max_message_bytes", Between(MIN_FIELD_BYTES as u64, MAX_LINE_BYTES as u64), Some("1048576");
        "Maximum length of JSON text in bytes, such as the messages of a model call, in spans that other programs sent. Longer text is truncated within its strings, so that it stays JSON. A project file can only lower it."
        {
            /// Sets the length of JSON text above which its strings are cut in spans that another program sent, in bytes; from
            /// 100 to 1048576 (1 MiB, the longest line).
            ///
            /// ```
            /// use tracer_sdk::settings::{Config, Sources, resolve};
            ///
            /// let (settings, _) = resolve(&Config::new().max_message_bytes(50_000), &Sources::default());
            /// assert_eq!(settings.max_message_bytes, 50_000);
            /// ```
            set(u64)
        }
        loop_window: u64 = "loop_window", Between(4, MAX_LOOP_WINDOW), Some("12");
        "Number of recent model calls, tool calls and state updates that are searched for a loop."
        {
            /// Sets the number of last records that are searched for a loop; from 4 to 1000.
            ///
            /// ```
            /// use tracer_sdk::settings::{Config, Sources, resolve};
            ///
            /// let (settings, _) = resolve(&Config::new().loop_window(24), &Sources::default());
            /// assert_eq!(settings.loop_window, 24);
            /// ```
            set(u64)
        }
        loop_repetitions: u64 = "loop_repetitions", Between(2, MAX_LOOP_WINDOW), Some("3");
        "Repetitions of a block of records that raise a loop warning; it is a loop if the calls are also the same."
        {
            /// Sets the number of repetitions that make a block a loop; from 2 to 1000.
            ///
            /// ```
            /// use tracer_sdk::settings::{Config, Sources, resolve};
            ///
            /// let (settings, _) = resolve(&Config::new().loop_repetitions(5), &Sources::default());
            /// assert_eq!(settings.loop_repetitions, 5);
            /// ```
            set(u64)
        }
        flush: Flush = "flush", Word(&["each", "batched"]), Some("\"each\"");
        "`each`: a span is in the file when the call that ended it returns. `batched`: spans are written after 64 spans or 250 ms; a thread of the SDK writes them while the program is idle."
        {
            /// When finished spans are written.
            ///
            /// ```
            /// use tracer_sdk::settings::{Config, Flush, Sources, resolve};
            ///
            /// let (settings, _) = resolve(&Config::new().flush(Flush::Batched), &Sources::default());
            /// assert_eq!(settings.flush, Flush::Batched);
            /// ```
            set(Flush)
        }
    }

    /// The limits of a run; one that is `None` is not set (decisions, section 8).
    ///
    /// A count trips at one more than its limit, the duration and the cost at or past it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tracer_sdk::guardrails::Guardrails;
    ///
    /// let guardrails = Guardrails::new()
    ///     .max_llm_calls(10)
    ///     .max_tool_calls(20)
    ///     .max_duration(Duration::from_secs(30))
    ///     .stop_on_loop(true);
    /// assert_eq!(guardrails.max_llm_calls, Some(10));
    /// assert_eq!(guardrails.max_events, None);
    /// ```
    pub Guardrails {
        stop_on_loop: StopOnLoop = "guardrails.stop_on_loop", SwitchOr(&[SHAPE]), Some("false");
        "Stops the run on a loop, or with `\"shape\"` on a loop warning."
        {
            /// Stops the run when it loops: `true` when calls ask the same again and again, [`StopOnLoop::Shape`] as soon as
            /// their shapes repeat, which three files read in a row do as well. A failed call that is tried again at once is one
            /// call with its attempts, and no loop.
            ///
            /// ```
            /// use tracer_sdk::{Config, Guardrail, Guardrails, Run, tool_call};
            ///
            /// let folder = tempfile::tempdir()?;
            /// let config = Config::new().data_dir(folder.path());
            /// let run = Run::new("stuck").config(&config).guardrails(Guardrails::new().stop_on_loop(true)).start();
            /// let exceeded = (0..10).find_map(|_| tool_call("search").record().err()).unwrap();
            /// assert_eq!(exceeded.guardrail, Guardrail::StopOnLoop);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            set(impl Into<StopOnLoop>)
        }
        stop_on_loop_min_repetitions: u64 = "guardrails.stop_on_loop_min_repetitions", Whole(MIN_LOOP_REPETITIONS), Some("3");
        "Repetitions that stop the run; at least those that make a loop."
        {
            /// Sets the number of repetitions that a loop needs to stop the run; a number below 2 means 2.
            ///
            /// ```
            /// use tracer_sdk::{Config, Guardrails, Run, tool_call};
            ///
            /// let folder = tempfile::tempdir()?;
            /// let config = Config::new().data_dir(folder.path());
            /// let limits = Guardrails::new().stop_on_loop(true).stop_on_loop_min_repetitions(5);
            /// let run = Run::new("stuck").config(&config).guardrails(limits).start();
            /// assert_eq!((1..).find(|_| tool_call("search").record().is_err()), Some(5));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            set(u64)
        }
        max_llm_calls: u64 = "guardrails.max_llm_calls", Whole(0), None;
        "Maximum model calls of a run."
        {
            /// Stops the run at model call `calls + 1`.
            ///
            /// ```
            /// use tracer_sdk::{Config, Guardrails, Run, llm_call};
            ///
            /// let folder = tempfile::tempdir()?;
            /// let config = Config::new().data_dir(folder.path());
            /// let run = Run::new("careful").config(&config).guardrails(Guardrails::new().max_llm_calls(2)).start();
            /// assert_eq!((1..).find(|_| llm_call("gpt-5").record().is_err()), Some(3));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            set(u64)
        }
        max_tool_calls: u64 = "guardrails.max_tool_calls", Whole(0), None;
        "Maximum tool calls of a run."
        {
            /// Stops the run at tool call `calls + 1`.
            ///
            /// ```
            /// use tracer_sdk::{Config, Guardrails, Run, tool_call};
            ///
            /// let folder = tempfile::tempdir()?;
            /// let config = Config::new().data_dir(folder.path());
            /// let run = Run::new("careful").config(&config).guardrails(Guardrails::new().max_tool_calls(2)).start();
            /// assert_eq!((1..).find(|_| tool_call("search").record().is_err()), Some(3));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            set(u64)
        }
        max_events: u64 = "guardrails.max_events", Whole(0), None;
        "Maximum number of model calls, tool calls, state updates, captured errors and loop warnings of a run."
        {
            /// Stops the run at event `events + 1`.
            ///
            /// ```
            /// use tracer_sdk::{Config, Guardrails, Run, state, tool_call};
            ///
            /// let folder = tempfile::tempdir()?;
            /// let config = Config::new().data_dir(folder.path());
            /// let run = Run::new("careful").config(&config).guardrails(Guardrails::new().max_events(1)).start();
            /// assert!(state("triage").record().is_ok());
            /// assert!(tool_call("search").record().is_err());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            set(u64)
        }
        max_duration: Duration = "guardrails.max_duration_s", Seconds, None;
        "Maximum duration of a run in seconds."
        {
            /// Stops the run once it has taken this long.
            ///
            /// ```
            /// use std::time::Duration;
            /// use tracer_sdk::{Config, Guardrails, Run, tool_call};
            ///
            /// let folder = tempfile::tempdir()?;
            /// let config = Config::new().data_dir(folder.path());
            /// let limits = Guardrails::new().max_duration(Duration::ZERO);
            /// let run = Run::new("too late").config(&config).guardrails(limits).start();
            /// assert!(tool_call("search").start().is_err());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            set(Duration)
        }
        max_cost_usd: Usd = "guardrails.max_cost_usd", Dollars, None, if "prices";
        "Maximum cost of the model calls of a run in US dollars; needs the SDK's feature `prices`."
        {
            /// Stops the run before the first model call that would start when finished ones have cost this much; feature `prices`.
            ///
            /// Calls in flight count when they end: what they cost is not known before. A call whose cost is not known is not
            /// counted; the SDK warns, and [`GuardrailExceeded::unpriced_calls`](crate::GuardrailExceeded) says how many there were.
            ///
            /// ```
            /// use tracer_sdk::format::Usd;
            /// use tracer_sdk::{Config, Guardrails, Run, Usage, llm_call};
            ///
            /// let folder = tempfile::tempdir()?;
            /// let config = Config::new().data_dir(folder.path());
            /// let limits = Guardrails::new().max_cost_usd(Usd::from_cents(50));
            /// let run = Run::new("careful").config(&config).guardrails(limits).start();
            /// // 20 cents each.
            /// let ask = || llm_call("gpt-4o").provider("openai").usage(Usage::new(80_000, 0)).record();
            /// assert_eq!((1..).find(|_| ask().is_err()), Some(4));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[cfg(feature = "prices")]
            set(Usd)
        }
    }
}

impl Config {
    /// The words that make a key a secret's, instead of the default ones. Those of a project file are added.
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    ///
    /// let (settings, _) = resolve(&Config::new().redact_keys(["iban", "token"]), &Sources::default());
    /// assert_eq!(settings.redact_keys, ["iban", "token"]);
    /// ```
    pub fn redact_keys<Key: Into<String>>(mut self, keys: impl IntoIterator<Item = Key>) -> Self {
        self.redact_keys = Some(keys.into_iter().map(Into::into).collect());
        self
    }

    /// The limits of each run; one that is not set here is taken from the environment and from files.
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    /// use tracer_sdk::Guardrails;
    ///
    /// let config = Config::new().guardrails(Guardrails::new().max_tool_calls(20));
    /// let (settings, _) = resolve(&config, &Sources::default());
    /// assert_eq!(settings.guardrails.max_tool_calls, Some(20));
    /// ```
    pub fn guardrails(mut self, guardrails: Guardrails) -> Self {
        self.guardrails = guardrails;
        self
    }
}
