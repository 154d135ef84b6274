//! [`CrateModules`]: the modules of a crate, with what each defines, imports and refers to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use proc_macro2::TokenStream;
use syn::{Attribute, Expr, Item, Lit, Meta};

use crate::paths::{Import, Reference, collect_item};

/// The index of the root module.
pub(crate) const ROOT: usize = 0;

/// All modules of a crate; the first is its root.
#[derive(Debug)]
pub struct CrateModules {
    pub(crate) modules: Vec<Module>,
}

/// One module of a crate.
#[derive(Debug, Default)]
pub struct Module {
    /// Its path below the crate, such as `read::log`; empty for the root.
    pub path: String,
    /// The file in which it is written.
    pub file: PathBuf,
    pub(crate) parent: Option<usize>,
    pub(crate) children: BTreeMap<String, usize>,
    pub(crate) items: BTreeSet<String>,
    /// The types and traits that it defines, tests aside.
    pub types: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    pub(crate) references: Vec<Reference>,
}

impl CrateModules {
    /// Reads a crate from its root file and every file that `mod` names from there.
    ///
    /// # Errors
    ///
    /// A file that is missing or does not parse.
    pub fn read(root_file: &Path) -> io::Result<Self> {
        let mut modules = Self { modules: Vec::new() };
        let directory = root_file.parent().unwrap_or(Path::new(""));
        modules.add_file(root_file, directory, String::new(), None)?;
        Ok(modules)
    }

    /// Every module.
    #[must_use]
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    fn add_file(
        &mut self,
        file: &Path,
        directory: &Path,
        path: String,
        parent: Option<usize>,
    ) -> io::Result<usize> {
        let content = fs::read_to_string(file).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("failed to read `{}`: {error}", file.display()),
            )
        })?;
        let parsed = syn::parse_file(&content)
            .map_err(|error| io::Error::other(format!("failed to parse `{}`: {error}", file.display())))?;
        self.add_items(&parsed.items, file, directory, path, parent)
    }

    /// `directory` holds the files of the module's children.
    fn add_items(
        &mut self,
        items: &[Item],
        file: &Path,
        directory: &Path,
        path: String,
        parent: Option<usize>,
    ) -> io::Result<usize> {
        let index = self.modules.len();
        self.modules.push(Module {
            path,
            file: file.to_owned(),
            parent,
            ..Module::default()
        });
        for item in items {
            let Item::Mod(module) = item else {
                collect_item(item, &mut self.modules[index]);
                continue;
            };
            if is_test_only(&module.attrs) {
                continue;
            }
            let name = module.ident.to_string();
            let path = match self.modules[index].path.as_str() {
                "" => name.clone(),
                parent => format!("{parent}::{name}"),
            };
            let below = directory.join(&name);
            let child = if let Some((_, items)) = &module.content {
                self.add_items(items, file, &below, path, Some(index))?
            } else {
                let file = file_of_module(&module.attrs, file, directory, &name);
                let below = match file.file_name() {
                    Some(name) if name == "mod.rs" => file.parent().unwrap_or(&below).to_owned(),
                    _ => file.with_extension(""),
                };
                self.add_file(&file, &below, path, Some(index))?
            };
            self.modules[index].children.insert(name, child);
        }
        Ok(index)
    }
}

fn file_of_module(attributes: &[Attribute], parent_file: &Path, directory: &Path, name: &str) -> PathBuf {
    let given = attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    if let Some(given) = given {
        return parent_file.with_file_name("").join(given);
    }
    let flat = directory.join(format!("{name}.rs"));
    if flat.exists() {
        flat
    } else {
        directory.join(name).join("mod.rs")
    }
}

/// Whether an item exists in tests only: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[cfg(doctest)]`.
pub(crate) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let words = words(&list.tokens);
            let has = |word: &str| words.iter().any(|other| other == word);
            (has("test") || has("doctest")) && !has("not") && !has("any")
        }
        _ => false,
    })
}

fn words(tokens: &TokenStream) -> Vec<String> {
    let text = tokens.to_string();
    let words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.map(str::to_owned).collect()
}
