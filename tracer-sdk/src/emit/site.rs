//! [`Site`]: the place of a traced function or run in the code.

use std::borrow::Cow;

/// Location of a traced function, and the name that it was given.
#[derive(Debug, Clone)]
pub struct Site {
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) path: &'static str,
    pub(crate) function: &'static str,
    pub(crate) line: u32,
}

impl Site {
    /// A function by its source path (relative to its package), its name and its line.
    #[must_use]
    pub const fn new(
        name: Option<Cow<'static, str>>,
        path: &'static str,
        function: &'static str,
        line: u32,
    ) -> Self {
        Self {
            name,
            path,
            function,
            line,
        }
    }

    pub(crate) fn span_name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.function)
    }

    /// `function (path:line)`, or `path:line` where the function is not known.
    #[must_use]
    pub fn place(&self) -> String {
        match self.function {
            "" => format!("{}:{}", self.path, self.line),
            function => format!("{function} ({}:{})", self.path, self.line),
        }
    }
}
