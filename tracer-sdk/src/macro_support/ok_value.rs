//! The value that `result` records: inside `Ok`, or as returned.
//!
//! Chosen by autoref: a method call prefers the implementation that needs fewer references taken away.

/// A returned value, to be asked for what is worth recording.
pub struct OkValue<'a, T>(pub &'a T);

/// A `Result`: the value inside `Ok`, and nothing of an `Err`, which the span's error tells.
pub trait ResultValue<'a> {
    /// Type of the value inside.
    type Value;

    /// The value to record.
    fn tracer_ok_value(&self) -> Option<&'a Self::Value>;
}

impl<'a, T, E> ResultValue<'a> for &OkValue<'a, Result<T, E>> {
    type Value = T;

    fn tracer_ok_value(&self) -> Option<&'a T> {
        self.0.as_ref().ok()
    }
}

/// Anything else is recorded as it is.
pub trait AnyValue<'a> {
    /// The value's own type.
    type Value;

    /// The value to record.
    fn tracer_ok_value(&self) -> Option<&'a Self::Value>;
}

impl<'a, T> AnyValue<'a> for OkValue<'a, T> {
    type Value = T;

    fn tracer_ok_value(&self) -> Option<&'a T> {
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_result_only_the_value_inside_ok_is_recorded() {
        let good: Result<u8, String> = Ok(7);
        let bad: Result<u8, String> = Err("no".to_owned());
        assert_eq!((&&OkValue(&good)).tracer_ok_value(), Some(&7));
        assert_eq!((&&OkValue(&bad)).tracer_ok_value(), None);
    }

    #[test]
    fn anything_else_is_recorded_as_it_is() {
        let value = Some("text");
        assert_eq!(OkValue(&value).tracer_ok_value(), Some(&Some("text")));
    }
}
