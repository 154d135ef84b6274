//! [`AwsProfile`]: what the shared files of the AWS tools, `~/.aws/config` and `~/.aws/credentials`, have of a profile.

use std::collections::HashMap;
use std::path::PathBuf;

use tracer_sdk::read::read_input;

/// Bytes of a file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Settings of one profile. It holds keys, so that it is not `Debug`.
#[derive(Default)]
pub(crate) struct AwsProfile {
    values: HashMap<String, String>,
}

impl AwsProfile {
    /// The profile that the environment names, or `default`. Files that cannot be read have nothing.
    pub(crate) fn read(variable: &impl Fn(&str) -> Option<String>) -> Self {
        let home = || {
            variable("HOME")
                .or_else(|| variable("USERPROFILE"))
                .map(PathBuf::from)
        };
        let file = |name: &str, usual: &str| {
            let path = variable(name).map(PathBuf::from);
            let path = path.or_else(|| Some(home()?.join(".aws").join(usual)))?;
            String::from_utf8(read_input(&path, MAX_BYTES).ok()?).ok()
        };
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let config = file("AWS_CONFIG_FILE", "config").unwrap_or_default();
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials").unwrap_or_default();
        let mut values = section(&config, &[&format!("profile {profile}"), &profile]);
        values.extend(section(&credentials, &[&profile]));
        Self { values }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }
}

/// The values of the sections with one of these names.
fn section(text: &str, names: &[&str]) -> HashMap<String, String> {
    let mut values = HashMap::new();
    let mut is_wanted = false;
    for line in text.lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            is_wanted = names.contains(&name.trim());
        } else if let (true, false, Some((key, value))) = (is_wanted, is_nested, line.split_once('=')) {
            values.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(variables: &[(&str, &str)], config: &str, credentials: &str) -> AwsProfile {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".aws")).unwrap();
        fs::write(home.path().join(".aws/config"), config).unwrap();
        fs::write(home.path().join(".aws/credentials"), credentials).unwrap();
        AwsProfile::read(&|name| {
            if name == "HOME" {
                return Some(home.path().display().to_string());
            }
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const CONFIG: &str =
        "[default]\nregion = eu-central-1\ns3 =\n  addressing_style = path\n[profile ci]\nregion=us-east-2\n";
    const CREDENTIALS: &str =
        "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n\n[ci]\naws_access_key_id=C\n";

    #[test]
    fn the_default_profile_has_key_and_region() {
        let profile = read(&[], CONFIG, CREDENTIALS);
        assert_eq!(profile.get("region"), Some("eu-central-1"));
        assert_eq!(profile.get("aws_access_key_id"), Some("A"));
        assert_eq!(profile.get("aws_secret_access_key"), Some("B="));
        assert_eq!(profile.get("addressing_style"), None);
    }

    #[test]
    fn the_environment_names_the_profile() {
        let profile = read(&[("AWS_PROFILE", "ci")], CONFIG, CREDENTIALS);
        assert_eq!(profile.get("region"), Some("us-east-2"));
        assert_eq!(profile.get("aws_access_key_id"), Some("C"));
        assert_eq!(profile.get("aws_secret_access_key"), None);
    }

    #[test]
    fn missing_files_have_nothing() {
        let profile = AwsProfile::read(&|_| None);
        assert_eq!(profile.get("region"), None);
    }
}
