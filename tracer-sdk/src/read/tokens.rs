//! Sums of tokens over many model calls, of which each tells some.

use crate::format::Usage;

/// The tokens of model calls together.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tokens {
    prompt: Sum,
    completion: Sum,
    total: Sum,
}

/// A sum, and how many calls tell a part of it: where none does, there is no sum.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sum {
    tokens: u64,
    told: u64,
}

impl Sum {
    fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            told: self.told + other.told,
        }
    }

    fn without(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            told: self.told.saturating_sub(other.told),
        }
    }

    fn get(self) -> Option<u64> {
        (self.told > 0).then_some(self.tokens)
    }
}

impl From<Option<u64>> for Sum {
    fn from(tokens: Option<u64>) -> Self {
        Self {
            tokens: tokens.unwrap_or(0),
            told: u64::from(tokens.is_some()),
        }
    }
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            prompt: usage.prompt_tokens.into(),
            completion: usage.completion_tokens.into(),
            total: usage.total_tokens.into(),
        }
    }
}

impl Tokens {
    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            prompt: self.prompt.and(other.prompt),
            completion: self.completion.and(other.completion),
            total: self.total.and(other.total),
        }
    }

    /// These without some that are in them.
    pub(super) fn without(self, other: Self) -> Self {
        Self {
            prompt: self.prompt.without(other.prompt),
            completion: self.completion.without(other.completion),
            total: self.total.without(other.total),
        }
    }

    /// The sums; `None` where no call tells.
    pub(super) fn usage(self) -> Usage {
        Usage {
            prompt_tokens: self.prompt.get(),
            completion_tokens: self.completion.get(),
            total_tokens: self.total.get(),
        }
    }
}
