//! The end of a scope: whether its call is made at all, and what became of it.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;

use super::{Expansion, FunctionPlace, at, variable};
use crate::options::TraceKind;

impl Expansion<'_> {
    /// Expression that a refused call returns instead, made of the refusal: `None` where the type cannot carry it.
    fn refusal(&self, exceeded: &TokenStream) -> Option<TokenStream> {
        let Self { plan, door, .. } = self;
        if !matches!(plan.kind, TraceKind::Tool | TraceKind::Llm) {
            return None;
        }
        let declared = plan.returned.in_the_end.as_ref()?;
        Some(quote_spanned! {Span::mixed_site()=>
            {
                use #door::{AnyReturn as _, ConvertibleReturn as _};
                (&&#door::Returned::<#declared>::new()).tracer_refusal(#exceeded)
            }
        })
    }

    /// Returns a refused call's refusal.
    pub(super) fn refuse(&self) -> Option<TokenStream> {
        let Self { door, scope, .. } = self;
        let (exceeded, refusal) = (variable("exceeded"), variable("refusal"));
        let made = self.refusal(&quote_spanned!(Span::mixed_site()=> #exceeded))?;
        Some(quote_spanned! {Span::mixed_site()=>
            if let ::core::option::Option::Some(#exceeded) = #door::Scope::refused(&#scope) {
                if let ::core::option::Option::Some(#refusal) = #made {
                    return #refusal;
                }
            }
        })
    }

    /// `|exceeded| …`: the same, for a future.
    pub(super) fn refuser(&self) -> TokenStream {
        let exceeded = variable("exceeded");
        self.refusal(&quote_spanned!(Span::mixed_site()=> #exceeded))
            .map_or_else(
                || quote_spanned!(Span::mixed_site()=> |_| ::core::option::Option::None),
                |refusal| quote_spanned!(Span::mixed_site()=> |#exceeded| #refusal),
            )
    }

    /// `|scope, result| …`: tells the scope what the function gave, its error, and its value if it is kept.
    pub(super) fn observer(&self) -> TokenStream {
        let Self {
            plan, door, scope, ..
        } = self;
        if plan.returned.never {
            return quote_spanned!(Span::mixed_site()=> |_, _| ());
        }
        let (result, error) = (variable("result"), variable("error"));
        let FunctionPlace { path, function, line } = self.place();
        let place = format!("{function} ({path}:{line})");
        let used = plan.usage.map(|usage| {
            let value = variable("value");
            let used = quote_spanned!(at(usage.span())=> #door::Scope::usage_of(#scope, #value, #usage));
            quote_spanned! {Span::mixed_site()=>
                {
                    use #door::{AnyValue as _, ResultValue as _};
                    if let ::core::option::Option::Some(#value) = (&&#door::OkValue(#result)).tracer_ok_value() {
                        #used;
                    }
                }
            }
        });
        let keep = plan.result.map(|span| {
            let mut value = variable("value");
            value.set_span(at(span));
            let kept = quote_spanned!(at(span)=> #door::Scope::result(#scope, #value));
            quote_spanned! {Span::mixed_site()=>
                use #door::{AnyValue as _, ResultValue as _};
                if let ::core::option::Option::Some(#value) = (&&#door::OkValue(#result)).tracer_ok_value() {
                    #kept;
                }
            }
        });
        quote_spanned! {Span::mixed_site()=>
            |#scope, #result| {
                use #door::{
                    AnyOutcome as _, DebugOutcome as _, DisplayOutcome as _, ErrorOutcome as _, ResultOutcome as _,
                    WrappedErrorOutcome as _,
                };
                if let ::core::option::Option::Some(#error) = (&&&&&&#door::Outcome(#result)).tracer_error(#place) {
                    #door::Scope::fail(#scope, #error);
                }
                #used
                #keep
            }
        }
    }
}
