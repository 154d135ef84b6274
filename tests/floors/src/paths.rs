//! The paths that a module writes, and the module that each of them ends in.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Macro, Path, TraitItem, UseTree, VisRestricted};

use crate::tree::{CrateModules, Module, ROOT, is_test_only};

/// A name that `use` brings into a module; a glob has none.
#[derive(Debug)]
pub(crate) struct Import {
    name: Option<String>,
    path: Vec<String>,
}

/// A path as it is written.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
}

/// Adds what an item defines, imports and refers to.
pub(crate) fn collect_item(item: &Item, module: &mut Module) {
    if let Some(name) = defined_name(item)
        && !item_attributes(item).is_some_and(is_test_only)
    {
        if defines_type(item) {
            module.types.insert(name.clone());
        }
        module.items.insert(name);
    }
    Collector { module }.visit_item(item);
}

struct Collector<'a> {
    module: &'a mut Module,
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if item_attributes(item).is_some_and(is_test_only) {
            return;
        }
        if let Item::Use(import) = item {
            self.add_use(&import.tree, &mut Vec::new());
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => return visit::visit_impl_item(self, item),
        };
        if !is_test_only(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if let TraitItem::Fn(function) = item
            && is_test_only(&function.attrs)
        {
            return;
        }
        visit::visit_trait_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if names.len() > 1 && path.leading_colon.is_none() {
            self.add(names, path.span().start().line);
        }
        visit::visit_path(self, path);
    }

    // `pub(in crate::read)` opens an item to a module, and depends on nothing.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    // A derive or a lint is no arrow.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.add_tokens(call.tokens.clone());
    }
}

impl Collector<'_> {
    fn add(&mut self, path: Vec<String>, line: usize) {
        self.module.references.push(Reference { path, line });
    }

    fn add_use(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        let line = tree.span().start().line;
        match tree {
            UseTree::Path(part) => {
                before.push(part.ident.to_string());
                self.add_use(&part.tree, before);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(tree, before);
                }
            }
            UseTree::Name(name) => self.import(before, &name.ident.to_string(), None, line),
            UseTree::Rename(name) => {
                self.import(
                    before,
                    &name.ident.to_string(),
                    Some(name.rename.to_string()),
                    line,
                );
            }
            UseTree::Glob(_) => {
                self.add(before.clone(), line);
                let path = before.clone();
                self.module.imports.push(Import { name: None, path });
            }
        }
    }

    fn import(&mut self, before: &[String], name: &str, alias: Option<String>, line: usize) {
        let mut path = before.to_vec();
        if name != "self" {
            path.push(name.to_owned());
        }
        let name = alias.or_else(|| path.last().cloned());
        self.add(path.clone(), line);
        self.module.imports.push(Import { name, path });
    }

    /// Paths within a macro's call or rules: names joined by `::`.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match &token {
                TokenTree::Ident(name) if colons == 2 && !path.is_empty() => path.push(name.to_string()),
                TokenTree::Ident(name) => {
                    self.finish_tokens(&mut path, line);
                    path.push(name.to_string());
                    line = name.span().start().line;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.finish_tokens(&mut path, line);
                    self.add_tokens(group.stream());
                }
                _ => self.finish_tokens(&mut path, line),
            }
            colons = 0;
        }
        self.finish_tokens(&mut path, line);
    }

    fn finish_tokens(&mut self, path: &mut Vec<String>, line: usize) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.add(path, line);
        }
    }
}

impl CrateModules {
    /// The module in which a path ends that another module writes; `None` for other crates, the prelude and local names.
    pub(crate) fn resolve(&self, from: usize, path: &[String]) -> Option<usize> {
        self.resolve_within(from, path, &mut BTreeSet::new())
    }

    /// `visited` ends imports that name each other.
    fn resolve_within<'a>(
        &'a self,
        from: usize,
        path: &'a [String],
        visited: &mut BTreeSet<(usize, String)>,
    ) -> Option<usize> {
        let mut at = from;
        for (index, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => at = ROOT,
                "self" => {}
                "super" => at = self.modules[at].parent?,
                _ => return self.resolve_name(at, name, &path[index + 1..], visited),
            }
        }
        Some(at)
    }

    fn resolve_name(
        &self,
        at: usize,
        name: &str,
        rest: &[String],
        visited: &mut BTreeSet<(usize, String)>,
    ) -> Option<usize> {
        let module = &self.modules[at];
        if let Some(child) = module.children.get(name) {
            return match rest.split_first() {
                // A name that the child does not have comes from a macro or a derive there.
                Some((name, rest)) => self.resolve_name(*child, name, rest, visited).or(Some(*child)),
                None => Some(*child),
            };
        }
        if module.items.contains(name) {
            return Some(at);
        }
        if !visited.insert((at, name.to_owned())) {
            return None;
        }
        for import in &module.imports {
            let path: Vec<String> = match &import.name {
                Some(imported) if imported == name => import.path.iter().chain(rest).cloned().collect(),
                Some(_) => continue,
                None => {
                    let behind = import.path.iter().cloned().chain([name.to_owned()]);
                    behind.chain(rest.iter().cloned()).collect()
                }
            };
            let found = self.resolve_import(at, &path, import.name.is_none(), visited);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// An import of a glob resolves only if the name is really there.
    fn resolve_import(
        &self,
        at: usize,
        path: &[String],
        is_glob: bool,
        visited: &mut BTreeSet<(usize, String)>,
    ) -> Option<usize> {
        if !is_glob {
            return self.resolve_within(at, path, visited);
        }
        let (name, before) = path.split_last()?;
        let module = self.resolve_within(at, before, visited)?;
        self.resolve_name(module, name, &[], visited)
    }
}

fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn defines_type(item: &Item) -> bool {
    matches!(
        item,
        Item::Enum(_)
            | Item::Struct(_)
            | Item::Trait(_)
            | Item::TraitAlias(_)
            | Item::Type(_)
            | Item::Union(_)
    )
}

fn item_attributes(item: &Item) -> Option<&[Attribute]> {
    Some(match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return None,
    })
}
