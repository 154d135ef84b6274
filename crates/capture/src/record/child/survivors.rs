//! Processes that a command started and that outlive it: they still have what it was started with in their environment.

use std::fs;

/// A process that outlived the command which started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Its process ID.
    pub id: u32,
    /// The name of its program, at most 15 bytes of it.
    pub name: String,
}

/// The processes whose environment has one of these variables with this value, and that are still running; those of
/// other users cannot be read and are not among them.
#[must_use]
pub fn survivors(marks: &[(&str, &str)]) -> Vec<Survivor> {
    let marks: Vec<Vec<u8>> = marks
        .iter()
        .map(|(name, value)| format!("{name}={value}").into_bytes())
        .collect();
    let mut found: Vec<Survivor> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id| survivor(id, &marks))
        .collect();
    found.sort_unstable_by_key(|survivor| survivor.id);
    found
}

fn survivor(id: u32, marks: &[Vec<u8>]) -> Option<Survivor> {
    // Empty for a process that has ended, and that its parent has not waited for.
    let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    if !variables.any(|variable| marks.iter().any(|mark| mark == variable)) {
        return None;
    }
    let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
    Some(Survivor {
        id,
        name: name.trim_end().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_known_by_what_it_was_started_with() {
        let mut sleeper = Command::new("sleep")
            .arg("60")
            .env("TRACER_TEST_MARK", "only this one")
            .spawn()
            .unwrap();
        let mark = [("TRACER_OTHER_MARK", "x"), ("TRACER_TEST_MARK", "only this one")];
        // The process has its own environment once it has become another program.
        let found = (0..500)
            .map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(2));
                survivors(&mark)
            })
            .find(|found| found.iter().any(|survivor| survivor.name == "sleep"));
        let id = sleeper.id();
        sleeper.kill().unwrap();
        assert_eq!(
            found.unwrap(),
            [Survivor {
                id,
                name: "sleep".to_owned()
            }]
        );
        // Not waited for yet: it is no survivor.
        while !survivors(&mark).is_empty() {}
        sleeper.wait().unwrap();
    }
}
