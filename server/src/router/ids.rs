//! Lists of ids in JSON.

use std::fmt;

use seenguard::IdList;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A list of ids in one string, since thousands of small allocations would take as long as the page itself.
#[derive(Debug, Default)]
pub struct Ids {
    text: String,
    /// The end of each id in the string.
    ends: Vec<usize>,
}

impl Ids {
    #[inline]
    fn id(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }
}

impl IdList for Ids {
    fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        self.id(index).as_bytes()
    }
}

/// Some ids of a list.
pub struct IdsAt<'a> {
    pub ids: &'a Ids,
    pub indices: &'a [u32],
}

impl Serialize for IdsAt<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.indices.iter().map(|&index| self.ids.id(index as usize)))
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Ids;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of ids")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Ids, A::Error> {
                let mut ids = Ids::default();
                while list.next_element_seed(Id(&mut ids))?.is_some() {}
                Ok(ids)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Deserializes an id, and appends it to the list.
struct Id<'a>(&'a mut Ids);

impl<'de> DeserializeSeed<'de> for Id<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Id<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an id as a string")
    }

    fn visit_str<E>(self, id: &str) -> Result<(), E> {
        self.0.text.push_str(id);
        self.0.ends.push(self.0.text.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Vec<String>> {
        let ids: Ids = serde_json::from_str(json).ok()?;
        Some((0..ids.len()).map(|index| ids.id(index).to_owned()).collect())
    }

    #[test]
    fn a_list_of_strings_is_read() {
        let expected = ["a", "é", "", "c\n"].map(String::from);
        assert_eq!(read(r#"["a", "é", "", "c\n"]"#), Some(Vec::from(expected)));
        assert_eq!(read("[]"), Some(Vec::new()));
    }

    #[test]
    fn other_json_than_a_list_of_ids_is_refused() {
        for json in ["17", "\"a\"", "{}", "[17]", "[[]]", "[null]", "[[\"a\"]]", "[\"a\""] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn some_of_a_list_are_written() {
        let ids: Ids = serde_json::from_str(r#"["a", "b", "\""]"#).unwrap();
        let some = IdsAt {
            ids: &ids,
            indices: &[2, 1],
        };
        assert_eq!(serde_json::to_string(&some).unwrap(), r#"["\"","b"]"#);
    }
}
