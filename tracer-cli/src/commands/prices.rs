//! `tracer prices`: shows the price of a model, or where prices are from.

use serde_json::{Value, json};
use tracer_sdk::prices::{Day, NoPrice, Price, PriceSource, Prices, RateKind, Rates};

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
            .with_hint(session.next_step("show where prices are from", "prices"))
    })
}

fn report(prices: &Prices, price: Option<&Price<'_>>, today: Day) -> Value {
    let release = Prices::release();
    let own = prices.own().iter().map(|own| {
        let place = json!({"file": own.path, "line": own.line});
        price_json(
            &own.provider,
            &own.model,
            (own.from, own.until),
            &own.rates,
            place,
        )
    });
    let found = price.map(|price| {
        let place = match price.source() {
            PriceSource::Settings { path, line } => json!({"file": path, "line": line}),
            _ => json!({"file": null, "line": null}),
        };
        let period = (price.from(), price.until());
        price_json(price.provider(), price.model(), period, price.rates(), place)
    });
    json!({
        "release": {
            "package": release.package,
            "version": release.version,
            "made": release.made.to_string(),
            "age_days": today.days_since(release.made),
            "providers": release.providers,
            "models": release.models,
        },
        "own": own.collect::<Vec<_>>(),
        "price": found,
    })
}

fn price_json(
    provider: &str,
    model: &str,
    (from, until): (Option<Day>, Option<Day>),
    rates: &Rates,
    mut place: Value,
) -> Value {
    let day = |day: Option<Day>| day.map(|day| day.to_string());
    let rates = rates.iter().map(|(kind, rate)| {
        let above = rate
            .tiers()
            .map(|(tokens, usd)| json!({"tokens": tokens, "usd": usd}));
        json!({"kind": kind.name(), "usd": rate.base(), "above": above.collect::<Vec<_>>()})
    });
    let mut price = json!({
        "provider": provider, "model": model, "from": day(from), "until": day(until),
        "rates": rates.collect::<Vec<_>>(),
    });
    if let (Some(price), Some(place)) = (price.as_object_mut(), place.as_object_mut()) {
        price.append(place);
    }
    price
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
        session.next_step("show the price of a model", "prices MODEL"),
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
