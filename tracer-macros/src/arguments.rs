//! The attribute's own tokens, read without judging them: a kind, then options.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, LitStr, Path, Result, Token, parenthesized, token};

use crate::messages;
use crate::options::TraceKind;

/// Content of the parentheses of the attribute.
pub(crate) struct TraceArguments {
    pub(crate) kind: TraceKind,
    /// Span of the kind, or of the whole attribute.
    pub(crate) kind_span: Span,
    pub(crate) entries: Vec<WrittenOption>,
}

/// One option as written.
pub(crate) struct WrittenOption {
    /// The option's name; `name` for a string literal alone.
    pub(crate) word: String,
    /// Span of the option.
    pub(crate) span: Span,
    pub(crate) value: OptionValue,
}

/// Value after the option's name.
pub(crate) enum OptionValue {
    Nothing,
    /// `= EXPR`
    Expression(Expr),
    /// `= PATH`, after `crate`
    Path(Path),
    /// `(a, b)`
    Names(Vec<Ident>),
}

impl Parse for TraceArguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (kind, kind_span) = leading_kind(input)?;
        let entries = Punctuated::<WrittenOption, Token![,]>::parse_terminated(input)?;
        Ok(Self {
            kind,
            kind_span,
            entries: entries.into_iter().collect(),
        })
    }
}

/// The kind word, with its comma, if the attribute starts with one.
fn leading_kind(input: ParseStream<'_>) -> Result<(TraceKind, Span)> {
    let whole = (TraceKind::Run, Span::call_site());
    let ahead = input.fork();
    let Ok(word) = ahead.call(Ident::parse_any) else {
        return Ok(whole);
    };
    let Some(kind) = TraceKind::of(&word.to_string()) else {
        return Ok(whole);
    };
    input.call(Ident::parse_any)?;
    if !input.is_empty() {
        let next = input.span();
        input
            .parse::<Token![,]>()
            .map_err(|_| syn::Error::new(next, messages::comma_after_kind(&word.to_string())))?;
    }
    Ok((kind, word.span()))
}

impl Parse for WrittenOption {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let span = input.span();
        if input.peek(LitStr) {
            let word = "name".to_owned();
            return Ok(Self {
                word,
                span,
                value: OptionValue::Expression(input.parse()?),
            });
        }
        let word = input
            .call(Ident::parse_any)
            .map_err(|_| syn::Error::new(span, messages::NOT_AN_OPTION))?
            .to_string();
        let value = if input.peek(token::Paren) {
            let content;
            parenthesized!(content in input);
            let names = Punctuated::<Ident, Token![,]>::parse_terminated_with(&content, Ident::parse_any)?;
            OptionValue::Names(names.into_iter().collect())
        } else if input.parse::<Option<Token![=]>>()?.is_none() || input.is_empty() || input.peek(Token![,]) {
            // Without a value, or with one that is still to be typed.
            OptionValue::Nothing
        } else if word == "crate" {
            OptionValue::Path(input.call(Path::parse_mod_style)?)
        } else {
            OptionValue::Expression(input.parse()?)
        };
        Ok(Self { word, span, value })
    }
}
