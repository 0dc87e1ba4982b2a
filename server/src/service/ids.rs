//! Lists of ids as they come in JSON: `["a", ["b", "story-7"]]`, each item an id or the list of its ids.

use std::fmt;
use std::ops::Range;

use seenguard::IdList;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// In one text, as thousands of little ones would take as long as the page itself.
#[derive(Debug, Default)]
pub struct Ids {
    text: String,
    /// Where each id ends in the text.
    ends: Vec<usize>,
    /// Where the ids of each item end.
    items: Vec<usize>,
}

impl Ids {
    /// An item's own id.
    fn own_id(&self, item: usize) -> &str {
        let id = self.ids_of(item).start;
        &self.text[self.range_of(id)]
    }

    fn range_of(&self, id: usize) -> Range<usize> {
        before(&self.ends, id)..self.ends[id]
    }
}

/// Where the part before ends.
fn before(ends: &[usize], index: usize) -> usize {
    index.checked_sub(1).map_or(0, |before| ends[before])
}

impl IdList for Ids {
    fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        &self.text.as_bytes()[self.range_of(index)]
    }

    fn items(&self) -> usize {
        self.items.len()
    }

    #[inline]
    fn ids_of(&self, item: usize) -> Range<usize> {
        before(&self.items, item)..self.items[item]
    }
}

/// Some of a list's items, by their own ids.
pub struct OwnIds<'a> {
    pub ids: &'a Ids,
    pub items: &'a [u32],
}

impl Serialize for OwnIds<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|&item| self.ids.own_id(item as usize)))
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Ids;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of items, each an id or the list of its ids")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Ids, A::Error> {
                let mut ids = Ids::default();
                while items.next_element_seed(Item(&mut ids))?.is_some() {
                    ids.items.push(ids.ends.len());
                }
                Ok(ids)
            }
        }
        deserializer.deserialize_seq(Items)
    }
}

/// Reads the ids of an item to the end of the list.
struct Item<'a>(&'a mut Ids);

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Item<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an id as a text, or a list of such ids that is not empty")
    }

    fn visit_str<E>(self, id: &str) -> Result<(), E> {
        self.0.text.push_str(id);
        self.0.ends.push(self.0.text.len());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut ids: A) -> Result<(), A::Error> {
        let before = self.0.ends.len();
        while ids.next_element_seed(Id(self.0))?.is_some() {}
        match self.0.ends.len() > before {
            true => Ok(()),
            false => Err(serde::de::Error::invalid_length(0, &"an item's own id")),
        }
    }
}

struct Id<'a>(&'a mut Ids);

impl<'de> DeserializeSeed<'de> for Id<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(Item(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Vec<Vec<String>>> {
        let ids: Ids = serde_json::from_str(json).ok()?;
        let text = |index| String::from_utf8_lossy(ids.get(index)).into_owned();
        Some(
            (0..ids.items())
                .map(|item| ids.ids_of(item).map(text).collect())
                .collect(),
        )
    }

    #[test]
    fn an_item_is_an_id_or_the_list_of_its_ids() {
        let expected = [vec!["a"], vec!["b", "é", ""], vec![""], vec!["c\n"]]
            .map(|ids| ids.into_iter().map(String::from).collect());
        assert_eq!(read(r#"["a", ["b", "é", ""], "", ["c\n"]]"#), Some(Vec::from(expected)));
        assert_eq!(read("[]"), Some(Vec::new()));
    }

    #[test]
    fn what_is_no_list_of_ids_is_refused() {
        for json in [
            "17",
            "\"a\"",
            "{}",
            "[17]",
            "[[]]",
            "[null]",
            "[[\"a\", 17]]",
            "[[[\"a\"]]]",
            "[\"a\"",
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn items_are_written_by_their_own_ids() {
        let ids: Ids = serde_json::from_str(r#"["a", ["b", "c"], "\""]"#).unwrap();
        let own = OwnIds {
            ids: &ids,
            items: &[2, 1],
        };
        assert_eq!(serde_json::to_string(&own).unwrap(), r#"["\"","b"]"#);
    }
}
