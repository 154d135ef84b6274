//! Lists the files of the viewer's page, so that the executable holds them all and none has to be named twice.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("page");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        // Declarations of types serve the type check only.
        .filter(|name| name.contains('.') && !name.starts_with('.') && !name.ends_with(".d.ts"))
        .collect();
    names.sort();
    let mut list = String::from("[\n");
    for name in names {
        let path = folder.join(&name);
        let path = path.to_str().ok_or("the path of the source is no text")?;
        writeln!(list, "    ({name:?}, include_bytes!({path:?}).as_slice()),")?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("page_files.rs"), list)?;
    Ok(())
}
