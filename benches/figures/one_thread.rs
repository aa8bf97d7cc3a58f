//! One thread: the rows that have gates, at the size they are about and at others.

use crate::Effort;
use crate::measure::{Row, table, timed};
use crate::workload::{Branching, CHAIN, Desk, WARM, pool, text};
use kvblock::{BlockPool, Prompt};

pub(crate) fn run(effort: &Effort) {
    run_size(effort.sizes[0], effort.samples, true);
}

/// The gates are about one size; here the same figures at others, without a verdict.
pub(crate) fn run_other_sizes(effort: &Effort) {
    for (i, &blocks) in effort.sizes[1..].iter().enumerate() {
        if i > 0 {
            println!();
        }
        run_size(blocks, effort.samples_of_other_sizes, false);
    }
}

fn run_size(blocks: usize, samples: usize, gated: bool) {
    // What is found lies in one pool, what branches in another, and two are full of idle chains, long ones and short ones.
    let pools: [BlockPool; 4] = core::array::from_fn(|_| pool(blocks));
    let [warm, branching, long, short] = &pools;
    let mut rows = Vec::new();
    free_rows(warm, &mut rows);
    warm_rows(warm, &mut rows);
    rows.push(hashing_row(branching));
    for (pool, n) in [(long, CHAIN), (short, 1)] {
        let name = "reclaim + take + publish + release";
        rows.push(reclaim_row(
            Desk::new(pool),
            name,
            n,
            Some(24.0),
            Desk::store,
        ));
        let name = "the same after a find that misses";
        let desk = Desk::from_number(pool, 1 << 30);
        rows.push(reclaim_row(desk, name, n, None, Desk::serve));
    }
    if !gated {
        rows.iter_mut().for_each(Row::drop_gate);
    }
    let title = format!("One thread, {blocks} blocks of 16, warm set of {WARM} chains of {CHAIN}");
    table(&title, &mut rows, samples);
}

fn free_rows<'a>(pool: &'a BlockPool, rows: &mut Vec<Row<'a>>) {
    for (n, unit, gate, calls) in [(1, "call", 8.0, 500), (64, "block", 0.8, 100)] {
        let mut desk = Desk::new(pool);
        rows.push(Row::new(
            format!("reserve + take + release of {n}"),
            unit,
            Some(gate),
            move || {
                let time = timed(|| {
                    for _ in 0..calls {
                        desk.take_and_release(n);
                    }
                });
                (time, calls * n)
            },
        ));
    }
}

fn warm_rows<'a>(pool: &'a BlockPool, rows: &mut Vec<Row<'a>>) {
    let texts = Desk::new(pool).warm(WARM);
    let blocks = WARM * CHAIN;

    let (mut desk, turn) = (Desk::new(pool), texts.clone());
    let mut find_all = move || -> usize { turn.iter().map(|t| desk.find_and_release(t)).sum() };
    rows.push(Row::new(
        "proven hit by child hint + release",
        "block",
        Some(7.0),
        move || {
            // Once to warm up: the other rows have run in between.
            assert_eq!(find_all(), blocks, "all is found");
            let time = timed(|| assert_eq!(find_all(), blocks, "all is found"));
            (time, blocks)
        },
    ));

    let (desk, turn) = (Desk::new(pool), texts.clone());
    let probe_all = move || -> usize {
        let prompts = turn
            .iter()
            .map(|t| Prompt::new(&desk.space, t).full_hit(true));
        prompts
            .filter_map(|prompt| pool.probe(&prompt).ok())
            .map(|probe| probe.idle + probe.held)
            .sum()
    };
    rows.push(Row::new("probe", "block", None, move || {
        assert_eq!(probe_all(), blocks, "all would be found");
        (timed(|| assert_eq!(probe_all(), blocks)), blocks)
    }));

    let mut desk = Desk::new(pool);
    let chain = desk.find(&texts[0]);
    rows.push(Row::new("fork + release", "block", None, move || {
        let time = timed(|| {
            for _ in 0..8 {
                let fork = chain.fork(&mut desk.worker).expect("few references");
                desk.release(fork);
            }
        });
        (time, 8 * CHAIN)
    }));

    let (mut desk, unknown) = (Desk::new(pool), text(u32::MAX, CHAIN));
    rows.push(Row::new("find that misses", "call", None, move || {
        let time = timed(|| {
            for _ in 0..100 {
                assert_eq!(desk.find_and_release(&unknown), 0);
            }
        });
        (time, 100)
    }));
}

fn hashing_row(pool: &BlockPool) -> Row<'_> {
    let mut desk = Desk::new(pool);
    let mut branching = Branching::several(&mut desk, WARM);
    Row::new(
        "proven hit with hashing + release",
        "block",
        Some(11.0),
        move || {
            for chain in &mut branching {
                chain.spoil_hints(&mut desk);
            }
            let mut found = 0;
            let time = timed(|| {
                for chain in &branching {
                    found += desk.find_and_release(chain.tokens());
                }
            });
            assert_eq!(found, branching.len() * CHAIN, "all is found");
            (time, found)
        },
    )
}

/// `work` is given prompts of `n` blocks that were never seen, in a pool full of idle chains of `n`.
fn reclaim_row<'a>(
    mut desk: Desk<'a>,
    name: &str,
    n: usize,
    gate: Option<f64>,
    work: impl Fn(&mut Desk<'a>, &[u32]) + 'a,
) -> Row<'a> {
    // The first ones of a sample are to warm up, as many blocks as the warm set has: the other rows have run in between.
    let (warm_up, rounds) = (WARM * CHAIN / n, WARM * CHAIN / 2 / n);
    desk.fill(n, 0);
    let mut texts: Vec<Vec<u32>> = (0..warm_up + rounds).map(|_| text(0, n)).collect();
    Row::new(format!("{name} of {n}"), "block", gate, move || {
        for tokens in &mut texts {
            desk.renew(tokens);
        }
        let (first, others) = texts.split_at(warm_up);
        first.iter().for_each(|tokens| work(&mut desk, tokens));
        let time = timed(|| others.iter().for_each(|tokens| work(&mut desk, tokens)));
        (time, rounds * n)
    })
}
