//! The arguments on their way into the body, which has to drop them where and when the plain function does.
//!
//! The body is a closure or a block that moves what it mentions, and drops that in the order of the mentions when its own
//! variables are gone. So each argument is mentioned, the last one first. Only a parameter that is taken apart becomes a
//! variable of the body; then all do, because their order is that of the variables, and what is left of each drops among them.
//! Where the attribute needs such a part, the function itself takes it apart, and what is left drops after the body.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Attribute, FnArg, Ident, Pat, PatIdent, PatType, Signature};

use super::{at, variable};
use crate::parameters::bound_in;
use crate::parse::TracedFn;
use crate::plan::ExpansionPlan;

/// Inputs of the traced function, and the statements that take them.
pub(super) struct TakenInputs {
    /// The function's own, with a name for each parameter.
    pub(super) signature: Signature,
    /// The statements at the beginning of the body, if there are any.
    pub(super) taken: Option<TokenStream>,
}

/// Form of a parameter.
enum Form<'a> {
    /// By a name.
    Named(&'a PatIdent),
    /// As `_`: it is dropped at the end all the same.
    Unnamed,
    /// By a pattern that takes it apart.
    Apart,
}

fn form(pattern: &Pat) -> Form<'_> {
    match pattern {
        Pat::Ident(named) if named.by_ref.is_none() && named.subpat.is_none() => Form::Named(named),
        Pat::Wild(_) => Form::Unnamed,
        Pat::Paren(inner) => form(&inner.pat),
        _ => Form::Apart,
    }
}

/// Takes the arguments of a function.
pub(super) fn taken(plan: &ExpansionPlan<'_>, function: &TracedFn, door: &TokenStream) -> TakenInputs {
    let mut signature: Signature = copy(&function.signature);
    let uses = Uses {
        plan,
        body: &function.body,
    };
    let typed = function.signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    // Parts that the attribute names have to be there before the body is.
    let mut apart = typed
        .filter(|typed| matches!(form(&typed.pat), Form::Apart))
        .peekable();
    let takes_apart = apart.peek().is_some()
        && !apart
            .flat_map(|typed| bound_in(&typed.pat))
            .any(|part| uses.in_attribute(part));
    let mut statements = Vec::new();
    for (place, (input, taken)) in function
        .signature
        .inputs
        .iter()
        .zip(&mut signature.inputs)
        .enumerate()
    {
        match (input, taken) {
            (FnArg::Receiver(receiver), _) => {
                let this = &receiver.self_token;
                statements.push(quote_spanned!(Span::mixed_site()=> #door::whole(&#this);));
            }
            (FnArg::Typed(typed), FnArg::Typed(taken)) => {
                let given = variable(&format!("argument_{place}"));
                match form(&typed.pat) {
                    Form::Named(named) if takes_apart => {
                        let name = &named.ident;
                        *taken.pat = syn::parse_quote!(#name);
                        statements.push(as_variable(typed, name));
                    }
                    Form::Named(named) => statements.push(mention(typed, &named.ident, &uses, door)),
                    Form::Apart if !takes_apart => {
                        let parts = bound_in(&typed.pat);
                        statements.extend(parts.into_iter().map(|part| mention(typed, part, &uses, door)));
                    }
                    Form::Unnamed | Form::Apart => {
                        *taken.pat = syn::parse_quote!(#given);
                        statements.push(if takes_apart {
                            as_variable(typed, &given)
                        } else {
                            mention(typed, &given, &uses, door)
                        });
                    }
                }
            }
            (FnArg::Typed(_), FnArg::Receiver(_)) => {}
        }
    }
    if !takes_apart {
        statements.reverse();
    }
    TakenInputs {
        signature,
        taken: (!statements.is_empty()).then(|| quote!(#(#statements)*)),
    }
}

/// Makes the body take the whole argument, and leaves it where it is.
fn mention(typed: &PatType, name: &Ident, uses: &Uses<'_>, door: &TokenStream) -> TokenStream {
    let conditions = conditions(&typed.attrs);
    let mention = quote_spanned! {Span::mixed_site()=>
        #(#conditions)*
        #[allow(clippy::used_underscore_binding, reason = "it is taken, not used")]
        #door::whole(&#name);
    };
    if name.unraw().to_string().starts_with('_') || uses.in_attribute(name) || uses.in_body(name) {
        return mention;
    }
    // The compiler says of this variable what it would have said of the parameter.
    let attributes = &typed.attrs;
    quote_spanned! {Span::mixed_site()=>
        #mention
        #(#attributes)*
        #[allow(clippy::shadow_unrelated, reason = "it stands for the argument")]
        let #name = ();
    }
}

/// Makes the argument a variable of the body, as it would be of the plain function.
fn as_variable(typed: &PatType, name: &Ident) -> TokenStream {
    let (attributes, pattern) = (&typed.attrs, &typed.pat);
    let conditions = conditions(attributes);
    match form(pattern) {
        Form::Named(_) => quote_spanned! {at(name.span())=>
            #(#attributes)*
            #[allow(clippy::shadow_same, reason = "the same argument")]
            let #pattern = #name;
        },
        Form::Unnamed => quote_spanned!(Span::mixed_site()=> #(#conditions)* let #name = #name;),
        Form::Apart => quote_spanned! {Span::mixed_site()=>
            #(#conditions)*
            let #name = #name;
            #(#attributes)*
            let #pattern = #name;
        },
    }
}

/// Uses of arguments, in the attribute and in the body.
struct Uses<'a> {
    plan: &'a ExpansionPlan<'a>,
    body: &'a TokenStream,
}

impl Uses<'_> {
    fn in_attribute(&self, name: &Ident) -> bool {
        let plan = self.plan;
        let guardrails = plan.guardrails.iter().filter_map(|guardrail| guardrail.value);
        let values = [plan.name, plan.model, plan.provider]
            .into_iter()
            .flatten()
            .chain(guardrails);
        plan.kept.iter().flatten().any(|kept| kept.name == name)
            || values
                .into_iter()
                .any(|value| mentions(value.to_token_stream(), name))
    }

    fn in_body(&self, name: &Ident) -> bool {
        mentions(self.body.clone(), name)
    }
}

fn conditions(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> + Clone {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
}

/// Returns whether tokens have a name in them, or a text that may: `println!("{name}")`.
fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Literal(literal) => literal.to_string().contains(&name.unraw().to_string()),
        TokenTree::Punct(_) => false,
    })
}

/// A copy, without the feature of `syn` that would let every user pay for `Clone`.
fn copy(signature: &Signature) -> Signature {
    syn::parse_quote!(#signature)
}
