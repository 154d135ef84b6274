//! The type of a function's value by its signature, future or not.
//!
//! The signature alone decides, never the body, so that `async_trait` and functions that build their future in any way are
//! treated alike.

use syn::punctuated::Punctuated;
use syn::{GenericArgument, PathArguments, PathSegment, ReturnType, Signature, Token, Type, TypeParamBound};

/// Future that is awaited, if any, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// A plain function.
    Never,
    /// `async fn`
    Inside,
    /// `-> impl Future<Output = …>`
    OnReturned,
    /// `-> Pin<Box<dyn Future<Output = …>>>`, by this or a well-known other name.
    OnBoxed,
}

/// The types of a function's value. `None` means no name in its body: all of it is `impl Trait`, or it is `!`.
pub(crate) struct ReturnedTypes {
    pub(crate) waits: Waits,
    /// The function is declared never to return: `-> !`.
    pub(crate) never: bool,
    /// Type of the body's value.
    pub(crate) of_body: Option<Type>,
    /// Type that the caller has in the end: the output of a returned future.
    pub(crate) in_the_end: Option<Type>,
}

/// Reads a signature.
pub(crate) fn returned(signature: &Signature) -> ReturnedTypes {
    let of_body = nameable(match &signature.output {
        ReturnType::Default => Some(syn::parse_quote!(())),
        ReturnType::Type(_, declared) => Some(copy(declared)),
    });
    let (never, future) = match &signature.output {
        ReturnType::Default => (false, None),
        ReturnType::Type(_, declared) => (matches!(**declared, Type::Never(_)), future(declared)),
    };
    match future {
        Some(Future { waits, output }) if signature.asyncness.is_none() => ReturnedTypes {
            waits,
            never,
            of_body,
            in_the_end: nameable(output.map(copy)),
        },
        _ => {
            let waits = if signature.asyncness.is_some() {
                Waits::Inside
            } else {
                Waits::Never
            };
            ReturnedTypes {
                waits,
                never,
                in_the_end: of_body.as_ref().map(copy),
                of_body,
            }
        }
    }
}

/// A future that is returned: how it is waited for, and what it gives, if that is said.
struct Future<'a> {
    waits: Waits,
    output: Option<&'a Type>,
}

fn future(declared: &Type) -> Option<Future<'_>> {
    match declared {
        Type::Group(group) => future(&group.elem),
        Type::Paren(paren) => future(&paren.elem),
        Type::ImplTrait(implemented) => future_among(&implemented.bounds, Waits::OnReturned),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            if last.ident == "BoxFuture" || last.ident == "LocalBoxFuture" {
                return Some(Future {
                    waits: Waits::OnBoxed,
                    output: Some(last_type(last)?),
                });
            }
            let Some(Type::Path(pinned)) = last_type(last).filter(|_| last.ident == "Pin") else {
                return None;
            };
            let boxed = pinned
                .path
                .segments
                .last()
                .filter(|segment| segment.ident == "Box")?;
            let Type::TraitObject(object) = last_type(boxed)? else {
                return None;
            };
            future_among(&object.bounds, Waits::OnBoxed)
        }
        _ => None,
    }
}

/// The bound that is `Future`.
fn future_among(bounds: &Punctuated<TypeParamBound, Token![+]>, waits: Waits) -> Option<Future<'_>> {
    bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else {
            return None;
        };
        let last = bound
            .path
            .segments
            .last()
            .filter(|segment| segment.ident == "Future")?;
        let output = match &last.arguments {
            PathArguments::AngleBracketed(arguments) => {
                arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::AssocType(assigned) if assigned.ident == "Output" => Some(&assigned.ty),
                    _ => None,
                })
            }
            _ => None,
        };
        Some(Future { waits, output })
    })
}

fn last_type(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().rev().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}

/// The type as it can be written in a function's body, where `impl Trait` cannot.
fn nameable(declared: Option<Type>) -> Option<Type> {
    let mut declared = declared?;
    erase_impl_trait(&mut declared);
    (!matches!(declared, Type::Infer(_) | Type::Never(_))).then_some(declared)
}

/// Puts `_` in the place of each `impl Trait`.
fn erase_impl_trait(declared: &mut Type) {
    match declared {
        Type::ImplTrait(_) => *declared = syn::parse_quote!(_),
        Type::Array(array) => erase_impl_trait(&mut array.elem),
        Type::Group(group) => erase_impl_trait(&mut group.elem),
        Type::Paren(paren) => erase_impl_trait(&mut paren.elem),
        Type::Ptr(pointer) => erase_impl_trait(&mut pointer.elem),
        Type::Reference(reference) => erase_impl_trait(&mut reference.elem),
        Type::Slice(slice) => erase_impl_trait(&mut slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(erase_impl_trait),
        Type::Path(path) => path.path.segments.iter_mut().for_each(|segment| {
            if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
                arguments.args.iter_mut().for_each(erase_in_argument);
            }
        }),
        Type::TraitObject(object) => object.bounds.iter_mut().for_each(|bound| {
            if let TypeParamBound::Trait(bound) = bound {
                for segment in &mut bound.path.segments {
                    if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
                        arguments.args.iter_mut().for_each(erase_in_argument);
                    }
                }
            }
        }),
        _ => {}
    }
}

fn erase_in_argument(argument: &mut GenericArgument) {
    match argument {
        GenericArgument::Type(inner) => erase_impl_trait(inner),
        GenericArgument::AssocType(assigned) => erase_impl_trait(&mut assigned.ty),
        _ => {}
    }
}

/// A copy, without the feature of `syn` that would let every user pay for `Clone`.
fn copy(declared: &Type) -> Type {
    syn::parse_quote!(#declared)
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;

    use super::{Waits, returned};

    /// Whether and where there is a future, the type of the body, and the type of what comes of it.
    fn look(signature: &str) -> (Waits, String, String) {
        let returned = returned(&syn::parse_str(signature).unwrap());
        let text = |declared: Option<syn::Type>| match declared {
            Some(declared) => declared.to_token_stream().to_string().replace(' ', ""),
            None => String::new(),
        };
        (returned.waits, text(returned.of_body), text(returned.in_the_end))
    }

    fn looks(waits: Waits, of_body: &str, in_the_end: &str) -> (Waits, String, String) {
        (waits, of_body.to_owned(), in_the_end.to_owned())
    }

    #[test]
    fn a_plain_value_is_what_it_is() {
        assert_eq!(look("fn f()"), looks(Waits::Never, "()", "()"));
        assert_eq!(
            look("fn f() -> io::Result<u8>"),
            looks(Waits::Never, "io::Result<u8>", "io::Result<u8>")
        );
        assert_eq!(look("async fn f() -> u8"), looks(Waits::Inside, "u8", "u8"));
        assert_eq!(
            look("fn f() -> Pin<Box<u8>>"),
            looks(Waits::Never, "Pin<Box<u8>>", "Pin<Box<u8>>")
        );
        assert_eq!(
            look("fn f() -> Box<dyn Fn()>"),
            looks(Waits::Never, "Box<dynFn()>", "Box<dynFn()>")
        );
    }

    #[test]
    fn a_future_is_known_by_its_signature_and_gives_its_output() {
        assert_eq!(
            look("fn f() -> impl Future<Output = u8> + Send"),
            looks(Waits::OnReturned, "", "u8")
        );
        assert_eq!(
            look("fn f() -> impl Send + core::future::Future"),
            looks(Waits::OnReturned, "", "")
        );
        let boxed = "Pin<Box<dynFuture<Output=u8>+Send+'a>>";
        assert_eq!(
            look("fn f<'a>() -> Pin<Box<dyn Future<Output = u8> + Send + 'a>>"),
            looks(Waits::OnBoxed, boxed, "u8")
        );
        assert_eq!(
            look("fn f() -> BoxFuture<'_, u8>"),
            looks(Waits::OnBoxed, "BoxFuture<'_,u8>", "u8")
        );
        // An async function gives the future: it is not awaited twice.
        assert_eq!(
            look("async fn f() -> impl Future<Output = u8>"),
            looks(Waits::Inside, "", "")
        );
    }

    #[test]
    fn what_cannot_be_written_in_a_body_is_left_to_the_compiler() {
        assert_eq!(
            look("fn f() -> impl Iterator<Item = u8>"),
            looks(Waits::Never, "", "")
        );
        assert_eq!(
            look("fn f() -> Option<&impl Sized>"),
            looks(Waits::Never, "Option<&_>", "Option<&_>")
        );
        assert_eq!(
            look("fn f() -> [(impl Sized, u8); 2]"),
            looks(Waits::Never, "[(_,u8);2]", "[(_,u8);2]")
        );
        assert_eq!(look("fn f() -> !"), looks(Waits::Never, "", ""));
    }
}
