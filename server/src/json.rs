//! Reads JSON of JavaScript, whose strings may have a lone surrogate, `"\ud800"`, which UTF-8 cannot encode.

use serde::de::DeserializeOwned;

/// Reads JSON. Lone surrogates become U+FFFD, as when JavaScript encodes UTF-8: one such id must not invalidate a list.
///
/// ```
/// let ids: Vec<String> = seenguard_server::json::from_slice(br#"["article-1", "\ud83d"]"#)?;
/// assert_eq!(ids, ["article-1", "\u{fffd}"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// The errors of `serde_json`: invalid JSON, or JSON of another type.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| match with_whole_characters(json) {
        Some(json) => serde_json::from_slice(&json),
        None => Err(error),
    })
}

/// The same JSON with `\ufffd` for each lone surrogate; `None` if it has none.
fn with_whole_characters(json: &[u8]) -> Option<Vec<u8>> {
    let mut whole = None;
    let mut index = 0;
    while let Some(offset) = json.iter().skip(index).position(|&byte| byte == b'\\') {
        let escape = index + offset;
        index = escape + 2;
        let Some(unit) = unit_at(json, escape) else { continue };
        index = escape + 6;
        let is_pair = || (0xD800..0xDC00).contains(&unit) && unit_at(json, index).is_some_and(is_second);
        if is_pair() {
            index += 6;
        } else if (0xD800..0xE000).contains(&unit) {
            whole.get_or_insert_with(|| json.to_vec())[escape + 2..escape + 6].copy_from_slice(b"fffd");
        }
    }
    whole
}

fn is_second(unit: u16) -> bool {
    (0xDC00..0xE000).contains(&unit)
}

/// The UTF-16 unit of an escape such as `\ud800`.
fn unit_at(json: &[u8], escape: usize) -> Option<u16> {
    let digits = json.get(escape..escape + 6)?.strip_prefix(b"\\u")?;
    // `from_str_radix` would accept a sign.
    let digits = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| !digits.starts_with('+'))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_become_one_replacement_character_each() {
        for (json, text) in [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""\udc00\ud800x""#, "\u{fffd}\u{fffd}x"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\\ud800""#, "\\ud800"),
            (r#""\\\ud800é""#, "\\\u{fffd}é"),
        ] {
            assert_eq!(from_slice::<String>(json.as_bytes()).unwrap(), text, "{json}");
        }
    }

    #[test]
    fn invalid_json_is_none() {
        for json in [
            &b"\"\\ud800"[..],
            b"\\ud8",
            b"\"\\ud800\xff\"",
            b"\"\\u+800\"",
            b"\\",
            b"",
        ] {
            assert!(from_slice::<String>(json).is_err());
        }
    }
}
