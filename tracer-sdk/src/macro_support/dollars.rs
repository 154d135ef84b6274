//! The dollars of `max_cost_usd`, whole or not; without the feature `prices` a message that says so.

use crate::guardrails::Guardrails;

/// Limits what model calls may cost: nothing below zero, and no limit for what is not a finite number.
#[cfg(feature = "prices")]
pub fn max_cost_usd(guardrails: Guardrails, value: impl Dollars) -> Guardrails {
    guardrails.max_cost_usd(value.usd())
}

/// Never called: there is no value that it takes.
#[cfg(not(feature = "prices"))]
pub fn max_cost_usd(guardrails: Guardrails, _: impl Dollars) -> Guardrails {
    guardrails
}

/// A limit that this build does not have.
#[cfg(not(feature = "prices"))]
#[diagnostic::on_unimplemented(
    message = "`max_cost_usd` needs the feature `prices` of tracer-sdk",
    label = "there are no prices to count with",
    note = "add `features = [\"prices\"]` to tracer-sdk in Cargo.toml"
)]
pub trait Dollars {}

/// A number that can be taken as dollars.
#[cfg(feature = "prices")]
#[diagnostic::on_unimplemented(
    message = "`max_cost_usd` takes a number of dollars, not a `{Self}`",
    label = "write `1`, `0.5` or a `Usd`"
)]
pub trait Dollars {
    /// The amount.
    fn usd(self) -> tracer_format::Usd;
}

#[cfg(feature = "prices")]
mod numbers {
    use super::Dollars;
    use tracer_format::Usd;

    impl Dollars for Usd {
        fn usd(self) -> Usd {
            self
        }
    }

    impl Dollars for f64 {
        fn usd(self) -> Usd {
            Usd::from_dollars(self)
        }
    }

    impl Dollars for f32 {
        fn usd(self) -> Usd {
            // By its shortest text: as a wider number, 0.1 would be 0.10000000149.
            Usd::from_dollars(self.to_string().parse().unwrap_or(f64::INFINITY))
        }
    }

    macro_rules! whole_dollars {
        ($($number:ty),*) => {$(
            impl Dollars for $number {
                fn usd(self) -> Usd {
                    u64::try_from(self).map_or(Usd::ZERO, |dollars| Usd::from_cents(dollars.saturating_mul(100)))
                }
            }
        )*};
    }

    whole_dollars!(u8, u16, u32, u64, usize, i32, i64);
}

#[cfg(all(test, feature = "prices"))]
mod tests {
    use super::*;
    use tracer_format::Usd;

    fn dollars(value: impl Dollars) -> Option<Usd> {
        max_cost_usd(Guardrails::new(), value).max_cost_usd
    }

    #[test]
    fn dollars_are_whole_or_not() {
        let half = Some(Usd::from_cents(50));
        assert_eq!(dollars(2), Some(Usd::from_cents(200)));
        assert_eq!((dollars(0.5), dollars(0.5_f32)), (half, half));
        assert_eq!(dollars(0.1_f32), Some(Usd::from_cents(10)));
        assert_eq!(dollars(Usd::from_cents(50)), half);
    }

    #[test]
    fn dollars_that_make_no_sense_are_the_nearest_that_do() {
        assert_eq!((dollars(-1), dollars(-0.1)), (Some(Usd::ZERO), Some(Usd::ZERO)));
        for endless in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(dollars(endless), Some(Usd::MAX));
        }
    }
}
