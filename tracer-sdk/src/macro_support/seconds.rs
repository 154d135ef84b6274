//! The seconds of `max_duration_s`, whole or not.

use std::time::Duration;

/// A number of seconds as a duration: nothing below zero, and the longest duration for what is not a finite number or does
/// not fit.
pub fn seconds(value: impl Seconds) -> Duration {
    value.duration()
}

/// A number that can be taken as seconds.
#[diagnostic::on_unimplemented(
    message = "`max_duration_s` takes a number of seconds, not a `{Self}`",
    label = "write `30`, `0.5` or a `Duration`"
)]
pub trait Seconds {
    /// The duration.
    fn duration(self) -> Duration;
}

impl Seconds for Duration {
    fn duration(self) -> Duration {
        self
    }
}

impl Seconds for f64 {
    fn duration(self) -> Duration {
        if self <= 0.0 {
            Duration::ZERO
        } else {
            Duration::try_from_secs_f64(self).unwrap_or(Duration::MAX)
        }
    }
}

impl Seconds for f32 {
    fn duration(self) -> Duration {
        f64::from(self).duration()
    }
}

macro_rules! whole_seconds {
    ($($number:ty),*) => {$(
        impl Seconds for $number {
            fn duration(self) -> Duration {
                u64::try_from(self).map_or(Duration::ZERO, Duration::from_secs)
            }
        }
    )*};
}

whole_seconds!(u8, u16, u32, u64, usize, i32, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_whole_or_not() {
        assert_eq!(seconds(30), Duration::from_secs(30));
        assert_eq!(seconds(0.5), Duration::from_millis(500));
        assert_eq!(seconds(Duration::from_secs(2)), Duration::from_secs(2));
    }

    #[test]
    fn seconds_that_make_no_sense_are_the_nearest_that_do() {
        assert_eq!(seconds(-1), Duration::ZERO);
        assert_eq!(seconds(-0.1), Duration::ZERO);
        for endless in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(seconds(endless), Duration::MAX);
        }
    }
}
