//! What goes out: numbers, and texts with a number each or one alone. JavaScript reads it where it lies, so it crosses without glue.

use std::cell::Cell;

use crate::Error;

thread_local! {
    /// The latest one, which JavaScript reads before it asks again.
    static ANSWER: Cell<(Vec<f64>, Vec<u8>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// What is answered.
#[derive(Default)]
pub(super) struct Answer {
    numbers: Vec<f64>,
    /// Of each of several texts where it ends in the bytes, and a number that goes with it, mostly a time in milliseconds.
    texts: Vec<f64>,
    /// The texts' UTF-8 bytes: to check them once more would only be code.
    bytes: Vec<u8>,
}

impl Answer {
    pub(super) fn tell(&mut self, numbers: &[f64]) {
        self.numbers.extend_from_slice(numbers);
    }

    pub(super) fn tell_text_at(&mut self, text: &[u8], ms: u64) {
        self.bytes.extend_from_slice(text);
        self.texts.extend_from_slice(&[self.bytes.len() as f64, ms as f64]);
    }

    /// The code of what is wrong and what is wrong, a space between them.
    pub(super) fn tell_error(&mut self, error: &Error) {
        self.tell_text(&format!("{} {error}", error.code()));
    }

    pub(super) fn tell_text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Keeps it where JavaScript reads it, and returns where that is: how many numbers there are, how many of the texts, how many bytes, and where
    /// these lie; then the numbers, and those of the texts.
    pub(super) fn place(self) -> *const f64 {
        let bytes = self.bytes.as_ptr() as usize;
        let counts = [self.numbers.len(), self.texts.len(), self.bytes.len(), bytes];
        let counts = counts.map(|count| count as f64);
        let mut numbers = Vec::new();
        for some in [&counts, self.numbers.as_slice(), &self.texts] {
            numbers.extend_from_slice(some);
        }
        let place = numbers.as_ptr();
        ANSWER.set((numbers, self.bytes));
        place
    }
}
