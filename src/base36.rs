//! Numbers in base 36, as in names and keys.

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Writes a number with the fewest digits.
pub(crate) fn base36(number: u64) -> String {
    base36_of_length(number, 1)
}

/// Writes a number, padded with zeros to this length.
pub(crate) fn base36_of_length(mut number: u64, length: usize) -> String {
    let mut text = String::new();
    while number > 0 || text.len() < length {
        text.insert(0, char::from(DIGITS[(number % 36) as usize]));
        number /= 36;
    }
    text
}

/// Reads a number of lower case digits.
pub(crate) fn from_base36(text: &[u8]) -> Option<u64> {
    let digit_of = |byte: &u8| DIGITS.iter().position(|digit| digit == byte);
    let append = |number: u64, byte| number.checked_mul(36)?.checked_add(digit_of(byte)? as u64);
    (!text.is_empty()).then_some(())?;
    text.iter().try_fold(0, append)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_numbers_are_read_back() {
        for number in [0, 1, 35, 36, 1_764_000_000_001, u64::MAX] {
            assert_eq!(from_base36(base36(number).as_bytes()), Some(number));
            assert_eq!(from_base36(base36_of_length(number, 20).as_bytes()), Some(number));
        }
        assert_eq!(base36(36 * 36 + 10), "10a");
        assert_eq!(base36_of_length(36, 4), "0010");
    }

    #[test]
    fn strings_that_are_not_numbers_are_refused() {
        for text in ["", "A", "-1", "1 ", "zzzzzzzzzzzzzz"] {
            assert_eq!(from_base36(text.as_bytes()), None, "{text}");
        }
    }
}
