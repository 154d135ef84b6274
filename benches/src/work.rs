//! The work that every contestant records: what an agent does all day.

use std::sync::LazyLock;

use serde::Serialize;

/// One kind of span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanWork {
    /// One tool call with two arguments and a result.
    ToolCall,
    /// A model call with a prompt and an answer of 2 kB each.
    ModelCall,
    /// A structural span within another one: timed, with nothing on it.
    NestedSpan,
}

impl SpanWork {
    pub const ALL: [Self; 3] = [Self::ToolCall, Self::ModelCall, Self::NestedSpan];

    pub fn title(self) -> &'static str {
        match self {
            Self::ToolCall => "tool call, two arguments and a result",
            Self::ModelCall => "model call, 2 kB prompt and 2 kB answer",
            Self::NestedSpan => "nested structural span, started and ended",
        }
    }

    /// How the command line calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::ToolCall => "tool",
            Self::ModelCall => "model",
            Self::NestedSpan => "span",
        }
    }

    /// The name of the spans, by which they are found in the file afterwards.
    pub fn span_name(self) -> &'static str {
        match self {
            Self::ToolCall => TOOL,
            Self::ModelCall => MODEL,
            Self::NestedSpan => STEP,
        }
    }
}

pub const TOOL: &str = "lookup_customer";
pub const MODEL: &str = "gpt-5";
pub const STEP: &str = "plan_step";
pub const PROVIDER: &str = "openai";
pub const PROMPT_TOKENS: u64 = 512;
pub const COMPLETION_TOKENS: u64 = 498;

/// What the tool is given.
#[derive(Debug, Serialize)]
pub struct BenchArguments {
    pub customer_id: u64,
    pub fields: &'static str,
}

/// What the tool gives.
#[derive(Debug, Serialize)]
pub struct ToolAnswer {
    pub plan: &'static str,
    pub since: u16,
    pub open_tickets: u8,
}

pub const ARGUMENTS: BenchArguments = BenchArguments {
    customer_id: 1042,
    fields: "plan,since,open_tickets",
};
pub const ANSWER: ToolAnswer = ToolAnswer {
    plan: "professional",
    since: 2019,
    open_tickets: 3,
};

/// Prose with lines, quotes and figures, as prompts have.
pub static PROMPT: LazyLock<String> = LazyLock::new(|| {
    two_kilobytes(
        "You are the support agent of a shop that sells bicycles.\nAnswer in the customer's language, say \"I do not \
         know\" when the documents below do not tell, and never promise a refund above 250 euros without asking.\n",
    )
});
pub static RESPONSE: LazyLock<String> = LazyLock::new(|| {
    two_kilobytes(
        "Dear Ms. Byron,\nthank you for writing. Your order of 3 May was sent on 5 May and is, as the carrier says, \
         \"out for delivery\"; should it not arrive by Friday we send another one at our cost.\n",
    )
});

fn two_kilobytes(paragraph: &str) -> String {
    let mut text = paragraph.repeat(2048 / paragraph.len() + 1);
    text.truncate(2048);
    text
}

/// A value as JSON text, as peers store structured values.
pub fn json_text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("a plain struct")
}
