//! `docs/settings.md` has the table of settings exactly as the code has it.

use std::fs;
use std::path::Path;

use tracer_sdk::settings::{AllowedValues, BATCH_INTERVAL, BATCH_SPANS, SETTINGS, Setting};

fn table() -> String {
    let head = "| Setting | Environment | Allowed | Default | What it does |\n|---|---|---|---|---|\n";
    let rows = SETTINGS.iter().map(|setting| {
        let default = setting.default.map_or_else(
            || without_default(setting).to_owned(),
            |default| format!("`{default}`"),
        );
        format!(
            "| `{}` | `{}` | {} | {default} | {} |\n",
            setting.key,
            setting.variable(),
            setting.allowed,
            setting.about
        )
    });
    head.to_owned() + &rows.collect::<String>()
}

fn without_default(setting: &Setting) -> &'static str {
    match setting.allowed {
        AllowedValues::Bucket => "none",
        _ => "no limit",
    }
}

#[test]
fn the_documentation_has_the_table_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/settings.md");
    let page = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let table = table();
    assert!(
        page.contains(&table),
        "put this table into docs/settings.md:\n\n{table}"
    );
}

#[test]
fn a_batch_has_the_tables_numbers() {
    let flush = SETTINGS.iter().find(|setting| setting.key == "flush").unwrap();
    let numbers = format!("{BATCH_SPANS} spans or {} ms", BATCH_INTERVAL.as_millis());
    assert!(flush.about.contains(&numbers));
}
