//! What a problem asks for, told before it is begun.

use kvblock::trace::Problem;

use super::Shots;
use crate::serve::settings::Settings;
use crate::values::GrowthArg;

/// What it takes to solve a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// Positions of its longest text, the shared prompt included.
    pub(super) longest: u64,
    /// Sequences at a time: those that are kept, the nodes of a step, and one that judges.
    pub(super) sequences: u64,
    /// Blocks that are enough, whatever is shared: all tables as if they were apart, and all promises.
    pub(super) blocks: u64,
}

impl Needs {
    pub(super) fn of(problem: &Problem, settings: &Settings) -> Self {
        let nodes = problem.nodes();
        let steps = problem.steps().len();
        let deepest = nodes.iter().map(|node| node.tokens).max().unwrap_or(0);
        let proposed = deepest.saturating_add(Shots::Propose.tokens());
        let (mut kept, mut live, mut judged) = (1, 1, 0_u64);
        for (step, places) in problem.steps().enumerate() {
            let shots = Shots::that_judge(step, steps).tokens();
            let of_step = &nodes[places];
            live = live.max(kept + of_step.len() as u64);
            kept += of_step.iter().filter(|node| node.keep).count() as u64;
            let lengths = of_step.iter().map(|node| node.tokens.saturating_add(shots));
            judged = judged.max(lengths.max().unwrap_or(0));
        }
        let promised = match settings.growth {
            GrowthArg::Ahead(blocks) => blocks as u64,
            GrowthArg::Cap | GrowthArg::OnDemand => 0,
        };
        let table = |positions: u64| {
            positions
                .div_ceil(settings.block_size as u64)
                .saturating_add(promised)
        };
        Self {
            longest: proposed.max(judged),
            sequences: live + u64::from(judged > 0),
            // Each may have to copy the end of its parent's text.
            blocks: table(proposed)
                .saturating_add(1)
                .saturating_mul(live)
                .saturating_add(table(judged)),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use kvblock::trace;

    use super::*;
    use crate::serve::settings::tests::usual;

    #[test]
    fn the_widest_step_and_the_longest_text_count() {
        let rows: String = [
            (-1, 0, -1, 7, 1),
            (0, 1, 0, 100, 1),
            (0, 2, 0, 10, 1),
            (0, 3, 0, 10, 0),
            (1, 4, 2, 10, 0),
        ]
        .map(|(step, node, parent, tokens, keep)| {
            format!(
                "{{\"problem\":0,\"step\":{step},\"node\":{node},\"parent\":{parent},\"new_tokens\":{tokens},\"value\":null,\"keep\":{keep}}}\n"
            )
        })
        .concat();
        let problems = trace::parse_trees(rows.as_bytes()).unwrap();
        let settings = Settings {
            growth: GrowthArg::Cap,
            ..usual()
        };
        // Step 0: the root, 3 nodes, 1 that judges; step 1: the root, the 2 that are kept, 1 node, 1 that judges.
        let table = |positions: u64| positions.div_ceil(16);
        assert_eq!(
            Needs::of(&problems[0], &settings),
            Needs {
                longest: 107 + 357,
                sequences: 5,
                blocks: 4 * (table(107 + 161) + 1) + table(107 + 357),
            }
        );
        let root = rows.lines().next().unwrap();
        let problems = trace::parse_trees(root.as_bytes()).unwrap();
        let alone = Needs::of(&problems[0], &settings);
        assert_eq!((alone.longest, alone.sequences), (7 + 161, 1));
    }
}
