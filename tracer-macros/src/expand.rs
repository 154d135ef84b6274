//! Writes the traced function.
//!
//! Rules of the expansion: every path is absolute and every call names its function in full, so that neither shadowed names nor
//! traits in scope change it; its own variables have the hygiene of a macro, so that they cannot meet the user's; and the body
//! keeps its own braces and tokens.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Expr, Ident, LitStr};

use crate::options::Kind;
use crate::parse::TracedFn;
use crate::plan::Plan;
use crate::returned::{Returned, Waits};
use crate::source_path::source_path;

/// The function with its body traced.
pub(crate) fn expand(plan: &Plan<'_>, function: &TracedFn) -> impl ToTokens {
    let expansion = Expansion::new(plan, function);
    let traced = match plan.returned.waits {
        Waits::Never => expansion.sync_body(),
        Waits::Inside => expansion.async_body(),
        Waits::OnReturned | Waits::OnBoxed => expansion.future_body(),
    };
    let TracedFn {
        attributes,
        visibility,
        signature,
        inner_attributes,
        ..
    } = function;
    quote! {
        #(#attributes)*
        #visibility #signature {
            #(#inner_attributes)*
            #traced
        }
    }
}

/// What all forms of the expansion share.
struct Expansion<'a> {
    plan: &'a Plan<'a>,
    function: &'a TracedFn,
    /// `::tracer_sdk::__private`
    door: TokenStream,
    /// The variable that holds the open span.
    scope: Ident,
    /// The variable that holds what the body gave.
    result: Ident,
}

impl<'a> Expansion<'a> {
    fn new(plan: &'a Plan<'a>, function: &'a TracedFn) -> Self {
        let door = plan.sdk.map_or_else(
            || quote!(::tracer_sdk::__private),
            |path| quote!(#path::__private),
        );
        let variable = |name| Ident::new(name, Span::mixed_site());
        Self {
            plan,
            function,
            door,
            scope: variable("scope"),
            result: variable("result"),
        }
    }

    // fn f(..) -> R { body }
    //
    // let scope = Scope::tool(site);  Scope::arguments(&scope, ..);
    // let _guard = Scope::enter(&scope);
    // [return the refusal]
    // let result = call_once(move || -> R { body });
    // [tell the scope]
    // result
    fn sync_body(&self) -> TokenStream {
        let Self { door, scope, .. } = self;
        let (open, refuse, observed) = (self.open(), self.refuse(), self.observed(&self.body_as_closure()));
        quote_spanned! {Span::mixed_site()=>
            #open
            let _guard = #door::Scope::enter(&#scope);
            #refuse
            #observed
        }
    }

    // async fn f(..) -> R { body }
    //
    // let scope = ..;
    // Traced::new(Clone::clone(&scope), async move {
    //     [return the refusal]
    //     let result = async move { if false { return never_called::<R>(); } { body } }.await;
    //     [tell the scope]
    //     result
    // }).await
    fn async_body(&self) -> TokenStream {
        let Self {
            door,
            function: TracedFn { body, .. },
            ..
        } = self;
        let Returned { of_body, never, .. } = &self.plan.returned;
        let type_of_block = of_body.as_ref().map(|declared| {
            let (span, door) = (self.type_span(), self.door_at(self.type_span()));
            quote_spanned!(span=> if false { return #door::never_called::<#declared>(); })
        });
        let mut future = quote_spanned!(Span::mixed_site()=> async move { #type_of_block { #body } });
        if *never {
            future = quote_spanned!(Span::mixed_site()=> #door::never_ready(#future));
        }
        let (open, traced) = (self.open(), self.traced(&future));
        quote_spanned!(Span::mixed_site()=> #open #traced.await)
    }

    // fn f(..) -> Pin<Box<dyn Future<Output = R>>> { body }
    //
    // let scope = ..;
    // let future = { let _guard = prepare(&scope); call_once(move || -> .. { body }) };
    // Box::pin(Traced::new(.., async move { .. future.await .. }))
    fn future_body(&self) -> TokenStream {
        let Self { door, scope, .. } = self;
        let future = Ident::new("future", Span::mixed_site());
        let (open, body, traced) = (self.open(), self.body_as_closure(), self.traced(&future));
        let returned = match self.plan.returned.waits {
            Waits::OnBoxed => quote_spanned!(Span::mixed_site()=> #door::Box::pin(#traced)),
            _ => traced,
        };
        quote_spanned! {Span::mixed_site()=>
            #open
            let #future = {
                let _guard = #door::prepare(&#scope);
                #body
            };
            #returned
        }
    }

    /// `Traced::new(scope, async move { … future.await … })`
    fn traced(&self, future: &impl ToTokens) -> TokenStream {
        let door = &self.door;
        let awaited = if self.plan.cancel_on_exceed {
            let (span, door_at_type) = (self.type_span(), self.door_at(self.type_span()));
            let declared = self
                .plan
                .returned
                .in_the_end
                .as_ref()
                .map_or_else(|| quote!(_), ToTokens::to_token_stream);
            let as_returned = quote_spanned!(span=> #door_at_type::as_returned::<#declared>());
            let clone = self.clone_of_scope();
            quote_spanned!(Span::mixed_site()=> #door::CancelOnExceed::new(#clone, #as_returned, #future).await)
        } else {
            quote!(#future.await)
        };
        let (refuse, observed, clone) = (self.refuse(), self.observed(&awaited), self.clone_of_scope());
        quote_spanned! {Span::mixed_site()=>
            #door::Traced::new(#clone, async move {
                #refuse
                #observed
            })
        }
    }

    /// `let scope = …;`, with the arguments if they are kept.
    fn open(&self) -> TokenStream {
        let Self {
            plan, door, scope, ..
        } = self;
        let opened = match plan.kind {
            Kind::Run => {
                let (site, guardrails) = (self.site(), self.guardrails());
                quote!(run(#site, #guardrails))
            }
            Kind::Tool => {
                let site = self.site();
                quote!(tool(#site))
            }
            Kind::Span => {
                let site = self.site();
                quote!(span(#site))
            }
            Kind::Llm => {
                let (model, provider) = (self.text(plan.model), self.provider());
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
        let name = optional(self.text(self.plan.name));
        let Place { path, function, line } = self.place();
        quote!(&#door::Site::new(#name, #path, #function, #line))
    }

    fn place(&self) -> Place {
        let ident = &self.function.signature.ident;
        let line = u32::try_from(ident.span().unwrap().line()).unwrap_or(u32::MAX);
        Place {
            path: source_path(ident.span()),
            function: ident.unraw().to_string(),
            line,
        }
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
                (word, value) => {
                    let method = Ident::new(word, Span::call_site());
                    let value = value.map_or_else(|| quote!(true), ToTokens::to_token_stream);
                    quote!(#door::Guardrails::#method(#guardrails, #value))
                }
            }
        })
    }

    /// `Scope::arguments(&scope, &…);`: an object, or the one argument of a model call.
    fn arguments(&self) -> Option<TokenStream> {
        let Self {
            plan, door, scope, ..
        } = self;
        let kept = plan.kept.as_ref()?;
        if let (Kind::Llm, [only]) = (plan.kind, kept.as_slice()) {
            let (name, conditions) = (only.name, &only.conditions);
            return Some(
                quote_spanned!(at(name.span())=> #(#conditions)* #door::Scope::arguments(&#scope, &#name);),
            );
        }
        let arguments = Ident::new("arguments", Span::mixed_site());
        let each = kept.iter().map(|parameter| {
            let (name, conditions) = (parameter.name, &parameter.conditions);
            let key = LitStr::new(&name.unraw().to_string(), name.span());
            let (span, door) = (at(name.span()), self.door_at(at(name.span())));
            let with = quote_spanned!(span=> #door::Arguments::with(#arguments, #key, &#name));
            quote_spanned!(span=> #(#conditions)* let #arguments = #with;)
        });
        Some(quote_spanned! {Span::mixed_site()=>
            {
                let #arguments = #door::Arguments::new();
                #(#each)*
                #door::Scope::arguments(&#scope, &#arguments);
            }
        })
    }

    /// Returns a refused call's refusal, where the function's type can carry it.
    fn refuse(&self) -> Option<TokenStream> {
        let Self {
            plan, door, scope, ..
        } = self;
        if !matches!(plan.kind, Kind::Tool | Kind::Llm) {
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
    fn observed(&self, value_of_body: &TokenStream) -> TokenStream {
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
        let Place { path, function, line } = self.place();
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

    /// `call_once(move || -> R { body })`
    fn body_as_closure(&self) -> TokenStream {
        let Self {
            door,
            function: TracedFn { body, .. },
            ..
        } = self;
        let Returned {
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

    /// Where the return type is written, or else the function's name.
    fn type_span(&self) -> Span {
        match &self.function.signature.output {
            syn::ReturnType::Default => at(self.function.signature.ident.span()),
            syn::ReturnType::Type(_, declared) => at(declared.span()),
        }
    }

    /// A name or a model: what is into a `Cow<'static, str>`.
    fn text(&self, value: Option<&Expr>) -> Option<TokenStream> {
        let door = &self.door;
        value.map(|value| quote_spanned!(at(value.span())=> #door::text(#value)))
    }

    fn provider(&self) -> TokenStream {
        optional(
            self.plan.provider.map(
                |value| quote_spanned!(at(value.span())=> ::core::convert::AsRef::<str>::as_ref(&#value)),
            ),
        )
    }
}

fn optional(value: Option<TokenStream>) -> TokenStream {
    let none = quote!(::core::option::Option::None);
    value.map_or(none, |value| quote!(::core::option::Option::Some(#value)))
}

/// The place of a user's token with the hygiene of the expansion, so that what is wrong is told there, and lints know who wrote it.
fn at(span: Span) -> Span {
    span.resolved_at(Span::mixed_site())
}

/// Where the function stands.
struct Place {
    path: String,
    function: String,
    line: u32,
}
