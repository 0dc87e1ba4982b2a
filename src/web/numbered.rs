//! Things that JavaScript holds by their numbers.

/// Each at its number; where one was removed there is room for another.
pub(super) struct Numbered<T>(Vec<Option<T>>);

impl<T> Numbered<T> {
    pub(super) const fn new() -> Self {
        Numbered(Vec::new())
    }

    /// Returns its number.
    pub(super) fn add(&mut self, thing: T) -> usize {
        match self.0.iter().position(Option::is_none) {
            Some(number) => {
                self.0[number] = Some(thing);
                number
            }
            None => {
                self.0.push(Some(thing));
                self.0.len() - 1
            }
        }
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.0.get_mut(number)?.as_mut()
    }

    pub(super) fn remove(&mut self, number: usize) {
        if let Some(place) = self.0.get_mut(number) {
            *place = None;
        }
    }
}
