//! The values that the options of `kvblock plan` take: bytes, a margin, the size of an element.

use alloc::format;
use alloc::string::String;
use core::str::FromStr;

use kvblock::Margin;

use crate::values::decimal;

/// A number of bytes, plain or in a binary unit; parts of a byte are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
        let wrong = || {
            format!(
                "`{text}` is not a size such as `80GiB` or `1.5TiB` (units: KiB, MiB, GiB, TiB), nor a number of bytes"
            )
        };
        let too_large = || format!("`{text}` is more than 64 bits of bytes");
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            return text.parse().map(Self).map_err(|_| too_large());
        }
        let (number, power) = UNITS
            .iter()
            .find_map(|(unit, power)| Some((text.strip_suffix(unit)?.trim_end(), power)))
            .ok_or_else(wrong)?;
        let (value, places) = decimal(number).ok_or_else(wrong)?;
        let bytes = (u128::from(value) << power) / 10_u128.pow(places);
        u64::try_from(bytes).map(Self).map_err(|_| too_large())
    }
}

/// Bytes, or a percentage of the device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarginArg(pub(crate) Margin);

impl FromStr for MarginArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(number) = text.strip_suffix('%') else {
            let ByteSize(bytes) = text
                .parse()
                .map_err(|error| format!("{error}, nor a percentage such as `5%`"))?;
            return Ok(Self(Margin::Bytes(bytes)));
        };
        let wrong =
            || format!("`{text}` is not a percentage such as `5%`, with at most four places");
        let (value, places) = decimal(number.trim_end()).ok_or_else(wrong)?;
        let scale = 4_u32
            .checked_sub(places)
            .and_then(|missing| 10_u64.checked_pow(missing))
            .ok_or_else(wrong)?;
        let parts = value.checked_mul(scale).filter(|&parts| parts <= 1_000_000);
        let parts = parts.ok_or_else(|| format!("`{text}` is more than all"))?;
        let parts = u32::try_from(parts).map_err(|_| wrong())?;
        Ok(Self(Margin::PartsPerMillion(parts)))
    }
}

/// The bits of an element, given in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementBits(pub(crate) u64);

impl FromStr for ElementBits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bits = decimal(text).and_then(|(value, places)| {
            let (bits, whole) = (value.checked_mul(8)?, 10_u64.checked_pow(places)?);
            (bits > 0 && bits % whole == 0).then_some(bits / whole)
        });
        bits.map(Self).ok_or_else(|| {
            format!("`{text}` is not a number of bytes such as `2`, `1` or `0.5`, in whole bits")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_whole() {
        for (text, expected) in [
            ("0", 0),
            ("85899345920", 80 << 30),
            ("18446744073709551615", u64::MAX),
            ("80GiB", 80 << 30),
            ("512MiB", 512 << 20),
            ("1.5GiB", 3 << 29),
            ("0.3KiB", 307),
            ("2 TiB", 2 << 40),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(expected)), "{text}");
        }
        for text in [
            "", "GiB", "80GB", "80G", "-1GiB", "1.5", "1e3", "80gib", "five",
        ] {
            let error = text.parse::<ByteSize>().unwrap_err();
            assert!(error.contains("`80GiB`"), "{text}: {error}");
        }
        for text in ["18446744073709551616", "16777216TiB"] {
            let error = text.parse::<ByteSize>().unwrap_err();
            assert!(error.contains("64 bits"), "{text}: {error}");
        }
    }

    #[test]
    fn a_margin_is_bytes_or_a_percentage() {
        for (text, expected) in [
            ("2GiB", Margin::Bytes(2 << 30)),
            ("0", Margin::Bytes(0)),
            ("5%", Margin::PartsPerMillion(50_000)),
            ("2.5 %", Margin::PartsPerMillion(25_000)),
            ("0.0001%", Margin::PartsPerMillion(1)),
            ("100%", Margin::PartsPerMillion(1_000_000)),
        ] {
            assert_eq!(text.parse(), Ok(MarginArg(expected)), "{text}");
        }
        for text in [
            "",
            "%",
            "0.05",
            "100.0001%",
            "101%",
            "0.00001%",
            "-5%",
            "99999999999%",
        ] {
            assert!(text.parse::<MarginArg>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_element_has_whole_bits() {
        for (text, bits) in [("2", 16), ("1", 8), ("0.5", 4), ("0.75", 6), ("4.0", 32)] {
            assert_eq!(text.parse(), Ok(ElementBits(bits)), "{text}");
        }
        for text in ["", "0", "0.3", "-1", "bf16"] {
            assert!(text.parse::<ElementBits>().is_err(), "{text}");
        }
    }
}
