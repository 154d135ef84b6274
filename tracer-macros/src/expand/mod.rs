//! Writes the traced function.
//!
//! Rules of the expansion: every path is absolute and every call names its function in full, so that neither shadowed names nor
//! traits in scope change it; its own variables have the hygiene of a macro and a prefix of their own, so that they cannot meet
//! the user's variables, nor constants, which a pattern would compare with; and the body keeps its own braces and tokens.
//! `inputs` takes the arguments into the body, `opening` writes what comes before it, `ending` what comes of it.

mod ending;
mod inputs;
mod opening;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use inputs::TakenInputs;

use crate::parse::TracedFn;
use crate::plan::ExpansionPlan;
use crate::returned::{ReturnedTypes, Waits};
use crate::source_path::source_path;

/// The function with its body traced.
pub(crate) fn expand(plan: &ExpansionPlan<'_>, function: &TracedFn) -> impl ToTokens {
    let expansion = Expansion::new(plan, function);
    let traced = match plan.returned.waits {
        Waits::Never => expansion.sync_body(),
        Waits::Inside => expansion.async_body(),
        Waits::OnReturned | Waits::OnBoxed => expansion.future_body(),
    };
    let TracedFn {
        attributes,
        visibility,
        inner_attributes,
        ..
    } = function;
    let signature = &expansion.inputs.signature;
    quote! {
        #(#attributes)*
        #visibility #signature {
            #(#inner_attributes)*
            #traced
        }
    }
}

/// State that all forms of the expansion share.
struct Expansion<'a> {
    plan: &'a ExpansionPlan<'a>,
    function: &'a TracedFn,
    /// `::tracer_sdk::__private`
    door: TokenStream,
    /// The variable that holds the open span.
    scope: Ident,
    /// The parameters, and what takes them into the body.
    inputs: TakenInputs,
}

impl<'a> Expansion<'a> {
    fn new(plan: &'a ExpansionPlan<'a>, function: &'a TracedFn) -> Self {
        let door = plan.sdk.map_or_else(
            || quote!(::tracer_sdk::__private),
            |path| quote!(#path::__private),
        );
        Self {
            plan,
            function,
            inputs: inputs::taken(plan, function, &door),
            door,
            scope: variable("scope"),
        }
    }

    // fn f(..) -> R { body }
    //
    // let scope = Scope::tool_with(site, &arguments);
    // let _guard = Scope::enter(&scope);
    // [return the refusal]
    // observed(&scope, call_once(move || -> R { body }), |scope, result| [tell the scope])
    fn sync_body(&self) -> TokenStream {
        let Self { door, scope, .. } = self;
        let guard = variable("guard");
        let (open, refuse, body) = (self.open(), self.refuse(), self.body_as_closure());
        let given = if self.plan.returned.never {
            body
        } else {
            let observer = self.observer();
            quote_spanned!(Span::mixed_site()=> #door::observed(&#scope, #body, #observer))
        };
        quote_spanned! {Span::mixed_site()=>
            #open
            let #guard = #door::Scope::enter(&#scope);
            #refuse
            #given
        }
    }

    // async fn f(..) -> R { body }
    //
    // let scope = ..;
    // Traced::new(Clone::clone(&scope), Observed::new(
    //     Clone::clone(&scope),
    //     async move { if false { return never_called::<R>(); } { body } },
    //     |exceeded| [the refusal],
    //     |scope, result| [tell the scope],
    // )).await
    fn async_body(&self) -> TokenStream {
        let Self {
            door,
            function: TracedFn { body, .. },
            inputs: TakenInputs { taken, .. },
            ..
        } = self;
        let ReturnedTypes { of_body, never, .. } = &self.plan.returned;
        let type_of_block = of_body.as_ref().map(|declared| {
            let (span, door) = (self.type_span(), self.door_at(self.type_span()));
            quote_spanned!(span=> if false { return #door::never_called::<#declared>(); })
        });
        let mut future = quote_spanned!(Span::mixed_site()=> async move { #type_of_block #taken { #body } });
        if *never {
            future = quote_spanned!(Span::mixed_site()=> #door::never_ready(#future));
        }
        let (open, traced) = (self.open(), self.traced(&future));
        quote_spanned!(Span::mixed_site()=> #open #traced.await)
    }

    // fn f(..) -> Pin<Box<dyn Future<Output = R>>> { body }
    //
    // let scope = ..;
    // let future = { let _guard = scope.prepare(); call_once(move || -> .. { body }) };
    // Box::pin(Traced::new(.., Observed::new(.., future, ..)))
    fn future_body(&self) -> TokenStream {
        let Self { door, scope, .. } = self;
        let (future, guard) = (variable("future"), variable("guard"));
        let (open, body, traced) = (self.open(), self.body_as_closure(), self.traced(&future));
        let returned = match self.plan.returned.waits {
            Waits::OnBoxed => quote_spanned!(Span::mixed_site()=> #door::Box::pin(#traced)),
            _ => traced,
        };
        quote_spanned! {Span::mixed_site()=>
            #open
            let #future = {
                let #guard = #scope.prepare();
                #body
            };
            #returned
        }
    }

    /// `Traced::new(scope, Observed::new(scope, future, …))`
    fn traced(&self, future: &impl ToTokens) -> TokenStream {
        let door = &self.door;
        let clone = self.clone_of_scope();
        let worked = if self.plan.cancel_on_exceed {
            let (span, door_at_type) = (self.type_span(), self.door_at(self.type_span()));
            let declared = self
                .plan
                .returned
                .in_the_end
                .as_ref()
                .map_or_else(|| quote!(_), ToTokens::to_token_stream);
            let as_returned = quote_spanned!(span=> #door_at_type::as_returned::<#declared>());
            quote_spanned!(Span::mixed_site()=> #door::cancel_on_exceed(#clone, #as_returned, #future))
        } else {
            quote!(#future)
        };
        let (refuser, observer) = (self.refuser(), self.observer());
        quote_spanned! {Span::mixed_site()=>
            #door::Traced::new(#clone, #door::Observed::new(#clone, #worked, #refuser, #observer))
        }
    }

    /// `call_once(move || -> R { body })`
    fn body_as_closure(&self) -> TokenStream {
        let Self {
            door,
            function: TracedFn { body, .. },
            inputs: TakenInputs { taken, .. },
            ..
        } = self;
        let ReturnedTypes {
            waits,
            never,
            of_body,
            in_the_end,
        } = &self.plan.returned;
        let declared = if *never {
            Some(quote!(!))
        } else {
            of_body.as_ref().map(ToTokens::to_token_stream)
        };
        let arrow = declared.map(|declared| quote!(-> #declared));
        // A body in braces of its own within those that arguments are taken in; alone they would be needless.
        let body = taken.as_ref().map_or_else(
            || quote!(#body),
            |taken| quote_spanned!(Span::mixed_site()=> #taken { #body }),
        );
        let closure = quote_spanned!(Span::mixed_site()=> move || #arrow { #body });
        match in_the_end {
            // The type of the future has no name, but what it gives has.
            Some(output) if *waits == Waits::OnReturned => {
                quote_spanned!(Span::mixed_site()=> #door::call_once_for_future::<#output, _, _>(#closure))
            }
            _ => quote_spanned!(Span::mixed_site()=> #door::call_once(#closure)),
        }
    }

    fn clone_of_scope(&self) -> TokenStream {
        let Self { scope, .. } = self;
        quote_spanned!(Span::mixed_site()=> ::core::clone::Clone::clone(&#scope))
    }

    /// The private door, for what can be wrong at a place of the user's.
    fn door_at(&self, span: Span) -> TokenStream {
        let door = self.door.clone().into_iter();
        door.map(|mut token| {
            // A path that the user gave keeps its own tokens.
            if self.plan.sdk.is_none() {
                token.set_span(span);
            }
            token
        })
        .collect()
    }

    /// Span of the return type, or else of the function's name.
    fn type_span(&self) -> Span {
        match &self.function.signature.output {
            syn::ReturnType::Default => at(self.function.signature.ident.span()),
            syn::ReturnType::Type(_, declared) => at(declared.span()),
        }
    }

    fn place(&self) -> FunctionPlace {
        let ident = &self.function.signature.ident;
        // `unwrap` turns the span into the compiler's own, which exists wherever an attribute is expanded.
        let line = u32::try_from(ident.span().unwrap().line()).unwrap_or(u32::MAX);
        FunctionPlace {
            path: source_path(ident.span()),
            function: ident.unraw().to_string(),
            line,
        }
    }
}

/// A variable of the expansion: no name that a program has.
fn variable(name: &str) -> Ident {
    Ident::new(&format!("__tracer_{name}"), Span::mixed_site())
}

/// The place of a user's token with the hygiene of the expansion, so that errors point to it, and lints know who wrote it.
fn at(span: Span) -> Span {
    span.resolved_at(Span::mixed_site())
}

/// Place of the function.
struct FunctionPlace {
    path: String,
    function: String,
    line: u32,
}
