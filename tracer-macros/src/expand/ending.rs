//! The end of a scope: whether its call is made at all, and what became of it.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Ident;

use super::{Expansion, FunctionPlace, at};
use crate::options::TraceKind;

impl Expansion<'_> {
    /// Returns a refused call's refusal, where the function's type can carry it.
    pub(super) fn refuse(&self) -> Option<TokenStream> {
        let Self {
            plan, door, scope, ..
        } = self;
        if !matches!(plan.kind, TraceKind::Tool | TraceKind::Llm) {
            return None;
        }
        let declared = plan.returned.in_the_end.as_ref()?;
        Some(quote_spanned! {Span::mixed_site()=>
            if let ::core::option::Option::Some(exceeded) = #door::Scope::refused(&#scope) {
                use #door::{AnyReturn as _, ConvertibleReturn as _};
                if let ::core::option::Option::Some(refusal) =
                    (&&#door::Returned::<#declared>::new()).tracer_refusal(exceeded)
                {
                    return refusal;
                }
            }
        })
    }

    /// `let result = …; … result`: tells the scope what the function gave, its error, and its value if it is kept.
    pub(super) fn observed(&self, value_of_body: &TokenStream) -> TokenStream {
        if self.plan.returned.never {
            return value_of_body.clone();
        }
        let Self {
            plan,
            door,
            scope,
            result,
            ..
        } = self;
        let FunctionPlace { path, function, line } = self.place();
        let place = format!("{function} ({path}:{line})");
        let keep = plan.result.map(|span| {
            let value = Ident::new("value", at(span));
            let kept = quote_spanned!(at(span)=> #door::Scope::result(&#scope, #value));
            quote_spanned! {Span::mixed_site()=>
                use #door::{AnyValue as _, ResultValue as _};
                if let ::core::option::Option::Some(#value) = (&&#door::OkValue(&#result)).tracer_ok_value() {
                    #kept;
                }
            }
        });
        quote_spanned! {Span::mixed_site()=>
            let #result = #value_of_body;
            if #door::Scope::is_recording(&#scope) {
                use #door::{
                    AnyOutcome as _, DebugOutcome as _, DisplayOutcome as _, ErrorOutcome as _, ResultOutcome as _,
                    WrappedErrorOutcome as _,
                };
                if let ::core::option::Option::Some(error) = (&&&&&&#door::Outcome(&#result)).tracer_error(#place) {
                    #door::Scope::fail(&#scope, error);
                }
                #keep
            }
            #result
        }
    }
}
