//! Rows of the Azure LLM inference traces: CSV, `TIMESTAMP,ContextTokens,GeneratedTokens`.
//!
//! A time stamp reads `2023-11-16 18:15:46.6805900`, with any number of decimals and, in newer files, an offset such as
//! `+00:00`. Nothing is said about contents, so each request has its own.
//! Source: <https://github.com/Azure/AzurePublicDataset> (Splitwise, ISCA 2024).

use core::time::Duration;

use super::error::Reason;
use super::request::{Ids, Listing, Request};

const FIELDS: usize = 3;

/// Reads one row; the line ends are gone already.
pub(super) fn parse_row(line: &str) -> Result<Request, Reason> {
    let mut fields = line.split(',').map(str::trim);
    let (Some(time), Some(context), Some(generated), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(Reason::Fields {
            expected: FIELDS,
            found: line.split(',').count(),
        });
    };
    let timestamp = parse_time(time).ok_or_else(|| {
        let expected = "a time such as 2023-11-16 18:15:46.6805900";
        Reason::field("TIMESTAMP", expected, time)
    })?;
    Ok(Request {
        timestamp,
        input_length: parse_tokens("ContextTokens", context)?,
        output_length: parse_tokens("GeneratedTokens", generated)?,
        ids: Ids::new(),
        listing: Listing::Own,
        turn: None,
    })
}

fn parse_tokens(name: &'static str, field: &str) -> Result<u64, Reason> {
    field
        .parse()
        .map_err(|_| Reason::field(name, "a whole number of tokens", field))
}

/// The time since 1970, or `None` if the text is no such time.
fn parse_time(text: &str) -> Option<Duration> {
    let mut rest = text.as_bytes();
    let year = number(&mut rest, 4)?;
    literal(&mut rest, b'-')?;
    let month = number(&mut rest, 2)?;
    literal(&mut rest, b'-')?;
    let day = number(&mut rest, 2)?;
    literal(&mut rest, b' ').or_else(|| literal(&mut rest, b'T'))?;
    let hour = number(&mut rest, 2)?;
    literal(&mut rest, b':')?;
    let minute = number(&mut rest, 2)?;
    literal(&mut rest, b':')?;
    let second = number(&mut rest, 2)?;
    let nanoseconds = fraction(&mut rest)?;
    let offset_seconds = offset(rest)?;

    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_since_1970(year, month, day)?;
    let seconds =
        i64::from(days) * 86_400 + i64::from(hour * 3_600 + minute * 60 + second) - offset_seconds;
    Some(Duration::new(u64::try_from(seconds).ok()?, nanoseconds))
}

/// Exactly `digits` decimal digits.
fn number(rest: &mut &[u8], digits: usize) -> Option<u32> {
    let (head, tail) = rest.split_at_checked(digits)?;
    *rest = tail;
    head.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + u32::from(byte - b'0'))
    })
}

fn literal(rest: &mut &[u8], byte: u8) -> Option<()> {
    *rest = rest.strip_prefix(&[byte])?;
    Some(())
}

/// Nothing, or a point and decimals; those past the nanosecond are dropped.
fn fraction(rest: &mut &[u8]) -> Option<u32> {
    let Some(tail) = rest.strip_prefix(b".") else {
        return Some(0);
    };
    let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (decimals, after) = tail.split_at(digits);
    *rest = after;
    let nanoseconds = (0..9).fold(0, |value, at| {
        value * 10 + u32::from(decimals.get(at).map_or(0, |byte| byte - b'0'))
    });
    (digits > 0).then_some(nanoseconds)
}

/// Nothing, `Z`, or `+hh:mm` or `-hh:mm`, in seconds.
fn offset(rest: &[u8]) -> Option<i64> {
    let (sign, mut rest) = match rest {
        [] | [b'Z'] => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let hours = number(&mut rest, 2)?;
    literal(&mut rest, b':')?;
    let minutes = number(&mut rest, 2)?;
    (rest.is_empty() && hours < 24 && minutes < 60)
        .then(|| sign * i64::from(hours * 3_600 + minutes * 60))
}

/// Days of the Gregorian calendar, from 1970 on.
fn days_since_1970(year: u32, month: u32, day: u32) -> Option<u32> {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let february = if leap { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month.checked_sub(1)?).ok()?;
    let in_month = *months.get(before)?;
    if year < 1970 || day == 0 || day > in_month {
        return None;
    }
    let past = year - 1;
    let leap_days = (past / 4 - past / 100 + past / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
    Some((year - 1970) * 365 + leap_days + months[..before].iter().sum::<u32>() + day - 1)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_row_gives_lengths_and_time_and_a_content_of_its_own() {
        let request = parse_row("2023-11-16 18:15:46.6805900,374,44").unwrap();
        assert_eq!((request.input_length, request.output_length), (374, 44));
        assert_eq!(request.listing, Listing::Own);
        assert!(request.ids.is_empty());
        // date -u -d '2023-11-16 18:15:46' +%s
        assert_eq!(request.timestamp, Duration::new(1_700_158_546, 680_590_000));
    }

    #[test]
    fn times_with_an_offset_and_without_decimals_are_read() {
        let expected = Duration::from_secs(1_715_299_200); // date -u -d '2024-05-10' +%s
        for text in [
            "2024-05-10 00:00:00",
            "2024-05-10T00:00:00.0Z",
            "2024-05-10 02:30:00.000000000999+02:30",
        ] {
            assert_eq!(parse_time(text), Some(expected), "{text}");
        }
        assert_eq!(
            parse_time("2024-02-29 00:00:00"),
            Some(Duration::from_secs(1_709_164_800))
        );
        assert_eq!(parse_time("1970-01-01 00:00:00"), Some(Duration::ZERO));
    }

    #[test]
    fn a_malformed_row_is_refused_with_its_reason() {
        let cases = [
            (
                "2023-11-16 18:15:46.68,374",
                "2 comma-separated fields where 3",
            ),
            (
                "2023-11-16 18:15:46.68,374,4,5",
                "4 comma-separated fields where 3",
            ),
            ("", "1 comma-separated fields where 3"),
            (
                "2023-11-16 18:15:46.68,-1,5",
                "ContextTokens must be a whole number of tokens, and is `-1`",
            ),
            ("2023-11-16 18:15:46.68,NaN,5", "`NaN`"),
            (
                "2023-11-16 18:15:46.68,1,18446744073709551616",
                "GeneratedTokens",
            ),
            ("2023-11-16 18:15:46.68,1,", "GeneratedTokens"),
            ("2023-02-29 18:15:46,1,1", "TIMESTAMP"),
            ("2023-11-16 24:00:00,1,1", "TIMESTAMP"),
            ("2023-11-16 18:15:46.,1,1", "TIMESTAMP"),
            ("1969-12-31 23:59:59,1,1", "TIMESTAMP"),
            ("1970-01-01 00:00:00+00:01,1,1", "TIMESTAMP"),
            ("2023-00-16 18:15:46,1,1", "TIMESTAMP"),
            ("é023-11-16 18:15:46,1,1", "TIMESTAMP"),
            ("17,1,1", "TIMESTAMP"),
        ];
        for (row, expected) in cases {
            let reason = parse_row(row).expect_err(row).to_string();
            assert!(
                reason.contains(expected),
                "{row}: `{reason}` does not say `{expected}`"
            );
        }
        let long =
            parse_row("2023-11-16 18:15:46.68,ééééééééééééééééééééééééééééééééééééééééééééééééé,5")
                .unwrap_err()
                .to_string();
        assert!(long.ends_with("é...`"), "{long}");
    }
}
