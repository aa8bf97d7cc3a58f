//! Trees of thoughts, one problem after another: forks and pruning for real.
//!
//! The problem's prompt is what proposes continuations, and each node is a sequence that goes on from its parent's: a fork, to
//! which its tokens are appended one a step, all nodes of a step together. Then each is judged, by a prompt of its own. What
//! is not kept is released, and at the problem's end everything is.
//!
//! ```text
//! propose prompt | task ─┬─ node ─┬─ node      the prompts are published: later problems find them
//!                        └─ node  └─ node
//! value prompt | task node node                a judgement: computed and released
//! ```
//!
//! What a problem needs at the least is told before any of its text is made: one that can never be solved costs nothing.

mod needs;

use core::ops::Range;

use alloc::vec;
use alloc::vec::Vec;

use kvblock::trace::{Content, Problem};
use kvblock::{Admit, Handle, Namespace, Prompt};
use serde::Serialize;

use super::figures::Outcome;
use super::fleet::figures::EngineFigures;
use super::log::Log;
use super::memory::{Fork, Memory};
use super::settings::Settings;
use super::summary::count;
use crate::failure::Failure;
use crate::summary::Row;
use needs::Needs;

/// What the trees came to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct TreeFigures {
    pub(crate) problems: u64,
    pub(crate) solved: u64,
    /// The sum of the next two.
    pub(crate) failed: u64,
    pub(crate) short_of_blocks: u64,
    pub(crate) short_of_sequences: u64,
    /// Sequences that would be enough for each problem that was short of them.
    pub(crate) sequences_needed: u64,
    /// Nodes of all problems; the sum of the next three.
    pub(crate) nodes: u64,
    pub(crate) kept: u64,
    pub(crate) pruned: u64,
    /// Nodes whose step was not finished.
    pub(crate) given_up: u64,
    pub(crate) judged: u64,
    /// The most sequences at a time.
    pub(crate) most_at_once: u64,
    /// Sequences that were left after their problem.
    pub(crate) left: u64,
}

impl TreeFigures {
    pub(crate) fn rows(&self) -> Vec<Row> {
        Vec::from([
            count("problems", self.problems, "problems"),
            count("  solved", self.solved, "problems"),
            count(
                "  failed, short of blocks",
                self.short_of_blocks,
                "problems",
            ),
            count(
                "  failed, short of sequences",
                self.short_of_sequences,
                "problems",
            ),
            count("nodes", self.nodes, "nodes"),
            count("  kept", self.kept, "nodes"),
            count("  pruned", self.pruned, "nodes"),
            count("  given up with their problem", self.given_up, "nodes"),
            count("  left at the end", self.left, "nodes"),
            count("most branches at a time", self.most_at_once, "sequences"),
            count("judgements", self.judged, "prompts"),
        ])
    }
}

/// Solves the problems. `on_end` is called after each.
pub(crate) fn run(
    settings: &Settings,
    problems: &[Problem],
    on_end: &mut dyn FnMut(),
) -> Result<Outcome, Failure> {
    let mut solver = Solver::new(settings)?;
    for problem in problems {
        let goes_on = solver.solve(problem)?;
        on_end();
        if !goes_on {
            break;
        }
    }
    solver.log.figures.tree = Some(solver.tree);
    let figures = EngineFigures {
        ready: Some(0),
        ..EngineFigures::default()
    };
    let only = (solver.memory, Vec::new(), figures);
    solver.log.finish(Vec::from([only]), Vec::new())
}

/// Few-shot prompts, which all problems share.
#[derive(Clone, Copy, Debug)]
enum Shots {
    Propose,
    Value,
    LastValue,
}

impl Shots {
    /// Those that judge the nodes of a step, of so many.
    const fn that_judge(step: usize, steps: usize) -> Self {
        if step + 1 == steps {
            Self::LastValue
        } else {
            Self::Value
        }
    }

    const fn tokens(self) -> u64 {
        match self {
            Self::Propose => Problem::PROPOSE_PROMPT_TOKENS,
            Self::Value => Problem::VALUE_PROMPT_TOKENS,
            Self::LastValue => Problem::LAST_VALUE_PROMPT_TOKENS,
        }
    }
}

/// Why a problem ends before it is solved.
#[derive(Debug)]
enum Stop {
    /// There are not enough blocks for it.
    NoBlocks,
    /// There may not be as many sequences at a time.
    NoSequences,
    /// An audit failed, and the run ends.
    Inconsistent,
    /// The run ends without a report.
    Failure(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// No problem has this number, by which the shared prompts are told from nodes.
const SHARED: u64 = u64::MAX;

struct Solver<'t> {
    settings: &'t Settings,
    content: Content,
    namespace: Namespace,
    memory: Memory,
    log: Log,
    tree: TreeFigures,
    /// The prompt or the token at hand; one buffer for all.
    text: Vec<u32>,
}

/// A sequence that a step computes: from where, and up to where.
struct Chunk {
    handle: Handle,
    hit: usize,
    length: usize,
}

impl<'t> Solver<'t> {
    fn new(settings: &'t Settings) -> Result<Self, Failure> {
        Ok(Self {
            settings,
            content: Content::new(settings.seed, 1, 1),
            namespace: Namespace::default(),
            memory: Memory::new(settings, 0)?,
            log: Log::new(settings),
            tree: TreeFigures::default(),
            text: Vec::new(),
        })
    }

    /// Solves one problem, or counts why it cannot be; nothing of it is left. False if the run ends here.
    fn solve(&mut self, problem: &Problem) -> Result<bool, Failure> {
        let needs = Needs::of(problem, self.settings);
        let before = (self.log.figures.computed, self.log.figures.generated);
        let settled = self.tree.kept + self.tree.pruned;
        let mut live = vec![None; problem.nodes().len()];
        let grown = self.grow_tree(problem, &needs, &mut live);
        for handle in live.into_iter().rev().flatten() {
            self.memory.release(handle)?;
        }
        self.tree.problems += 1;
        self.tree.left += self.memory.len() as u64;
        let nodes = problem.nodes().len() as u64 - 1;
        self.tree.nodes += nodes;
        self.tree.given_up += nodes - (self.tree.kept + self.tree.pruned - settled);
        let goes_on = self.count(grown, &needs)?;

        let figures = &mut self.log.figures;
        let generated = figures.generated - before.1;
        figures.outputs.add(generated);
        figures.inputs.add(figures.computed - before.0 - generated);
        Ok(goes_on)
    }

    /// Counts how a problem ended. False if the run ends with it.
    fn count(&mut self, grown: Result<(), Stop>, needs: &Needs) -> Result<bool, Failure> {
        let (figures, tree) = (&mut self.log.figures, &mut self.tree);
        figures.arrived += 1;
        match grown {
            Ok(()) => {
                figures.completed += 1;
                tree.solved += 1;
            }
            Err(Stop::NoBlocks) => {
                figures.failed += 1;
                tree.failed += 1;
                tree.short_of_blocks += 1;
                let positions = needs.blocks.saturating_mul(self.settings.block_size as u64);
                figures.longest_refused = figures.longest_refused.max(positions);
            }
            Err(Stop::NoSequences) => {
                figures.failed += 1;
                tree.failed += 1;
                tree.short_of_sequences += 1;
                tree.sequences_needed = tree.sequences_needed.max(needs.sequences);
            }
            Err(Stop::Inconsistent) => return Ok(false),
            Err(Stop::Failure(failure)) => return Err(failure),
        }
        Ok(true)
    }

    fn grow_tree(
        &mut self,
        problem: &Problem,
        needs: &Needs,
        live: &mut [Option<Handle>],
    ) -> Result<(), Stop> {
        // Not worth making its tokens.
        let pool = self.memory.pool();
        if needs.longest.div_ceil(pool.block_size() as u64) > pool.capacity() as u64 {
            return Err(Stop::NoBlocks);
        }
        if needs.sequences > self.settings.max_sequences as u64 {
            return Err(Stop::NoSequences);
        }
        self.plant(problem, live)?;
        let steps = problem.steps().len();
        for (step, nodes) in problem.steps().enumerate() {
            self.branch(problem, &nodes, live)?;
            self.write(problem, &nodes, live)?;
            self.judge(problem, &nodes, Shots::that_judge(step, steps))?;
            for node in nodes {
                if problem.nodes()[node].keep {
                    self.tree.kept += 1;
                } else if let Some(handle) = live[node].take() {
                    self.memory.release(handle)?;
                    self.tree.pruned += 1;
                }
            }
        }
        Ok(())
    }

    /// Computes the prompt of the problem.
    fn plant(&mut self, problem: &Problem, live: &mut [Option<Handle>]) -> Result<(), Stop> {
        let root = self
            .admit(problem, 0, Shots::Propose)?
            .ok_or(Stop::NoBlocks)?;
        live[0] = Some(root.handle);
        self.compute(&[root])
    }

    /// Forks the parents of the nodes of a step.
    fn branch(
        &mut self,
        problem: &Problem,
        nodes: &Range<usize>,
        live: &mut [Option<Handle>],
    ) -> Result<(), Stop> {
        let mut children = Vec::new();
        let mut of_parent = Vec::new();
        for parent in 0..nodes.start {
            of_parent.clear();
            let is_child = |node: &usize| problem.nodes()[*node].parent == Some(parent);
            of_parent.extend(nodes.clone().filter(is_child));
            let Some(handle) = live[parent].filter(|_| !of_parent.is_empty()) else {
                continue;
            };
            children.clear();
            children.resize(of_parent.len(), handle);
            match self.memory.fork(handle, &mut children)? {
                Fork::Made => {}
                Fork::NoMemory => return Err(Stop::NoBlocks),
                Fork::NoSlot => return Err(Stop::NoSequences),
            }
            self.log.figures.forks += children.len() as u64;
            for (node, child) in of_parent.iter().zip(&children) {
                live[*node] = Some(*child);
            }
        }
        let sequences = self.memory.len() as u64;
        self.tree.most_at_once = self.tree.most_at_once.max(sequences);
        Ok(())
    }

    /// Appends the nodes' tokens, one a step, to as many nodes as a step's budget has tokens.
    fn write(
        &mut self,
        problem: &Problem,
        nodes: &Range<usize>,
        live: &[Option<Handle>],
    ) -> Result<(), Stop> {
        let mut written = vec![0; nodes.len()];
        loop {
            let mut batch = Vec::new();
            let mut turn = Vec::new();
            for (node, done) in nodes.clone().zip(&mut written) {
                if let Some(handle) = live[node] {
                    if *done < problem.nodes()[node].new_tokens
                        && batch.len() < self.settings.token_budget
                    {
                        batch.push((handle, 1));
                        turn.push((handle, node, *done));
                        *done += 1;
                    }
                }
            }
            if batch.is_empty() {
                return Ok(());
            }
            let mut short = Vec::new();
            self.memory.grow(&batch, &mut short)?;
            if !short.is_empty() {
                return Err(Stop::NoBlocks);
            }
            self.pass(live.iter().flatten().copied(), batch.len())?;
            for (handle, node, done) in turn {
                let parent = problem.nodes()[node]
                    .parent
                    .map_or(0, |at| problem.nodes()[at].tokens);
                let at = to_usize(Shots::Propose.tokens() + parent) + to_usize(done.into());
                self.text.clear();
                self.append_node(problem, node, done.into(), 1)?;
                self.memory.tokens(handle, at, &self.text)?;
                self.memory.computed(handle, at + 1)?;
                self.log.figures.generated += 1;
            }
            self.end_step()?;
        }
    }

    /// Computes a prompt for each node of a step that judges it; as many at a time as a step's budget has tokens for.
    fn judge(&mut self, problem: &Problem, nodes: &Range<usize>, shots: Shots) -> Result<(), Stop> {
        let mut group = Vec::new();
        let judged = self.judge_in_groups(problem, nodes, shots, &mut group);
        for chunk in group {
            self.memory.release(chunk.handle)?;
        }
        judged
    }

    /// What is left in `group` is to be released.
    fn judge_in_groups(
        &mut self,
        problem: &Problem,
        nodes: &Range<usize>,
        shots: Shots,
        group: &mut Vec<Chunk>,
    ) -> Result<(), Stop> {
        let mut tokens = 0;
        for node in nodes.clone() {
            if tokens >= self.settings.token_budget
                || !self.memory.has_slot(self.settings.max_sequences)
            {
                self.judge_group(group)?;
                tokens = 0;
            }
            let mut admitted = self.admit(problem, node, shots)?;
            if admitted.is_none() {
                self.judge_group(group)?;
                tokens = 0;
                admitted = self.admit(problem, node, shots)?;
            }
            let chunk = admitted.ok_or(Stop::NoBlocks)?;
            tokens += chunk.length - chunk.hit;
            group.push(chunk);
        }
        self.judge_group(group)
    }

    fn judge_group(&mut self, group: &mut Vec<Chunk>) -> Result<(), Stop> {
        self.compute(group)?;
        self.tree.judged += group.len() as u64;
        for chunk in group.drain(..) {
            self.memory.release(chunk.handle)?;
        }
        Ok(())
    }

    /// Admits the shared prompt followed by a node's whole text; `None` if there is no memory.
    fn admit(
        &mut self,
        problem: &Problem,
        node: usize,
        shots: Shots,
    ) -> Result<Option<Chunk>, Failure> {
        self.text.clear();
        self.append_text((SHARED, shots as u64), 0, to_usize(shots.tokens()))?;
        let mut path = Vec::from([node]);
        while let Some(parent) = path.last().and_then(|at| problem.nodes()[*at].parent) {
            path.push(parent);
        }
        for at in path.into_iter().rev() {
            self.append_node(
                problem,
                at,
                0,
                to_usize(problem.nodes()[at].new_tokens.into()),
            )?;
        }
        let longest = problem.nodes().iter().map(|node| node.tokens).max();
        let growth = match shots {
            Shots::Propose => longest.unwrap_or(0) - problem.nodes()[node].tokens,
            // A judgement's length is not known, and it is not generated.
            Shots::Value | Shots::LastValue => 0,
        };
        let prompt = Prompt::new(&self.namespace, &self.text);
        let request = Admit::new(prompt, self.settings.growth.of(to_usize(growth)))
            .budget(self.settings.budget.into())
            .label(problem.number());
        let length = self.text.len();
        let admitted = self.memory.admit(&request)?;
        Ok(admitted.ok().map(|admitted| Chunk {
            handle: admitted.handle,
            hit: admitted.hit,
            length,
        }))
    }

    /// Computes prompts, in as many steps as the budget asks for.
    fn compute(&mut self, prompts: &[Chunk]) -> Result<(), Stop> {
        let mut left: usize = prompts.iter().map(|chunk| chunk.length - chunk.hit).sum();
        while left > 0 {
            let now = left.min(self.settings.token_budget);
            left -= now;
            self.pass(
                prompts
                    .iter()
                    .map(|chunk| chunk.handle)
                    .collect::<Vec<_>>()
                    .into_iter(),
                now,
            )?;
            self.end_step()?;
        }
        for chunk in prompts {
            self.memory.computed(chunk.handle, chunk.length)?;
        }
        Ok(())
    }

    /// A step over so many tokens.
    fn pass(
        &mut self,
        running: impl Iterator<Item = Handle>,
        tokens: usize,
    ) -> Result<(), Failure> {
        let figures = &mut self.log.figures;
        figures.computed += tokens as u64;
        figures.full_steps += u64::from(tokens == self.settings.token_budget);
        let running: Vec<_> = running.collect();
        self.log.pass(&self.memory, running.into_iter(), 0, tokens)
    }

    fn end_step(&mut self) -> Result<(), Stop> {
        self.memory.end_step()?;
        if self.log.audit_if_due(&self.memory, self.log.figures.steps) {
            Ok(())
        } else {
            Err(Stop::Inconsistent)
        }
    }

    fn append_node(
        &mut self,
        problem: &Problem,
        node: usize,
        from: u64,
        count: usize,
    ) -> Result<(), Failure> {
        self.append_text((problem.number(), node as u64), from, count)
    }

    fn append_text(&mut self, whose: (u64, u64), from: u64, count: usize) -> Result<(), Failure> {
        self.content
            .answer(whose, from, count, &mut self.text)
            .map_err(|error| Failure::Input(alloc::format!("the text of a node: {error}")))
    }
}

/// Lengths of texts that are in memory.
fn to_usize(tokens: u64) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use kvblock::trace;

    use super::super::settings::tests::usual;
    use super::*;

    const PROBLEM: &[u8] =
        br#"{"problem":0,"step":-1,"node":0,"parent":-1,"new_tokens":7,"value":null,"keep":1}
{"problem":0,"step":0,"node":1,"parent":0,"new_tokens":7,"value":null,"keep":1}"#;

    #[test]
    fn a_failed_audit_ends_the_run_and_is_kept() {
        let problems = trace::parse_trees(PROBLEM).unwrap();
        let settings = Settings {
            audit_every: Some(1),
            ..usual()
        };
        let mut solver = Solver::new(&settings).unwrap();
        assert!(solver.solve(&problems[0]).unwrap());
        let steps = solver.log.figures.steps;
        solver.log.figures.inconsistency = Some("found before".to_string());
        assert!(!solver.solve(&problems[0]).unwrap());
        let figures = &solver.log.figures;
        assert_eq!(figures.steps, steps + 1);
        assert_eq!(figures.inconsistency.as_deref(), Some("found before"));
        let tree = solver.tree;
        assert_eq!((tree.problems, tree.solved, tree.failed), (2, 1, 0));
        assert_eq!((tree.nodes, tree.kept, tree.given_up), (2, 1, 1));
        assert_eq!(tree.left, 0);
    }
}
