//! `tracer prices`: shows the price of a model, or where prices are from.

use serde::Serialize;
use tracer_sdk::format::Usd;
use tracer_sdk::prices::{Day, NoPrice, OwnPrice, Price, PriceSource, Prices, RateKind, Rates};

use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text;
use tracer_insight::text::path_below_home as shown;
use tracer_insight::units::now;

/// Options of `tracer prices`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer prices gpt-5")]
pub struct Args {
    /// Show the price of MODEL [example: gpt-5, anthropic/claude-opus-4-5]
    #[arg(value_name = "MODEL")]
    model: Option<String>,
}

/// Where prices are from, and the price that was asked for.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PriceReport {
    /// The table of the release.
    release: ReleaseJson,
    /// The prices of the settings; what counts first comes first.
    own: Vec<PriceJson>,
    /// The price of the model that was asked for; null when none was.
    price: Option<PriceJson>,
}

/// The table of the release.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReleaseJson {
    /// The package that it is made from.
    package: &'static str,
    /// The version of the package.
    version: &'static str,
    /// The day on which it was made.
    made: String,
    /// Days since then.
    age_days: i64,
    /// Number of providers.
    providers: usize,
    /// Number of models, the same one of several providers counted for each.
    models: usize,
}

/// The price of a model.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PriceJson {
    /// The provider.
    provider: String,
    /// The model; a name that ends in `*` is for all names that begin so.
    model: String,
    /// The first day with this price, where one is known.
    from: Option<String>,
    /// The first day without this price, where one is set.
    until: Option<String>,
    /// The settings file with the price; null for the table of the release.
    file: Option<String>,
    /// The line in that file.
    line: Option<usize>,
    /// What tokens cost.
    rates: Vec<RateJson>,
}

/// What tokens of a kind cost.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RateJson {
    /// The kind: `input`, `cache_read`, `cache_write`, `output`, `reasoning`, a medium, `requests` or `web_searches`.
    kind: &'static str,
    /// Dollars per million tokens; of `requests` and `web_searches`, per thousand.
    usd: Usd,
    /// Dollars per million tokens where the prompt has more than a number of tokens; then all tokens cost as much.
    above: Vec<TierJson>,
}

/// The price where a prompt is long.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TierJson {
    /// The prompt has more tokens than this.
    tokens: u64,
    /// Dollars per million tokens.
    usd: Usd,
}

/// Shows where prices are from, or the price of a model.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let prices = session.prices()?;
    let today = Day::of(now());
    let price = match &args.model {
        Some(model) => Some(find(&prices, model, session)?),
        None => None,
    };
    if session.is_json() {
        session.ui.json(&report(&prices, price.as_ref(), today))?;
    } else {
        let lines = match &price {
            Some(price) => price_lines(price, today),
            None => source_lines(&prices, today, session),
        };
        session.ui.lines(&lines)?;
    }
    Ok(CommandOutcome::Done)
}

fn find<'a>(prices: &'a Prices, model: &str, session: &Session) -> Result<Price<'a>, CliError> {
    prices.find("", model, now()).map_err(|error| {
        let message = match error {
            NoPrice::NoModel => "no model is named".to_owned(),
            _ => format!("no price of the model {model:?}"),
        };
        CliError::input(message)
            .with_hint("name its provider as well: PROVIDER/MODEL")
            .with_hint("or set a price of your own: `[prices]` in a settings file")
            .with_hint(format!(
                "show where prices are from: {}",
                session.command("prices")
            ))
    })
}

fn report(prices: &Prices, price: Option<&Price<'_>>, today: Day) -> PriceReport {
    let release = Prices::release();
    PriceReport {
        release: ReleaseJson {
            package: release.package,
            version: release.version,
            made: release.made.to_string(),
            age_days: today.days_since(release.made),
            providers: release.providers,
            models: release.models,
        },
        own: prices.own().iter().map(own_json).collect(),
        price: price.map(price_json),
    }
}

fn own_json(own: &OwnPrice) -> PriceJson {
    PriceJson {
        provider: own.provider.clone(),
        model: own.model.clone(),
        from: own.from.map(|day| day.to_string()),
        until: own.until.map(|day| day.to_string()),
        file: Some(own.path.display().to_string()),
        line: Some(own.line),
        rates: rates_json(&own.rates),
    }
}

fn price_json(price: &Price<'_>) -> PriceJson {
    let (file, line) = match price.source() {
        PriceSource::Settings { path, line } => (Some(path.display().to_string()), Some(line)),
        _ => (None, None),
    };
    PriceJson {
        provider: price.provider().to_owned(),
        model: price.model().to_owned(),
        from: price.from().map(|day| day.to_string()),
        until: price.until().map(|day| day.to_string()),
        file,
        line,
        rates: rates_json(price.rates()),
    }
}

fn rates_json(rates: &Rates) -> Vec<RateJson> {
    let rates = rates.iter().map(|(kind, rate)| RateJson {
        kind: kind.name(),
        usd: rate.base(),
        above: rate
            .tiers()
            .map(|(tokens, usd)| TierJson { tokens, usd })
            .collect(),
    });
    rates.collect()
}

/// The table of the release and the prices of the settings.
fn source_lines(prices: &Prices, today: Day, session: &Session) -> Vec<Line> {
    let release = Prices::release();
    let mut lines = vec![Line::of(release_words(today), Tone::Plain)];
    lines.push(Line::of(
        format!(
            "{} of {} providers",
            text::counted(release.models as u64, "model"),
            release.providers
        ),
        Tone::Muted,
    ));
    for own in prices.own() {
        let period = period_words(own.from, own.until);
        lines.push(
            Line::of(format!("{}/{}", own.provider, own.model), Tone::Strong)
                .with(format!("  {}{period}", rate_words(&own.rates)), Tone::Plain)
                .with(format!("  {}:{}", shown(&own.path), own.line), Tone::Muted),
        );
    }
    lines.push(Line::of(
        format!("show the price of a model: {}", session.command("prices MODEL")),
        Tone::Muted,
    ));
    lines
}

/// The price of one model.
fn price_lines(price: &Price<'_>, today: Day) -> Vec<Line> {
    let source = match price.source() {
        PriceSource::Settings { path, line } => format!("{}:{line}", shown(&path)),
        _ => release_words(today),
    };
    let mut lines = vec![
        Line::of(format!("{}/{}", price.provider(), price.model()), Tone::Strong)
            .with(period_words(price.from(), price.until()), Tone::Plain),
    ];
    for (kind, rate) in price.rates().iter() {
        let per = per(kind);
        lines.push(Line::of(
            format!("  {:<13}${} per {per}", kind.name(), rate.base().to_decimal()),
            Tone::Plain,
        ));
        lines.extend(rate.tiers().map(|(tokens, usd)| {
            let words = format!(
                "  {:<13}${} per {per} above {tokens} input tokens",
                "",
                usd.to_decimal()
            );
            Line::of(words, Tone::Plain)
        }));
    }
    if price.rates().iter().next().is_none() {
        lines.push(Line::of("  no price per token is known", Tone::Warning));
    }
    lines.push(Line::of(format!("  from {source}"), Tone::Muted));
    lines
}

const fn per(kind: RateKind) -> &'static str {
    match kind {
        RateKind::Requests => "thousand requests",
        RateKind::WebSearches => "thousand searches",
        _ => "million tokens",
    }
}

/// `genai-prices 0.2.3, 8 days old`
fn release_words(today: Day) -> String {
    let release = Prices::release();
    let age = match u64::try_from(today.days_since(release.made)) {
        Ok(0) => "made today".to_owned(),
        Ok(days) => format!("{} old", text::counted(days, "day")),
        // This machine's clock is behind.
        Err(_) => format!("made on {}", release.made),
    };
    format!("{} {}, {age}", release.package, release.version)
}

/// `$0.25 in, $2 out`
fn rate_words(rates: &Rates) -> String {
    let words = rates.iter().map(|(kind, rate)| {
        let name = match kind {
            RateKind::Input => "in",
            RateKind::Output => "out",
            _ => kind.name(),
        };
        format!("${} {name}", rate.base().to_decimal())
    });
    words.collect::<Vec<_>>().join(", ")
}

/// `, from 2026-12-01 until 2027-01-01`
fn period_words(from: Option<Day>, until: Option<Day>) -> String {
    match (from, until) {
        (None, None) => String::new(),
        (Some(from), None) => format!(", from {from}"),
        (None, Some(until)) => format!(", until {until}"),
        (Some(from), Some(until)) => format!(", from {from} until {until}"),
    }
}
