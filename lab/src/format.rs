//! Numbers as people read them.

/// A whole number with thousands separated: `12,345`.
pub fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 { format!("-{text}") } else { text }
}

/// A number with N significant digits and no trailing zeros: `0.0012`, `18.4`, `12,300`.
pub fn significant(value: f64, digits: u32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = digits as i32 - 1 - magnitude;
    if decimals <= 0 {
        let unit = 10_f64.powi(-decimals);
        return count((value / unit).round() * unit);
    }
    let text = format!("{value:.*}", decimals as usize);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_string()
}

/// A share as a percentage of three significant digits: `1.25%`.
pub fn percent(share: f64) -> String {
    format!("{}%", significant(share * 100.0, 3))
}

/// Bytes in decimal units: `9.0 KB`.
pub fn bytes(value: f64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < units.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{} {}", significant(scaled, 3), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_to_their_digits() {
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(-999.6), "-1,000");
        assert_eq!(significant(0.001_234, 2), "0.0012");
        assert_eq!(significant(12_345.0, 3), "12,300");
        assert_eq!(significant(2.0, 3), "2");
        assert_eq!(percent(0.0125), "1.25%");
        assert_eq!(bytes(8_990.0), "8.99 KB");
        assert_eq!(bytes(999_999.0), "1 MB");
    }
}
