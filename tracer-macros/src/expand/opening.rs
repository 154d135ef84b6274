//! The opening of a scope: what it is, where it stands, what limits it, and what it was given.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Expr, Ident, LitStr};

use super::{Expansion, FunctionPlace, at, variable};
use crate::options::TraceKind;
use crate::parameters::Parameter;

impl Expansion<'_> {
    /// `let scope = …;`, with the arguments if they are kept.
    pub(super) fn open(&self) -> TokenStream {
        let Self {
            plan, door, scope, ..
        } = self;
        let opened = match plan.kind {
            TraceKind::Run => {
                let (site, guardrails) = (self.site(), self.guardrails());
                quote!(run(#site, #guardrails))
            }
            TraceKind::Tool => {
                if let Some(opened) = self.tool_with_arguments() {
                    return quote_spanned!(Span::mixed_site()=> let #scope = #opened;);
                }
                let site = self.site();
                quote!(tool(#site))
            }
            TraceKind::Agent => {
                let site = self.site();
                quote!(agent(#site))
            }
            TraceKind::Span => {
                let site = self.site();
                quote!(span(#site))
            }
            TraceKind::Llm => {
                let (model, provider) = (plan.model.map(text), optional(plan.provider.map(text)));
                quote!(llm(#model, #provider))
            }
        };
        let arguments = self.arguments();
        quote_spanned! {Span::mixed_site()=>
            let #scope = #door::Scope::#opened;
            #arguments
        }
    }

    /// `&Site::new(name, path, function, line)`
    fn site(&self) -> TokenStream {
        let door = &self.door;
        let name = optional(self.name());
        let FunctionPlace { path, function, line } = self.place();
        quote!(&#door::Site::new(#name, #path, #function, #line))
    }

    fn guardrails(&self) -> TokenStream {
        let door = &self.door;
        let none = quote!(#door::Guardrails::new());
        self.plan.guardrails.iter().fold(none, |guardrails, guardrail| {
            match (guardrail.word, guardrail.value) {
                ("max_duration_s", Some(value)) => {
                    let seconds = quote_spanned!(at(value.span())=> #door::seconds(#value));
                    quote!(#door::Guardrails::max_duration(#guardrails, #seconds))
                }
                ("max_cost_usd", Some(value)) => {
                    quote_spanned!(at(value.span())=> #door::max_cost_usd(#guardrails, #value))
                }
                ("stop_on_loop", Some(_)) => {
                    quote!(#door::Guardrails::stop_on_loop(#guardrails, #door::StopOnLoop::Shape))
                }
                (word, value) => {
                    let method = Ident::new(word, Span::call_site());
                    let value = value.map_or_else(|| quote!(true), ToTokens::to_token_stream);
                    quote!(#door::Guardrails::#method(#guardrails, #value))
                }
            }
        })
    }

    /// `{ let list = …; Scope::tool_with(&site, &list) }`: they are known before the tool starts.
    fn tool_with_arguments(&self) -> Option<TokenStream> {
        let (built, list) = self.list_of(self.plan.kept.as_ref()?);
        let (site, span, door) = (self.site(), list.span(), self.door_at(list.span()));
        let opened = quote_spanned!(span=> #door::Scope::tool_with(#site, &#list));
        Some(quote_spanned!(Span::mixed_site()=> { #built #opened }))
    }

    /// `Scope::arguments(&scope, &…);`: an object, or the one argument.
    fn arguments(&self) -> Option<TokenStream> {
        let Self {
            plan, door, scope, ..
        } = self;
        let kept = plan.kept.as_ref()?;
        if let [only] = kept.as_slice() {
            let (name, conditions) = (only.name, &only.conditions);
            return Some(
                quote_spanned!(at(name.span())=> #(#conditions)* #door::Scope::arguments(&#scope, &#name);),
            );
        }
        let (built, list) = self.list_of(kept);
        let (span, door) = (list.span(), self.door_at(list.span()));
        let written = quote_spanned!(span=> #door::Scope::arguments(&#scope, &#list););
        Some(quote_spanned!(Span::mixed_site()=> { #built #written }))
    }

    /// `let list = Arguments::new(); let list = Arguments::with(list, "name", &name); …`, and the list.
    fn list_of(&self, kept: &[Parameter<'_>]) -> (TokenStream, Ident) {
        let door = &self.door;
        // Each mention of the list has the place of its last argument: the compiler says of one place once what is wrong.
        let mut list = variable("arguments");
        let first = quote_spanned!(Span::mixed_site()=> let #list = #door::Arguments::new(););
        let each: Vec<TokenStream> = kept
            .iter()
            .map(|parameter| {
                let (name, conditions) = (parameter.name, &parameter.conditions);
                let key = LitStr::new(&name.unraw().to_string(), name.span());
                let (span, door) = (at(name.span()), self.door_at(at(name.span())));
                let earlier = list.clone();
                list.set_span(span);
                quote_spanned!(span=> #(#conditions)* let #list = #door::Arguments::with(#earlier, #key, &#name);)
            })
            .collect();
        (quote_spanned!(Span::mixed_site()=> #first #(#each)*), list)
    }

    /// The name: a literal as it is, anything else as its text.
    fn name(&self) -> Option<TokenStream> {
        let door = &self.door;
        self.plan.name.map(|name| {
            if let Expr::Lit(_) = name {
                return quote_spanned!(at(name.span())=> #door::Cow::Borrowed(#name));
            }
            let text = text(name);
            quote_spanned!(at(name.span())=> #door::Cow::Owned(::core::convert::From::from(#text)))
        })
    }
}

/// `AsRef::<str>::as_ref(&EXPR)`
fn text(value: &Expr) -> TokenStream {
    quote_spanned!(at(value.span())=> ::core::convert::AsRef::<str>::as_ref(&#value))
}

fn optional(value: Option<TokenStream>) -> TokenStream {
    let none = quote!(::core::option::Option::None);
    value.map_or(none, |value| quote!(::core::option::Option::Some(#value)))
}
