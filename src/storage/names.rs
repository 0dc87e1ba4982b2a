//! The names of keys in storage.
//!
//! | key, below `seenguard/<namespace>/` | value |
//! | --- | --- |
//! | `s/<level>/<writer>/<number>` | a segment; numbers to the base 36 |
//! | `h/<number of a clear>` | the snapshot in use |
//! | `x/<number of a clear>/<number>` | a part of a damaged segment that was set aside |
//! | `d` | when the namespace was last used: see `idle` |
//!
//! `seenguard/opened` holds when any namespace was last opened, Unix ms. In localStorage, whatever the store is:
//! `seenguard-stash/<namespace>/<writer>` is what a page has left as it hid, `seenguard-signal/<namespace>` the signal to
//! other tabs.

use crate::base36::{base36, from_base36};

/// The prefix of all keys of all namespaces.
pub(super) const ROOT: &str = "seenguard/";
/// The prefix of all stashes.
pub(super) const STASH_ROOT: &str = "seenguard-stash/";
const SIGNAL_ROOT: &str = "seenguard-signal/";
pub(super) const LAST_OPENED: &str = "seenguard/opened";

/// What a key of the namespace stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Segment { level: u32 },
    Stash,
    Snapshot { clear: u64 },
    SetAside { clear: u64 },
}

/// The names of one namespace's keys.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// The namespace in ASCII without a slash.
    namespace: String,
    /// What all keys in the store begin with, and those of stashes.
    prefix: String,
    stash_prefix: String,
}

impl Names {
    /// Namespaces may hold anything; keys are ASCII, and a slash ends a part.
    pub(super) fn new(namespace: &str) -> Self {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut escaped = String::new();
        for unit in namespace.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii_alphanumeric() || b"_.:@-".contains(&byte) => escaped.push(char::from(byte)),
                _ => {
                    escaped.push('%');
                    for shift in [12, 8, 4, 0] {
                        escaped.push(char::from(HEX[usize::from(unit >> shift & 15)]));
                    }
                }
            }
        }
        Names {
            prefix: [ROOT, &escaped, "/"].concat(),
            stash_prefix: [STASH_ROOT, &escaped, "/"].concat(),
            namespace: escaped,
        }
    }

    /// The namespace as keys have it.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn segment(&self, level: u32, writer: &str, number: u64) -> String {
        let (level, number) = (base36(u64::from(level)), base36(number));
        [&self.prefix, "s/", &level, "/", writer, "/", &number].concat()
    }

    pub(super) fn snapshot(&self, clear: u64) -> String {
        [&self.prefix, "h/", &base36(clear)].concat()
    }

    pub(super) fn set_aside(&self, clear: u64, number: u64) -> String {
        [&self.prefix, "x/", &base36(clear), "/", &base36(number)].concat()
    }

    pub(super) fn last_use(&self) -> String {
        last_use_of(&self.namespace)
    }

    pub(super) fn stash_prefix(&self) -> &str {
        &self.stash_prefix
    }

    pub(super) fn stash(&self, writer: &str) -> String {
        [&self.stash_prefix, writer].concat()
    }

    pub(super) fn signal(&self) -> String {
        signal_of(&self.namespace)
    }

    /// What a key of the namespace stands for; nothing for the note of its last use, and for any other key.
    pub(super) fn kind_of(&self, key: &str) -> Option<Kind> {
        if key.starts_with(&self.stash_prefix) {
            return Some(Kind::Stash);
        }
        let rest = key.as_bytes().strip_prefix(self.prefix.as_bytes())?;
        let mut parts = rest.split(|&byte| byte == b'/');
        let kind = parts.next()?;
        let number = from_base36(parts.next()?)?;
        match (kind, parts.count()) {
            (b"s", 2) => Some(Kind::Segment {
                level: u32::try_from(number).ok()?,
            }),
            (b"h", 0) => Some(Kind::Snapshot { clear: number }),
            (b"x", 1) => Some(Kind::SetAside { clear: number }),
            _ => None,
        }
    }
}

/// The namespace that a key belongs to, as keys have it; nothing for a key of none.
pub(super) fn namespace_of(key: &str) -> Option<&str> {
    let rest = key.strip_prefix(ROOT).or_else(|| key.strip_prefix(STASH_ROOT))?;
    let end = rest.bytes().position(|byte| byte == b'/')?;
    rest.get(..end)
}

/// The key of the note when a namespace, as keys have it, was last used.
pub(super) fn last_use_of(namespace: &str) -> String {
    [ROOT, namespace, "/d"].concat()
}

/// The key of the signal of a namespace, as keys have it.
pub(super) fn signal_of(namespace: &str) -> String {
    [SIGNAL_ROOT, namespace].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_namespace_has_keys_of_ascii_in_which_a_slash_ends_a_part() {
        let names = Names::new("home:a/b é\u{1F980}");
        let key = names.segment(1, "writer", 36);
        assert_eq!(key, "seenguard/home:a%002fb%0020%00e9%d83e%dd80/s/1/writer/10");
        assert_eq!(namespace_of(&key), Some("home:a%002fb%0020%00e9%d83e%dd80"));
    }

    #[test]
    fn a_key_says_what_it_stands_for() {
        let names = Names::new("home");
        assert_eq!(
            names.kind_of(&names.segment(3, "w", 0)),
            Some(Kind::Segment { level: 3 })
        );
        assert_eq!(names.kind_of(&names.snapshot(77)), Some(Kind::Snapshot { clear: 77 }));
        assert_eq!(
            names.kind_of(&names.set_aside(77, 1)),
            Some(Kind::SetAside { clear: 77 })
        );
        assert_eq!(names.kind_of(&names.stash("w")), Some(Kind::Stash));
        for other in [
            "seenguard/opened",
            "seenguard/home/d",
            "seenguard/home2/h/1",
            "seenguard/home/h/!",
            "x",
        ] {
            assert_eq!(names.kind_of(other), None, "{other}");
        }
    }
}
