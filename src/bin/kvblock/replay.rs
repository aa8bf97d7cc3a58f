//! `kvblock replay`: reads the trace, sizes the pool, replays, reports.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use kvblock::trace::{self, Content, Listing, ParseError, Problem, Reader, Request, TreeReader};
use kvblock::{BlockPool, MAX_BLOCK_SIZE, PoolConfig};

use crate::args::{Mode, ReplayArgs};
use crate::failure::Failure;
use crate::sequential;
use crate::serve::{self, secret};
use crate::summary::{Setting, Summary};
use crate::values::Fraction;

/// Replays as the arguments say. A leak or a failed audit is an error after everything was reported.
pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let workload = Workload::load(args)?;
    match args.mode {
        Mode::Serve => serve::run(args, workload),
        Mode::Sequential => run_sequential(args, workload),
    }
}

fn run_sequential(args: &ReplayArgs, workload: Workload) -> Result<(), Failure> {
    if let Some(option) = args.serve.given().or(args.fleet.given()) {
        return Err(Failure::Input(format!(
            "{option} is of serve mode, and `--mode sequential` serves one request at a time"
        )));
    }
    let Rows::Requests(requests) = &workload.rows else {
        return Err(Failure::Input(trace::Reason::Trees.to_string()));
    };
    let id_tokens = args
        .id_tokens
        .map_or_else(|| usual_id_tokens(requests), usize::from);
    let block_size = match args.block_size[..] {
        [] => id_tokens,
        [only] => usize::from(only),
        _ => {
            return Err(Failure::Input(String::from(
                "several block sizes are compared in serve mode: name one with --block-size",
            )));
        }
    };
    if block_size > MAX_BLOCK_SIZE {
        return Err(Failure::Input(format!(
            "a block has at most {MAX_BLOCK_SIZE} tokens, and {block_size} are asked for: name fewer with --block-size"
        )));
    }
    let content = Content::new(args.seed, id_tokens, block_size);
    let size = Size::of_pool(args, requests, &content)?;
    let config = PoolConfig::new(size.blocks, block_size).secret(secret(args.seed));
    let pool = BlockPool::new(&config).map_err(|error| {
        Failure::Input(format!(
            "no pool of {} blocks of {block_size} tokens can be made: {error}",
            size.blocks
        ))
    })?;
    // Before the work, so that it is not in vain.
    let json = create_json(args)?;

    let progress = progress_bar(requests.len());
    let audit_every = args.audit_every.map(|every| every.get() as u64);
    let replayed = sequential::replay(&pool, requests, &content, audit_every, || {
        progress.inc(1);
    });
    progress.finish_and_clear();
    let figures = replayed?;

    let setting = Setting {
        trace: workload.name,
        format: workload.format,
        mode: args.mode.name(),
        seed: args.seed,
        id_tokens,
        block_size,
        blocks: size.blocks,
        distinct_blocks: size.distinct,
    };
    let summary = Summary::new(setting, &figures);
    print(&summary, &figures.report.to_string());
    let written = match (json, &args.json) {
        (Some(file), Some(path)) => summary
            .write_json(BufWriter::new(emptied(file)))
            .map_err(|error| cannot_write(path, &error)),
        _ => Ok(()),
    };
    // A defect of the pool weighs more than a full disk.
    summary
        .defect()
        .map_or(written, |defect| Err(Failure::Defect(defect)))
}

/// What to replay and what it is called.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) format: Option<String>,
    pub(crate) rows: Rows,
}

/// The rows of a trace; at least one.
pub(crate) enum Rows {
    Requests(Vec<Request>),
    Trees(Vec<Problem>),
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Requests(requests) => requests.len(),
            Self::Trees(problems) => problems.len(),
        }
    }
}

impl Workload {
    fn load(args: &ReplayArgs) -> Result<Self, Failure> {
        let Some(path) = &args.trace else {
            if args.format.is_some() {
                return Err(Failure::Input(String::from(
                    "--format says how TRACE is to be read, and there is no TRACE",
                )));
            }
            if let Some(phases) = args.fleet.phases {
                return Ok(Self {
                    name: format!("{} (seed {})", phases.name(), args.seed),
                    format: None,
                    rows: Rows::Requests(phases.requests(args.seed)),
                });
            }
            let name = format!("built-in chat (seed {})", args.seed);
            return Ok(Self {
                name,
                format: None,
                rows: Rows::Requests(trace::chat(args.seed)),
            });
        };
        let (rows, format) = read(path, args.format.map(trace::Format::from))
            .map_err(|error| Failure::Input(error.to_string()))?;
        if rows.len() == 0 {
            return Err(Failure::Input(format!(
                "{}: no requests in this trace",
                path.display()
            )));
        }
        let name = path
            .file_name()
            .map_or(Cow::Borrowed(""), |name| name.to_string_lossy())
            .into_owned();
        Ok(Self {
            name,
            format: format.map(|format| format.to_string()),
            rows,
        })
    }
}

/// Reads a trace: requests, or trees if these are what its rows are. It is opened once, as a pipe can be.
fn read(
    path: &Path,
    format: Option<trace::Format>,
) -> Result<(Rows, Option<trace::Format>), ParseError> {
    let trees = |reader: TreeReader<'_>| {
        let problems = reader.collect::<Result<Vec<_>, _>>()?;
        Ok((Rows::Trees(problems), Some(trace::Format::Tree)))
    };
    if format == Some(trace::Format::Tree) {
        return trees(TreeReader::open(path)?);
    }
    let mut reader = Reader::open(path, format)?;
    match reader.by_ref().collect::<Result<Vec<_>, _>>() {
        Ok(requests) => Ok((Rows::Requests(requests), reader.format())),
        Err(error) if error.reason == trace::Reason::Trees => trees(reader.into_trees()),
        Err(error) => Err(error),
    }
}

/// What one id stands for by the trace's first row that tells.
pub(crate) fn usual_id_tokens(requests: &[Request]) -> usize {
    requests
        .iter()
        .find_map(|request| request.listing.usual_id_tokens())
        .or_else(|| Listing::HashIds.usual_id_tokens())
        .unwrap_or(1)
}

/// How many blocks the pool has.
struct Size {
    blocks: usize,
    /// Distinct blocks of the trace; `None` if they need not be counted.
    distinct: Option<u64>,
}

impl Size {
    fn of_pool(
        args: &ReplayArgs,
        requests: &[Request],
        content: &Content,
    ) -> Result<Self, Failure> {
        if let Some(blocks) = args.blocks {
            return Ok(Self {
                blocks: blocks.get(),
                distinct: None,
            });
        }
        let distinct = content.distinct_blocks(requests).ok_or_else(|| {
            Failure::Input(format!(
                "the trace has more than {} distinct blocks of this size: name the pool's blocks with --blocks",
                Content::MAX_DISTINCT
            ))
        })?;
        let blocks = match args.capacity {
            Some(fraction) => fraction.of(distinct),
            None => {
                let longest = requests
                    .iter()
                    .map(|request| content.blocks(request))
                    .max()
                    .unwrap_or(0);
                Fraction::QUARTER.of(distinct).max(longest)
            }
        };
        if blocks == 0 {
            let why = if distinct == 0 {
                String::from("no prompt of the trace has a whole block")
            } else {
                format!(
                    "the trace has {distinct} distinct blocks, and that fraction of them is none"
                )
            };
            return Err(Failure::Input(format!(
                "{why}: name the pool's blocks with --blocks"
            )));
        }
        let blocks = usize::try_from(blocks).map_err(|_| {
            Failure::Input(format!(
                "no pool has {blocks} blocks: name fewer with --blocks"
            ))
        })?;
        Ok(Self {
            blocks,
            distinct: Some(distinct),
        })
    }
}

/// Shown on standard error, and only if that is a terminal.
pub(crate) fn progress_bar(requests: usize) -> ProgressBar {
    let bar = ProgressBar::new(requests as u64);
    let style =
        ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} requests, {eta} left");
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

/// Opens the file for the figures, if one is named. It must not be the trace.
pub(crate) fn create_json(args: &ReplayArgs) -> Result<Option<File>, Failure> {
    let Some(path) = args.json.as_deref() else {
        return Ok(None);
    };
    let trace = args.trace.as_deref();
    if trace.is_some_and(|trace| is_one_file(trace, path)) {
        return Err(Failure::Input(format!(
            "{}: --json would overwrite the trace",
            path.display()
        )));
    }
    // What is in it stays until there is something better.
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    file.map(Some).map_err(|error| cannot_write(path, &error))
}

/// Whether two paths lead to one file, by whatever links.
fn is_one_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) {
            return (one.dev(), one.ino()) == (other.dev(), other.ino());
        }
    }
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The file for the figures, now that there are some.
pub(crate) fn emptied(file: File) -> File {
    // Fails for what is no file, and has nothing to be emptied.
    let _ = file.set_len(0);
    file
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::Input(format!("{}: cannot be written: {error}", path.display()))
}

/// The table and the pool's own report on standard output, advice on standard error. Nobody is left to tell if these are
/// closed, so errors are ignored; the exit code stands.
fn print(summary: &Summary, report: &str) {
    let mut out = Vec::new();
    let _ = summary.write_table(&mut out);
    let _ = writeln!(out, "\nThe pool at the end:\n{}", report.trim_end());
    let _ = io::stdout().lock().write_all(&out);
    for advice in summary.advice() {
        let _ = writeln!(io::stderr(), "kvblock: {advice}");
    }
}
