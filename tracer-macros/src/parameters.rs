//! The names that a function's parameters bind, through any pattern.

use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, Ident, Pat, Signature, Token};

/// A name bound by a parameter.
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a Ident,
    /// The parameter's `#[cfg]`s, under which the name is there.
    pub(crate) conditions: Vec<&'a Attribute>,
}

/// The names bound by all parameters but `self`, in order.
pub(crate) fn parameters(signature: &Signature) -> Vec<Parameter<'_>> {
    let mut found = Vec::new();
    for input in &signature.inputs {
        if let FnArg::Typed(typed) = input {
            let names = bound_in(&typed.pat);
            let conditions = || {
                typed
                    .attrs
                    .iter()
                    .filter(|attribute| attribute.path().is_ident("cfg"))
                    .collect()
            };
            found.extend(names.into_iter().map(|name| Parameter {
                name,
                conditions: conditions(),
            }));
        }
    }
    found
}

/// The names bound by a pattern, in order.
pub(crate) fn bound_in(pattern: &Pat) -> Vec<&Ident> {
    let mut names = Vec::new();
    bound_names(pattern, &mut names);
    names
}

fn bound_names<'a>(pattern: &'a Pat, names: &mut Vec<&'a Ident>) {
    match pattern {
        Pat::Ident(binding) => {
            names.push(&binding.ident);
            if let Some((_, inner)) = &binding.subpat {
                bound_names(inner, names);
            }
        }
        Pat::Paren(inner) => bound_names(&inner.pat, names),
        Pat::Reference(inner) => bound_names(&inner.pat, names),
        Pat::Type(inner) => bound_names(&inner.pat, names),
        Pat::Slice(elements) => bound_in_each(&elements.elems, names),
        Pat::Tuple(elements) => bound_in_each(&elements.elems, names),
        Pat::TupleStruct(elements) => bound_in_each(&elements.elems, names),
        Pat::Struct(fields) => fields
            .fields
            .iter()
            .for_each(|field| bound_names(&field.pat, names)),
        // Every case of an "or" binds the same names.
        Pat::Or(cases) => cases
            .cases
            .iter()
            .take(1)
            .for_each(|case| bound_names(case, names)),
        _ => {}
    }
}

fn bound_in_each<'a>(patterns: &'a Punctuated<Pat, Token![,]>, names: &mut Vec<&'a Ident>) {
    patterns.iter().for_each(|pattern| bound_names(pattern, names));
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn names_are_found_in_any_pattern_and_self_is_not_one() {
        let signature = syn::parse_str(
            "fn f(&mut self, mut a: A, (b, _): B, C { c, d: [e, ..], .. }: C, &f: &F, G(g @ H(h)): G, _: I)",
        );
        let signature = signature.unwrap();
        let names: Vec<String> = parameters(&signature)
            .iter()
            .map(|parameter| parameter.name.to_string())
            .collect();
        assert_eq!(names, ["a", "b", "c", "e", "f", "g", "h"]);
    }
}
