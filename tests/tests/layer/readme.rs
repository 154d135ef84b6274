//! The lines by which the README gives a program the layer.

use tracing::Subscriber;
use tracing_subscriber::prelude::*;

const README: &str = include_str!("../../../README.md");
const GUIDE: &str = include_str!("../../../docs/instrument-rust.md");

/// A program without a subscriber.
fn alone() {
    tracing_subscriber::registry().with(tracer_sdk::layer()).init();
}

/// A program that had `tracing_subscriber::fmt().init()`.
fn beside_its_output() -> impl Subscriber + Send + Sync {
    tracing_subscriber::registry()
        .with(tracer_sdk::layer())
        .with(tracing_subscriber::fmt::layer().with_filter(tracing_subscriber::filter::LevelFilter::INFO))
}

#[test]
fn the_lines_of_the_readme_compile_and_install_the_layer() {
    let itself = include_str!("readme.rs");
    for line in [
        "use tracing_subscriber::prelude::*;",
        "tracing_subscriber::registry().with(tracer_sdk::layer()).init();",
        ".with(tracing_subscriber::fmt::layer().with_filter(tracing_subscriber::filter::LevelFilter::INFO))",
    ] {
        assert!(
            README.contains(line) && itself.matches(line).count() > 1,
            "{line}"
        );
    }
    assert!(GUIDE.contains("tracing_subscriber::registry().with(tracer_sdk::layer()).init();"));
    let _: fn() = alone;
    // With the layer, the registry has its spans enabled.
    tracing::subscriber::with_default(beside_its_output(), || {
        assert!(tracing::info_span!("chat").id().is_some());
    });
}
