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

use core::ops::Range;

use alloc::vec;
use alloc::vec::Vec;

use kvblock::trace::{Content, Problem};
use kvblock::{Admit, Handle, Namespace, Prompt};
use serde::Serialize;

use super::figures::Outcome;
use super::log::Log;
use super::memory::{Fork, Memory};
use super::settings::Settings;
use super::summary::count;
use crate::failure::Failure;
use crate::summary::Row;

/// What the trees came to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct TreeFigures {
    pub(crate) problems: u64,
    pub(crate) nodes: u64,
    pub(crate) kept: u64,
    pub(crate) pruned: u64,
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
            count("nodes", self.nodes, "nodes"),
            count("  kept", self.kept, "nodes"),
            count("  pruned", self.pruned, "nodes"),
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
    let mut solver = Solver {
        settings,
        content: Content::new(settings.seed, 1, 1),
        namespace: Namespace::default(),
        memory: Memory::new(&settings.pool(), &settings.sequences())?,
        log: Log::new(settings),
        tree: TreeFigures::default(),
        text: Vec::new(),
    };
    for problem in problems {
        let solved = solver.solve(problem)?;
        let figures = &mut solver.log.figures;
        figures.arrived += 1;
        figures.completed += u64::from(solved);
        figures.failed += u64::from(!solved);
        on_end();
        if solver.log.figures.inconsistency.is_some() {
            break;
        }
    }
    solver.log.figures.tree = Some(solver.tree);
    solver.log.finish(solver.memory)
}

/// Few-shot prompts, which all problems share.
#[derive(Clone, Copy, Debug)]
enum Shots {
    Propose,
    Value,
    LastValue,
}

impl Shots {
    fn tokens(self) -> usize {
        let tokens = match self {
            Self::Propose => Problem::PROPOSE_PROMPT_TOKENS,
            Self::Value => Problem::VALUE_PROMPT_TOKENS,
            Self::LastValue => Problem::LAST_VALUE_PROMPT_TOKENS,
        };
        usize::try_from(tokens).unwrap_or(usize::MAX)
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

impl Solver<'_> {
    /// Solves one problem; false if there is no memory for it. Either way nothing of it is left.
    fn solve(&mut self, problem: &Problem) -> Result<bool, Failure> {
        let mut live = vec![None; problem.nodes().len()];
        let solved = self.grow_tree(problem, &mut live)?;
        for handle in live.into_iter().rev().flatten() {
            self.memory.release(handle)?;
        }
        self.tree.problems += 1;
        self.tree.left += self.memory.sequences().len() as u64;
        Ok(solved)
    }

    fn grow_tree(
        &mut self,
        problem: &Problem,
        live: &mut [Option<Handle>],
    ) -> Result<bool, Failure> {
        if !self.plant(problem, live)? {
            return Ok(false);
        }
        let steps = problem.steps().len();
        for (step, nodes) in problem.steps().enumerate() {
            self.tree.nodes += nodes.len() as u64;
            let shots = if step + 1 == steps {
                Shots::LastValue
            } else {
                Shots::Value
            };
            if !self.branch(problem, &nodes, live)?
                || !self.write(problem, &nodes, live)?
                || !self.judge(problem, &nodes, shots)?
            {
                return Ok(false);
            }
            for node in nodes {
                if problem.nodes()[node].keep {
                    self.tree.kept += 1;
                } else if let Some(handle) = live[node].take() {
                    self.memory.release(handle)?;
                    self.tree.pruned += 1;
                }
            }
        }
        Ok(true)
    }

    /// Computes the prompt of the problem.
    fn plant(&mut self, problem: &Problem, live: &mut [Option<Handle>]) -> Result<bool, Failure> {
        let Some(root) = self.admit(problem, 0, Shots::Propose)? else {
            return Ok(false);
        };
        live[0] = Some(root.handle);
        self.compute(&[root])?;
        Ok(true)
    }

    /// Forks the parents of the nodes of a step.
    fn branch(
        &mut self,
        problem: &Problem,
        nodes: &Range<usize>,
        live: &mut [Option<Handle>],
    ) -> Result<bool, Failure> {
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
            if self.memory.fork(handle, &mut children)? != Fork::Made {
                return Ok(false);
            }
            self.log.figures.forks += children.len() as u64;
            for (node, child) in of_parent.iter().zip(&children) {
                live[*node] = Some(*child);
            }
        }
        let sequences = self.memory.sequences().len() as u64;
        self.tree.most_at_once = self.tree.most_at_once.max(sequences);
        Ok(true)
    }

    /// Appends the nodes' tokens, one a step, to as many nodes as a step's budget has tokens.
    fn write(
        &mut self,
        problem: &Problem,
        nodes: &Range<usize>,
        live: &[Option<Handle>],
    ) -> Result<bool, Failure> {
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
                return Ok(true);
            }
            let mut short = Vec::new();
            self.memory.grow(&batch, &mut short)?;
            if !short.is_empty() {
                return Ok(false);
            }
            self.pass(live.iter().flatten().copied(), batch.len())?;
            for (handle, node, done) in turn {
                let parent = problem.nodes()[node]
                    .parent
                    .map_or(0, |at| problem.nodes()[at].tokens);
                let at = Shots::Propose.tokens() + to_usize(parent) + to_usize(done.into());
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
    fn judge(
        &mut self,
        problem: &Problem,
        nodes: &Range<usize>,
        shots: Shots,
    ) -> Result<bool, Failure> {
        let mut group: Vec<Chunk> = Vec::new();
        let mut tokens = 0;
        for node in nodes.clone() {
            if tokens >= self.settings.token_budget
                || !self.memory.has_slot(self.settings.max_sequences)
            {
                self.judge_group(&mut group)?;
                tokens = 0;
            }
            let mut admitted = self.admit(problem, node, shots)?;
            if admitted.is_none() {
                self.judge_group(&mut group)?;
                tokens = 0;
                admitted = self.admit(problem, node, shots)?;
            }
            let Some(chunk) = admitted else {
                return Ok(false);
            };
            tokens += chunk.length - chunk.hit;
            group.push(chunk);
        }
        self.judge_group(&mut group)?;
        self.tree.judged += nodes.len() as u64;
        Ok(true)
    }

    fn judge_group(&mut self, group: &mut Vec<Chunk>) -> Result<(), Failure> {
        self.compute(group)?;
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
        if !self.memory.has_slot(self.settings.max_sequences) {
            return Ok(None);
        }
        self.text.clear();
        self.append_text((SHARED, shots as u64), 0, shots.tokens())?;
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
    fn compute(&mut self, prompts: &[Chunk]) -> Result<(), Failure> {
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
        self.log.figures.computed += tokens as u64;
        let running: Vec<_> = running.collect();
        self.log.step(&self.memory, running.into_iter(), 0, tokens)
    }

    fn end_step(&mut self) -> Result<(), Failure> {
        self.memory.end_step()?;
        self.log.audit_if_due(&self.memory);
        Ok(())
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
