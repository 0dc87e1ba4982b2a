//! Idle namespaces, such as those of users who have signed out.

use super::keys::{Letter, Meta, parse};

/// The prefix of the keys of all namespaces.
const ROOT: &str = "seenguard/";
const DAY_MS: u64 = 86_400_000;
/// The window of a namespace without readable metadata.
const DEFAULT_WINDOW_DAYS: u64 = 30;

/// The use of another namespace.
#[derive(Debug, Default)]
struct Use {
    /// Its name in keys.
    name: String,
    /// The day of its last use, and its window in days.
    meta: Option<(u64, u64)>,
    latest_row_ms: u64,
}

/// The other namespaces of a device.
#[derive(Debug, Default)]
pub struct Others {
    uses: Vec<Use>,
}

impl Others {
    /// Notes a key of any namespace, with its text if [`Others::is_to_read`].
    pub fn note(&mut self, key: &str, text: Option<&str>) {
        let Some((name, rest)) = key.strip_prefix(ROOT).and_then(|rest| rest.split_once('/')) else {
            return;
        };
        let place = self.uses.iter().position(|other| other.name == name);
        let place = place.unwrap_or_else(|| {
            self.uses.push(Use {
                name: name.to_owned(),
                ..Use::default()
            });
            self.uses.len() - 1
        });
        let other = &mut self.uses[place];
        match parse(rest) {
            Some((_, Letter::Row(n))) => other.latest_row_ms = other.latest_row_ms.max(n),
            Some((_, Letter::Meta)) => {
                let meta = text.and_then(Meta::parse).map(|meta| (meta.day, meta.window_days));
                other.meta = other.meta.max(meta);
            }
            _ => {}
        }
    }

    /// Whether the text of a key is needed.
    pub fn is_to_read(key: &str) -> bool {
        key.strip_prefix(ROOT).is_some() && key.ends_with("/m")
    }

    /// The names in keys of the namespaces that were last used more than twice their window ago, except the one in use.
    pub fn idle(self, in_use: &str, wall_ms: u64) -> Vec<String> {
        let today = wall_ms / DAY_MS;
        let mut idle = Vec::new();
        for other in self.uses {
            let (day, window_days) = match other.meta {
                Some((day, 0)) => (day, DEFAULT_WINDOW_DAYS),
                Some(meta) => meta,
                None => (other.latest_row_ms / DAY_MS, DEFAULT_WINDOW_DAYS),
            };
            if other.name != in_use && today > day.saturating_add(2 * window_days) {
                idle.push(other.name);
            }
        }
        idle
    }
}
