//! Arithmetic: numbers, `+ - * /`, signs and parentheses, by recursive descent.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { ("*" | "/") factor }
//! factor  = ("-" | "+") factor | "(" sum ")" | number
//! ```

use std::iter::Peekable;
use std::str::CharIndices;

/// How deep signs and parentheses may nest, so that no text can exhaust the stack.
const MAX_DEPTH: usize = 100;

/// Why an expression has no value. Positions count characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// Something stands where it makes no sense.
    #[error("unexpected `{found}` at position {position}")]
    Unexpected {
        /// The character.
        found: char,
        /// Where it stands.
        position: usize,
    },
    /// The expression ends too early.
    #[error("the expression ends where a number or `)` is missing")]
    Incomplete,
    /// The digits at this position are not a number.
    #[error("`{text}` is not a number")]
    NotANumber {
        /// The digits.
        text: String,
    },
    /// The result is not a finite number.
    #[error("the result is not a finite number: division by zero, or a result too large")]
    NotFinite,
    /// Too many signs or parentheses within each other.
    #[error("signs and parentheses may nest {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// The value of `expression`.
///
/// ```
/// use tracer_examples::tools::evaluate;
///
/// assert_eq!(evaluate("3 * (12.50 - 0.5) / 2"), Ok(18.0));
/// ```
pub fn evaluate(expression: &str) -> Result<f64, ExpressionError> {
    let mut parser = Parser {
        text: expression,
        rest: expression.char_indices().peekable(),
        depth: 0,
    };
    let value = parser.sum()?;
    if let Some(found) = parser.peek() {
        return Err(parser.unexpected(found));
    }
    if value.is_finite() {
        Ok(value)
    } else {
        Err(ExpressionError::NotFinite)
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<f64, ExpressionError> {
        let mut value = self.product()?;
        while let Some(operator @ ('+' | '-')) = self.peek() {
            self.rest.next();
            let right = self.product()?;
            value = if operator == '+' {
                value + right
            } else {
                value - right
            };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, ExpressionError> {
        let mut value = self.factor()?;
        while let Some(operator @ ('*' | '/')) = self.peek() {
            self.rest.next();
            let right = self.factor()?;
            value = if operator == '*' {
                value * right
            } else {
                value / right
            };
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<f64, ExpressionError> {
        match self.peek().ok_or(ExpressionError::Incomplete)? {
            '-' => self.nested(Self::factor).map(|value| -value),
            '+' => self.nested(Self::factor),
            '(' => self.nested(|parser| {
                let value = parser.sum()?;
                match parser.peek() {
                    Some(')') => {
                        parser.rest.next();
                        Ok(value)
                    }
                    Some(found) => Err(parser.unexpected(found)),
                    None => Err(ExpressionError::Incomplete),
                }
            }),
            '0'..='9' | '.' => self.number(),
            found => Err(self.unexpected(found)),
        }
    }

    /// What follows a sign or an opening parenthesis, one level deeper.
    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<f64, ExpressionError>,
    ) -> Result<f64, ExpressionError> {
        self.rest.next();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ExpressionError::TooDeep);
        }
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<f64, ExpressionError> {
        let mut digits = String::new();
        while let Some((_, digit)) = self
            .rest
            .next_if(|(_, next)| next.is_ascii_digit() || *next == '.')
        {
            digits.push(digit);
        }
        digits
            .parse()
            .map_err(|_| ExpressionError::NotANumber { text: digits })
    }

    /// The next character that is not white space, left where it is.
    fn peek(&mut self) -> Option<char> {
        while self.rest.next_if(|(_, next)| next.is_whitespace()).is_some() {}
        self.rest.peek().map(|(_, next)| *next)
    }

    fn unexpected(&mut self, found: char) -> ExpressionError {
        let bytes_before = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        let position = self
            .text
            .char_indices()
            .take_while(|(at, _)| *at < bytes_before)
            .count()
            + 1;
        ExpressionError::Unexpected { found, position }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn products_bind_tighter_than_sums_and_both_go_from_left_to_right() {
        assert_eq!(evaluate("2 + 3 * 4"), Ok(14.0));
        assert_eq!(evaluate("(2 + 3) * 4"), Ok(20.0));
        assert_eq!(evaluate("10 - 4 - 3"), Ok(3.0));
        assert_eq!(evaluate("24 / 4 / 2"), Ok(3.0));
        assert_eq!(evaluate("-2 * -(1 + .5)"), Ok(3.0));
    }

    #[test]
    fn an_error_says_what_is_wrong_and_where() {
        let unexpected = |found, position| Err(ExpressionError::Unexpected { found, position });
        assert_eq!(evaluate("3 € 4"), unexpected('€', 3));
        assert_eq!(evaluate("€ * 4"), unexpected('€', 1));
        assert_eq!(evaluate("(1 + 2 3"), unexpected('3', 8));
        assert_eq!(evaluate("1 + 2)"), unexpected(')', 6));
        assert_eq!(evaluate("1 +"), Err(ExpressionError::Incomplete));
        assert_eq!(evaluate("(1"), Err(ExpressionError::Incomplete));
        assert_eq!(evaluate(""), Err(ExpressionError::Incomplete));
        assert_eq!(
            evaluate("1.2.3"),
            Err(ExpressionError::NotANumber {
                text: "1.2.3".to_owned()
            })
        );
    }

    #[test]
    fn a_result_that_is_no_number_is_refused() {
        assert_eq!(evaluate("1 / 0"), Err(ExpressionError::NotFinite));
        assert_eq!(evaluate("0 / 0"), Err(ExpressionError::NotFinite));
    }

    #[test]
    fn nesting_is_limited_and_siblings_do_not_count_as_nesting() {
        assert_eq!(evaluate(&"(".repeat(100_000)), Err(ExpressionError::TooDeep));
        assert_eq!(evaluate(&"-".repeat(100_000)), Err(ExpressionError::TooDeep));
        assert_eq!(evaluate(&vec!["(1)"; 500].join(" + ")), Ok(500.0));
    }

    proptest! {
        #[test]
        fn any_text_has_a_finite_value_or_an_error(text in r"[0-9.+*/() \-]{0,40}|\PC{0,20}") {
            if let Ok(value) = evaluate(&text) {
                prop_assert!(value.is_finite());
            }
        }

        #[test]
        fn whole_numbers_compute_as_rust_does(a in -1000_i32..1000, b in -1000_i32..1000, c in -1000_i32..1000) {
            prop_assert_eq!(evaluate(&format!("{a} + {b} * ({c})")), Ok(f64::from(a + b * c)));
        }
    }
}
