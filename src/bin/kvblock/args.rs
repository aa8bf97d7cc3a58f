//! The command line: subcommands, options, and the values that they take.

use alloc::format;
use alloc::string::String;
use core::num::NonZeroUsize;
use core::str::FromStr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kvblock::trace;

/// Block allocator for the KV cache of LLM inference engines: replays real workloads and reports what the allocator did.
#[derive(Debug, Parser)]
#[command(name = "kvblock", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Replay(ReplayArgs),
}

/// Replay a trace of requests through a pool and report hits, reclaims, refusals and leaks.
///
/// Every request reserves its blocks, finds its cached prefix (compared token by token), takes the rest, publishes and
/// releases. Without TRACE, a multi-turn chat workload is made from the seed.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// The trace: JSON lines of Mooncake or of sessions, or Azure CSV, plain or .gz [default: the built-in chat workload]
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,

    /// How requests meet each other
    #[arg(long, value_enum, default_value_t = Mode::Sequential)]
    pub(crate) mode: Mode,

    /// The trace's row format [default: told from its first line]
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,

    /// Tokens that one id of the trace stands for [default: 512 for `hash_ids`, 16 for `runs` and for Azure,
    /// 64 for sessions]
    #[arg(long, value_name = "T", help_heading = "Blocks", value_parser = at_least_one)]
    pub(crate) id_tokens: Option<NonZeroUsize>,

    /// Tokens of a block; other than T, every prompt is cut anew into whole blocks of B [default: T]
    #[arg(long, value_name = "B", help_heading = "Blocks", value_parser = at_least_one)]
    pub(crate) block_size: Option<NonZeroUsize>,

    /// Blocks of the pool [default: as --capacity]
    #[arg(long, value_name = "N", help_heading = "Blocks", value_parser = at_least_one, conflicts_with = "capacity")]
    pub(crate) blocks: Option<NonZeroUsize>,

    /// Blocks of the pool, as a fraction of the trace's distinct blocks: `5%` or `0.05` [default: 25%, or the longest
    /// request if that is more]
    #[arg(long, value_name = "FRACTION", help_heading = "Blocks")]
    pub(crate) capacity: Option<Fraction>,

    /// Seed of contents, of the pool's hash key, and of the built-in workload
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Audit the pool after every N requests, too, and not only at the end
    #[arg(long, value_name = "N", help_heading = "Checks and results", value_parser = at_least_one)]
    pub(crate) audit_every: Option<NonZeroUsize>,

    /// Write the figures to this file, as one JSON object
    #[arg(long, value_name = "FILE", help_heading = "Checks and results")]
    pub(crate) json: Option<PathBuf>,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 leak or audit failure, 2 bad arguments or input.";

const EXAMPLES: &str = "\
Exit codes:
  0  ok
  1  blocks were held at the end (a leak), or the audit found accounts that disagree
  2  bad arguments or input: a malformed line is named by file and line

Examples:
  kvblock replay
  kvblock replay conversation_trace.jsonl --capacity 5% --json out.json
  kvblock replay AzureLLMInferenceTrace_conv.csv.gz --blocks 20000 --audit-every 1000";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// One request at a time, in file order, without regard to time; outputs are not cached
    Sequential,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// JSON lines with `hash_ids` or `runs`
    Mooncake,
    /// CSV: TIMESTAMP,ContextTokens,GeneratedTokens; every prompt has a content of its own
    Azure,
    /// JSON lines with the nodes of reasoning trees; they need serve mode
    Tree,
    /// JSON lines with the requests of agent sessions; ids are local to a session
    Sessions,
}

impl From<FormatArg> for trace::Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Mooncake => Self::Mooncake,
            FormatArg::Azure => Self::Azure,
            FormatArg::Tree => Self::Tree,
            FormatArg::Sessions => Self::Sessions,
        }
    }
}

/// A whole number from 1 on.
fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| String::from("a whole number from 1 on is expected"))
}

/// A decimal fraction above 0 and up to 1, kept exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    numerator: u64,
    denominator: u64,
}

impl Fraction {
    pub(crate) const QUARTER: Self = Self {
        numerator: 1,
        denominator: 4,
    };

    /// The fraction of `whole`, rounded down.
    pub(crate) fn of(self, whole: u64) -> u64 {
        let part = u128::from(whole) * u128::from(self.numerator) / u128::from(self.denominator);
        // The fraction is at most 1.
        u64::try_from(part).unwrap_or(whole)
    }
}

impl FromStr for Fraction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!("`{text}` is neither a percentage such as `5%` nor a fraction such as `0.05`")
        };
        let (number, percent) = match text.strip_suffix('%') {
            Some(number) => (number.trim_end(), true),
            None => (text, false),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{decimals}");
        let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits || digits.len() > 15 {
            return Err(wrong());
        }
        let numerator = digits.parse().map_err(|_| wrong())?;
        let places = u32::try_from(decimals.len()).map_err(|_| wrong())?;
        let unit = if percent { 100 } else { 1 };
        let denominator = 10_u64
            .checked_pow(places)
            .and_then(|ten| ten.checked_mul(unit))
            .ok_or_else(wrong)?;
        if numerator == 0 {
            return Err(String::from("a capacity of nothing"));
        }
        if numerator > denominator {
            return Err(if percent {
                String::from("more than all of the trace's blocks: name a number with --blocks")
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

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
}
