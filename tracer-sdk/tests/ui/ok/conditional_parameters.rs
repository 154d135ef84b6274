#![deny(warnings)]

#[tracer_sdk::trace(tool, args)]
pub fn search(query: &str, #[cfg(windows)] drive: char, #[cfg(not(windows))] root: &str) -> usize {
    #[cfg(windows)]
    let root = drive.to_string();
    query.len() + root.len()
}

fn main() {}
