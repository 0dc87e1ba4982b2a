//! Parts of inputs, parsed from the fuzzer's bytes. All are read from the front, so that a program can write inputs,
//! too //! (`src/bin/seeds.rs`).

use arbitrary::{Arbitrary, Result, Unstructured};

/// The time at which every input starts, in Unix milliseconds.
pub const BEGINNING_MS: u64 = 1_764_000_000_000;

/// Unchanged bytes, preceded by their number.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Arbitrary<'a> for Bytes<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let length = usize::from(input.arbitrary::<u16>()?).min(input.len());
        input.bytes(length).map(Bytes)
    }
}

/// A list whose length is one byte.
#[derive(Debug, Clone)]
pub struct Few<T, const MOST: usize>(pub Vec<T>);

impl<'a, T: Arbitrary<'a>, const MOST: usize> Arbitrary<'a> for Few<T, MOST> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let count = usize::from(input.arbitrary::<u8>()?) % (MOST + 1);
        // Fields without bytes in the input are omitted.
        let few = (0..count).take_while(|_| true).map(|_| {
            if input.is_empty() {
                Err(arbitrary::Error::NotEnoughData)
            } else {
                input.arbitrary()
            }
        });
        Ok(Few(few.map_while(Result::ok).collect()))
    }
}

/// One of 256 ids, some of them unusual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Arbitrary)]
pub struct Id(pub u8);

impl Id {
    pub fn text(self) -> String {
        match self.0 {
            0 => String::new(),
            1 => "\0".into(),
            2 => "\u{FFFD}".into(),
            3 => "a\nb~::,".into(),
            4 => "x".repeat(300),
            number => format!("item-{number}"),
        }
    }
}

pub fn texts(ids: &[Id]) -> Vec<String> {
    ids.iter().map(|id| id.text()).collect()
}

/// A number, often small, sometimes of any size.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Number {
    Small(u8),
    Medium(u16),
    Large(u64),
}

impl Number {
    pub fn get(self) -> u64 {
        match self {
            Number::Small(number) => number.into(),
            Number::Medium(number) => number.into(),
            Number::Large(number) => number,
        }
    }

    pub fn get_u32(self) -> u32 {
        self.get() as u32
    }
}

/// A time, often near the start.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Time {
    /// Seconds from the start.
    Near(i16),
    /// Days from the start.
    Far(i16),
    Any(u64),
}

impl Time {
    /// Unix milliseconds.
    pub fn ms(self) -> u64 {
        match self {
            Time::Near(seconds) => BEGINNING_MS.saturating_add_signed(i64::from(seconds) * 1_000),
            Time::Far(days) => BEGINNING_MS.saturating_add_signed(i64::from(days) * 86_400_000),
            Time::Any(ms) => ms,
        }
    }

    pub fn get(self) -> seenguard::Time {
        seenguard::Time::from_unix_ms(self.ms())
    }

    /// Unix seconds, limited to 32 bits.
    pub fn seconds(self) -> u32 {
        u32::try_from(self.ms() / 1_000).unwrap_or(u32::MAX)
    }
}
