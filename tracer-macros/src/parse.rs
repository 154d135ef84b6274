//! The annotated function, split into the parts that the attribute reads. The body stays tokens.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::{Abi, Attribute, Result, Signature, Token, Visibility, braced};

use crate::messages;

/// A function with a body.
pub(crate) struct TracedFn {
    /// Its other attributes, documentation included.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// The `#![…]` at the start of the body.
    pub(crate) inner_attributes: Vec<Attribute>,
    /// Tokens between the braces.
    pub(crate) body: TokenStream,
}

impl Parse for TracedFn {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        if !is_function(input) {
            return Err(input.error(messages::NOT_A_FUNCTION));
        }
        let signature: Signature = input.parse()?;
        if input.peek(Token![;]) {
            return Err(syn::Error::new_spanned(&signature, messages::NO_BODY));
        }
        let content;
        braced!(content in input);
        let inner_attributes = content.call(Attribute::parse_inner)?;
        Ok(Self {
            attributes,
            visibility,
            signature,
            inner_attributes,
            body: content.parse()?,
        })
    }
}

/// Returns whether a function follows, and not a `const` item, an `unsafe impl` or an `extern` block.
fn is_function(input: ParseStream<'_>) -> bool {
    fn modifiers(input: ParseStream<'_>) -> Result<()> {
        input.parse::<Option<Token![const]>>()?;
        input.parse::<Option<Token![async]>>()?;
        input.parse::<Option<Token![unsafe]>>()?;
        input.parse::<Option<Abi>>().map(drop)
    }
    let ahead = input.fork();
    modifiers(&ahead).is_ok() && ahead.peek(Token![fn])
}
