//! The values that options take: fractions, growth, budgets, durations.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::num::NonZeroUsize;
use core::str::FromStr;

use clap::ValueEnum;
use kvblock::{Budget, Growth};

use crate::serve::step_time::{Nanos, StepTime};

/// A whole number from 1 on.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| String::from("a whole number from 1 on is expected"))
}

/// A decimal fraction from 0 to 1, kept exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    numerator: u64,
    denominator: u64,
}

impl Share {
    pub(crate) const NONE: Self = Self {
        numerator: 0,
        denominator: 1,
    };

    pub(crate) const fn new(numerator: u64, denominator: u64) -> Self {
        Self {
            numerator,
            denominator,
        }
    }

    /// The share of `whole`, rounded down.
    pub(crate) fn of(self, whole: u64) -> u64 {
        let part = u128::from(whole) * u128::from(self.numerator) / u128::from(self.denominator);
        // A share is at most 1.
        u64::try_from(part).unwrap_or(whole)
    }

    /// The smallest whole that leaves at least `rest` when its share is taken away.
    pub(crate) fn whole_of_rest(self, rest: u64) -> u64 {
        let left = u128::from(self.denominator - self.numerator);
        if left == 0 {
            return u64::MAX;
        }
        let whole = (u128::from(rest) * u128::from(self.denominator)).div_ceil(left);
        let mut whole = u64::try_from(whole).unwrap_or(u64::MAX);
        // The share is rounded down, so a little less may do.
        while whole > 0 && whole - 1 - self.of(whole - 1) >= rest {
            whole -= 1;
        }
        whole
    }

    /// Whether an even draw from all 64-bit numbers falls into the share.
    pub(crate) fn contains(self, draw: u64) -> bool {
        u128::from(draw) * u128::from(self.denominator) < u128::from(self.numerator) << 64
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
        let percent = self.numerator as f64 * 100.0 / self.denominator as f64;
        write!(f, "{percent}%")
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!("`{text}` is neither a percentage such as `5%` nor a fraction such as `0.05`")
        };
        let (number, percent) = match text.strip_suffix('%') {
            Some(number) => (number.trim_end(), true),
            None => (text, false),
        };
        let (numerator, places) = decimal(number).ok_or_else(wrong)?;
        let unit = if percent { 100 } else { 1 };
        let denominator = 10_u64
            .checked_pow(places)
            .and_then(|ten| ten.checked_mul(unit))
            .ok_or_else(wrong)?;
        if numerator > denominator {
            return Err(if percent {
                String::from("more than all")
            } else {
                format!("more than 1; for a percentage write `{text}%`")
            });
        }
        Ok(Self {
            numerator,
            denominator,
        })
    }
}

/// A share that is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction(Share);

impl Fraction {
    pub(crate) const QUARTER: Self = Self(Share::new(1, 4));

    /// The fraction of `whole`, rounded down.
    pub(crate) fn of(self, whole: u64) -> u64 {
        self.0.of(whole)
    }
}

impl FromStr for Fraction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let share: Share = text.parse()?;
        if share.numerator == 0 {
            return Err(String::from("a capacity of nothing"));
        }
        Ok(Self(share))
    }
}

/// Digits with at most one point among them: their value without the point, and how many follow it.
pub(crate) fn decimal(text: &str) -> Option<(u64, u32)> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{decimals}");
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits || digits.len() > 15 {
        return None;
    }
    Some((digits.parse().ok()?, u32::try_from(decimals.len()).ok()?))
}

/// How a sequence's growth is promised; what is left of a cap follows from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrowthArg {
    Cap,
    Ahead(usize),
    OnDemand,
}

impl GrowthArg {
    /// The growth of a sequence that gets at most `positions` more.
    pub(crate) const fn of(self, positions: usize) -> Growth {
        match self {
            Self::Cap => Growth::Cap(positions),
            Self::Ahead(blocks) => Growth::Ahead(blocks),
            Self::OnDemand => Growth::OnDemand,
        }
    }
}

impl fmt::Display for GrowthArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cap => f.write_str("cap"),
            Self::Ahead(blocks) => write!(f, "ahead:{blocks}"),
            Self::OnDemand => f.write_str("on-demand"),
        }
    }
}

impl FromStr for GrowthArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("ahead:")) {
            ("cap", _) => Ok(Self::Cap),
            ("on-demand", _) => Ok(Self::OnDemand),
            (_, Some(blocks)) => at_least_one(blocks)
                .map(|blocks| Self::Ahead(blocks.get()))
                .map_err(|error| format!("blocks promised ahead: {error}")),
            _ => Err(String::from(
                "`cap`, `ahead:BLOCKS` or `on-demand` is expected",
            )),
        }
    }
}

/// What an admission is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BudgetArg {
    /// A shared block counts once
    Physical,
    /// A shared block counts once for each sequence
    Conservative,
}

impl BudgetArg {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Physical => "physical",
            Self::Conservative => "conservative",
        }
    }
}

impl From<BudgetArg> for Budget {
    fn from(budget: BudgetArg) -> Self {
        match budget {
            BudgetArg::Physical => Self::Physical,
            BudgetArg::Conservative => Self::Conservative,
        }
    }
}

/// Blocks that are kept back from admissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watermark {
    Blocks(usize),
    Of(Share),
}

impl FromStr for Watermark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.ends_with('%') {
            return text.parse().map(Self::Of);
        }
        text.parse().map(Self::Blocks).map_err(|_| {
            String::from("a number of blocks or a percentage such as `2%` is expected")
        })
    }
}

/// Blocks of a host tier: a number, or a percentage of the pool, which may be more than all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostBlocks {
    Blocks(usize),
    /// A value without its point, and how many digits follow that.
    Percent(u64, u32),
}

impl HostBlocks {
    /// In blocks, for a pool of so many.
    pub(crate) fn of(self, blocks: usize) -> usize {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Percent(value, places) => {
                let whole = u128::from(value) * blocks as u128;
                let part = whole / (100 * 10_u128.pow(places));
                usize::try_from(part).unwrap_or(usize::MAX)
            }
        }
    }
}

impl FromStr for HostBlocks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = match text.strip_suffix('%') {
            Some(number) => decimal(number).map(|(value, places)| Self::Percent(value, places)),
            None => text.parse().ok().map(Self::Blocks),
        };
        parsed.ok_or_else(|| {
            format!("`{text}` is neither a number of blocks nor a percentage such as `50%`")
        })
    }
}

/// So many blocks more or fewer, from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResizeArg {
    pub(crate) at: Nanos,
    pub(crate) grows: bool,
    pub(crate) by: Watermark,
}

impl FromStr for ResizeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not a time and a change such as `60s=-25%`");
        let (at, change) = text.split_once('=').ok_or_else(wrong)?;
        let (grows, by) = match (change.strip_prefix('+'), change.strip_prefix('-')) {
            (Some(by), _) => (true, by),
            (_, Some(by)) => (false, by),
            _ => return Err(wrong()),
        };
        if by.starts_with(['+', '-']) {
            return Err(wrong());
        }
        Ok(Self {
            at: duration(at)?,
            grows,
            by: by.parse()?,
        })
    }
}

/// A time with its unit, or a plain number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeArg(pub(crate) Nanos);

impl FromStr for TimeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
        let time = match (plain, decimal(text)) {
            (true, Some(_)) => duration(&format!("{text}s")),
            (true, None) => Err(format!(
                "`{text}` is not a number of seconds such as `1.5`, nor a time with a unit such as `20us`"
            )),
            (false, _) => duration(text),
        };
        time.map(Self)
    }
}

/// How long a pin lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PinTime(pub(crate) Nanos);

impl FromStr for PinTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse()? {
            TimeArg(0) => Err(String::from("a pin must last: leave --pin out for none")),
            TimeArg(lasts) => Ok(Self(lasts)),
        }
    }
}

/// What a request must meet to count as good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slo {
    /// The longest time from its arrival to its first token.
    pub(crate) ttft: Nanos,
    /// The longest mean gap between its tokens.
    pub(crate) gap: Nanos,
}

impl Slo {
    pub(crate) const USUAL: Self = Self {
        ttft: 2_000_000_000,
        gap: 100_000_000,
    };
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not two limits such as `ttft=2s,gap=100ms`");
        let (mut ttft, mut gap) = (None, None);
        for part in text.split(',') {
            let limit = match part.split_once('=').ok_or_else(wrong)? {
                ("ttft", value) => ttft.replace(duration(value)?),
                ("gap", value) => gap.replace(duration(value)?),
                _ => return Err(wrong()),
            };
            if limit.is_some() {
                return Err(wrong());
            }
        }
        match (ttft, gap) {
            (Some(ttft), Some(gap)) => Ok(Self { ttft, gap }),
            _ => Err(wrong()),
        }
    }
}

impl FromStr for StepTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Result<alloc::vec::Vec<_>, _> = text.split(',').map(duration).collect();
        match parts?[..] {
            [fixed, per_token, per_context_block] => {
                let model = Self {
                    fixed,
                    per_token,
                    per_context_block,
                };
                // Else a step may take no time, and a trace would be served in an instant.
                if fixed == 0 && per_token == 0 {
                    return Err(String::from("a step must take time: fixed or per token"));
                }
                Ok(model)
            }
            _ => Err(format!(
                "`{text}` is not three times such as `5ms,20us,10ns`: fixed, per token, per block of context"
            )),
        }
    }
}

/// A time with its unit, such as `20us` or `1.5ms`, in nanoseconds.
fn duration(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, u64); 4] = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ];
    let wrong = || format!("`{text}` is not a time such as `20us` (units: ns, us, ms, s)");
    if text == "0" {
        return Ok(0);
    }
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))
        .ok_or_else(wrong)?;
    let (value, places) = decimal(number).ok_or_else(wrong)?;
    let nanos = u128::from(value) * u128::from(*unit) / 10_u128.pow(places);
    // A year is far more than any step takes, and sums of many of them are still numbers.
    const YEAR: u128 = 31_557_600_000_000_000;
    u64::try_from(nanos.min(YEAR + 1))
        .ok()
        .filter(|_| nanos <= YEAR)
        .ok_or_else(|| format!("`{text}` is longer than a year"))
}

/// `1_500_000_000` as `1.5s`: the largest unit in which it is at least 1.
pub(crate) fn in_words(nanos: Nanos) -> String {
    let (value, unit) = match nanos {
        0 => return "0".to_string(),
        1..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    let number = nanos as f64 / f64::from(value);
    format!("{number}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_exact_and_rounded_down() {
        let cases = [
            ("5%", 182_790, 9_139),
            ("0.05", 182_790, 9_139),
            ("10%", 12_207, 1_220),
            ("29%", 100, 29),
            ("0.29", 100, 29),
            ("12.5%", 16, 2),
            ("100%", 182_790, 182_790),
            ("1", 7, 7),
            (".5", 7, 3),
            ("100%", u64::MAX, u64::MAX),
            ("1 %", 200, 2),
        ];
        for (text, whole, expected) in cases {
            assert_eq!(
                text.parse::<Fraction>().unwrap().of(whole),
                expected,
                "{text} of {whole}"
            );
        }
    }

    #[test]
    fn what_is_no_fraction_is_refused() {
        for text in [
            "",
            "%",
            ".",
            "-5%",
            "0",
            "0%",
            "5",
            "1.01",
            "101%",
            "five",
            "NaN",
            "1e-2",
            "0.00000000000000000001",
            "½",
        ] {
            assert!(text.parse::<Fraction>().is_err(), "{text}");
        }
        assert!("5".parse::<Fraction>().unwrap_err().contains("`5%`"));
    }

    #[test]
    fn a_share_contains_its_share_of_the_draws() {
        let half: Share = "50%".parse().unwrap();
        assert!(half.contains(0) && half.contains(u64::MAX / 2));
        assert!(!half.contains(u64::MAX / 2 + 1));
        assert!(!Share::NONE.contains(0));
        assert!("1".parse::<Share>().unwrap().contains(u64::MAX));
        assert_eq!(half.to_string(), "50%");
    }

    #[test]
    fn growth_is_read_as_it_is_written() {
        for (text, expected) in [
            ("cap", GrowthArg::Cap),
            ("ahead:2", GrowthArg::Ahead(2)),
            ("on-demand", GrowthArg::OnDemand),
        ] {
            assert_eq!(text.parse(), Ok(expected));
            assert_eq!(expected.to_string(), text);
        }
        for text in ["", "ahead", "ahead:", "ahead:0", "ahead:-1", "caps"] {
            assert!(text.parse::<GrowthArg>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, expected) in [
            ("5ms", 5_000_000),
            ("20us", 20_000),
            ("10ns", 10),
            ("1.5s", 1_500_000_000),
            ("0.5ns", 0),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Ok(expected), "{text}");
        }
        for text in ["", "5", "ms", "-1ms", "1m", "1e3s", "99999999999s", "5 ms"] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["2s", "100ms", "1.5ms", "20us", "7ns", "0"] {
            assert_eq!(in_words(duration(text).unwrap()), text);
        }
    }

    #[test]
    fn a_step_time_is_three_times_and_not_nothing() {
        let model: StepTime = "5ms,20us,10ns".parse().unwrap();
        assert_eq!(model, StepTime::USUAL);
        for text in ["5ms", "5ms,20us", "5ms,20us,10ns,1ns", "0,0,10ns", "a,b,c"] {
            assert!(text.parse::<StepTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_are_both_named_once() {
        assert_eq!("ttft=2s,gap=100ms".parse(), Ok(Slo::USUAL));
        assert_eq!("gap=100ms,ttft=2s".parse(), Ok(Slo::USUAL));
        for text in [
            "",
            "ttft=2s",
            "ttft=2s,ttft=2s",
            "ttft=2s,gap=1ms,gap=2ms",
            "gap=1",
        ] {
            assert!(text.parse::<Slo>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_resize_is_a_time_and_a_signed_change() {
        let of = |at, grows, by| Ok(ResizeArg { at, grows, by });
        let quarter = Watermark::Of(Share::new(25, 100));
        assert_eq!("60s=-25%".parse(), of(60_000_000_000, false, quarter));
        assert_eq!(
            "1.5s=+64".parse(),
            of(1_500_000_000, true, Watermark::Blocks(64))
        );
        for text in [
            "",
            "60s",
            "60s=25%",
            "=-1",
            "60s=-",
            "60s=+-1",
            "60s=-101%",
            "1=+1",
        ] {
            assert!(text.parse::<ResizeArg>().is_err(), "{text}");
        }
        assert_eq!("30".parse(), "30s".parse::<PinTime>());
        assert_eq!("1500ms".parse(), Ok(PinTime(1_500_000_000)));
        for text in ["0", "", "long", "-1"] {
            assert!(text.parse::<PinTime>().is_err(), "{text}");
        }
        assert_eq!("0".parse(), Ok(TimeArg(0)));
    }

    #[test]
    fn a_watermark_is_blocks_or_a_percentage() {
        assert_eq!("64".parse(), Ok(Watermark::Blocks(64)));
        assert_eq!("2%".parse(), Ok(Watermark::Of(Share::new(2, 100))));
        for text in ["", "0.5", "-1", "101%"] {
            assert!(text.parse::<Watermark>().is_err(), "{text}");
        }
    }
}
