//! What a test must not provoke: races and faults, with the text of each.

/// Races and faults since the last reset.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    races: Vec<String>,
    faults: Vec<String>,
    race_count: u64,
}

impl Findings {
    /// Texts kept; the count goes on.
    const KEPT: usize = 64;

    pub(crate) fn race(&mut self, text: String) {
        self.race_count += 1;
        if self.races.len() < Self::KEPT {
            self.races.push(text);
        }
    }

    pub(crate) fn fault(&mut self, text: String) {
        if self.faults.len() < Self::KEPT {
            self.faults.push(text);
        }
    }

    pub(crate) fn races(&self) -> u64 {
        self.race_count
    }

    pub(crate) fn faults(&self) -> u64 {
        self.faults.len() as u64
    }

    pub(crate) fn first_race(&self) -> &str {
        self.races.first().map_or("", String::as_str)
    }

    pub(crate) fn first_fault(&self) -> &str {
        self.faults.first().map_or("", String::as_str)
    }
}
