//! The storage contract's version and which versions a reader accepts (specification, *Versioning*).

/// Value of `meta.json.spec_version` that new emitters declare.
pub const SPEC_VERSION: &str = "0.2.0";

/// Level of support for a declared version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// `0.2.x`: the current contract.
    Current,
    /// `0.2`, or no version at all: the earlier spelling of the same contract.
    Legacy,
    /// Anything else: readers fail closed.
    Unsupported,
}

/// Support for a run that declares `version`; `None` is a `meta.json` without a version.
#[must_use]
pub fn support(version: Option<&str>) -> Support {
    let Some(version) = version else {
        return Support::Legacy;
    };
    if version == "0.2" {
        return Support::Legacy;
    }
    match version.strip_prefix("0.2.") {
        Some("0") => Support::Current,
        Some(patch)
            if !patch.starts_with('0')
                && (1..=9).contains(&patch.len())
                && patch.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            Support::Current
        }
        _ => Support::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_patch_may_differ() {
        for version in ["0.2.0", "0.2.1", "0.2.19"] {
            assert_eq!(support(Some(version)), Support::Current, "{version}");
        }
        for version in [
            "",
            "0.1",
            "0.2.",
            "0.2.01",
            "0.2.0-rc1",
            "0.2.x",
            "0.20",
            "0.3.0",
            "1.0.0",
            "9.9.9",
            "0.2.0 ",
        ] {
            assert_eq!(support(Some(version)), Support::Unsupported, "{version}");
        }
    }
}
