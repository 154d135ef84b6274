//! Causes of an error, for those who word them.

use std::error::Error;

/// The causes of an error, the outermost first.
pub fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| (*error).source())
}

/// The innermost cause in words. What wraps it often repeats an address, which may hold a secret.
pub fn innermost(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).last().map(ToString::to_string)
}
