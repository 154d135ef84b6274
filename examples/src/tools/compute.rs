//! The tool `compute`: the value of an arithmetic expression.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolError, arguments, evaluate};

/// Computes, so that the model need not.
pub struct Compute;

#[derive(Deserialize)]
struct Arguments<'a> {
    expression: &'a str,
}

impl Tool for Compute {
    fn name(&self) -> &'static str {
        "compute"
    }

    fn description(&self) -> &'static str {
        "Compute an arithmetic expression with + - * / and parentheses, such as 3 * (12.50 + 1)."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        })
    }

    fn call(&self, given: &Value) -> Result<Value, ToolError> {
        let Arguments { expression } = arguments(given)?;
        Ok(json!({"expression": expression, "value": evaluate(expression)?}))
    }
}
