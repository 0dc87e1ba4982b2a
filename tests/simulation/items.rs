//! The items of one user's feed: each a number and an id.

use std::collections::BTreeMap;

use super::chance::Chance;
use crate::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item(u32);

/// All items so far.
#[derive(Debug)]
pub struct Items {
    user: u64,
    long: bool,
    texts: Vec<String>,
    numbers: BTreeMap<String, Item>,
}

impl Items {
    pub fn new(user: u64, long: bool) -> Self {
        Items {
            user,
            long,
            texts: Vec::new(),
            numbers: BTreeMap::new(),
        }
    }

    /// An item that nobody has seen.
    pub fn publish(&mut self, random: &mut Random) -> Item {
        let number = self.texts.len() as u32;
        let user = self.user;
        let text = match random.below(20) {
            _ if self.long => format!("{user:x}/{number}/{}", "long ".repeat(random.between(20, 400) as usize)),
            0 => format!("https://news.example/articles/{user:x}/{number}?from=home"),
            1 => format!("新闻-{user:x}-{number}-🌍"),
            2 => format!("{}", u128::from(user) * 10_000_000 + u128::from(number)),
            _ => format!("{user:x}{number:04x}"),
        };
        self.numbers.insert(text.clone(), Item(number));
        self.texts.push(text);
        Item(number)
    }

    pub fn text(&self, item: Item) -> &str {
        &self.texts[item.0 as usize]
    }

    /// The item of an id.
    pub fn of(&self, text: &str) -> Option<Item> {
        self.numbers.get(text).copied()
    }

    pub fn any(&self, random: &mut Random) -> Option<Item> {
        (!self.texts.is_empty()).then(|| Item(random.index(self.texts.len()) as u32))
    }

    pub fn texts<'a>(&'a self, items: &[Item]) -> Vec<&'a str> {
        items.iter().map(|&item| self.text(item)).collect()
    }
}
