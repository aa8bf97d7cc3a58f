//! Reasoning trees: a problem is solved step by step, each step proposes continuations of the thoughts that were kept, judges
//! them and keeps a few.
//!
//! ```text
//! step        0            1            2
//!       root ─┬─ node kept ─┬─ node kept ─┬─ node
//!             │             └─ node       └─ node kept
//!             └─ node
//! ```
//!
//! A node's text follows its parent's, so the text of a node begins with the texts on the path to it. A node that is not
//! kept is given up when its step ends, and nothing continues it.
//! Tree of thoughts: Yao et al., NeurIPS 2023, <https://github.com/princeton-nlp/tree-of-thought-llm>.

use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use std::collections::HashMap;

use serde::Deserialize;

use super::error::Reason;
use super::format::Format;
use super::json::parse_object;

/// One problem: its root, which is the task, and the nodes of each step.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    number: u64,
    /// The root, then the nodes by step.
    nodes: Vec<Node>,
    /// Where the nodes of each step end.
    ends: Vec<usize>,
}

/// A node of a reasoning tree: a text that continues its parent's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Its number in the trace.
    pub number: u64,
    /// Its parent's place among [`Problem::nodes`]: a node of the step before that is kept, or the root. The root has none.
    pub parent: Option<usize>,
    /// The tokens that it adds to its parent's text.
    pub new_tokens: u32,
    /// The tokens of its whole text, the root's included.
    pub tokens: u64,
    /// The sum of its judgements; the root has none.
    pub value: Option<f64>,
    /// Whether it survives its step.
    pub keep: bool,
}

impl Problem {
    /// Tokens of the few-shot prompt before a node's text when continuations of it are proposed, in the published trace.
    pub const PROPOSE_PROMPT_TOKENS: u64 = 161;
    /// Tokens of the few-shot prompt before a node's text when it is judged.
    pub const VALUE_PROMPT_TOKENS: u64 = 357;
    /// The same for the nodes of the last step, which are answers.
    pub const LAST_VALUE_PROMPT_TOKENS: u64 = 279;
    /// How many judgements are sampled for a node.
    pub const JUDGEMENTS: u64 = 3;

    /// Its number in the trace.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// All nodes: the root first, then step by step; a parent stands before its children.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// For each step, the places of its nodes among [`nodes`](Self::nodes); never none. The root is of no step.
    #[must_use]
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator + '_ {
        self.ends.iter().enumerate().map(|(step, &end)| {
            let start = step.checked_sub(1).map_or(1, |before| self.ends[before]);
            start..end
        })
    }
}

#[derive(Deserialize)]
struct Row {
    problem: u64,
    step: i64,
    node: u64,
    parent: i64,
    new_tokens: u32,
    value: Option<f64>,
    keep: u8,
}

/// A row with its fields checked one by one, not yet against other rows.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) problem: u64,
    /// `None` for the root.
    place: Option<Place>,
    node: u64,
    new_tokens: u32,
    value: Option<f64>,
    keep: bool,
}

#[derive(Debug)]
struct Place {
    step: u64,
    parent: u64,
}

/// Reads one row.
pub(super) fn parse_row(line: &str) -> Result<Entry, Reason> {
    let row: Row = parse_object(line, Format::Tree)?;
    let keep = match row.keep {
        0 => false,
        1 => true,
        other => return Err(Reason::field("keep", "0 or 1", &format!("{other}"))),
    };
    let place = match (u64::try_from(row.step), u64::try_from(row.parent)) {
        (Ok(step), Ok(parent)) => Some(Place { step, parent }),
        (Err(_), Err(_)) if row.step == -1 && row.parent == -1 => None,
        (Err(_), _) => {
            let expected = "a step from 0 on, or -1 with the parent -1";
            return Err(Reason::field("step", expected, &format!("{}", row.step)));
        }
        (Ok(_), Err(_)) => {
            let expected = "a node, or -1 with the step -1";
            return Err(Reason::field(
                "parent",
                expected,
                &format!("{}", row.parent),
            ));
        }
    };
    Ok(Entry {
        problem: row.problem,
        place,
        node: row.node,
        new_tokens: row.new_tokens,
        value: row.value,
        keep,
    })
}

/// A problem of which more rows may come.
#[derive(Debug)]
pub(super) struct Unfinished {
    problem: Problem,
    /// The place of each node by its number.
    places: HashMap<u64, usize>,
}

impl Unfinished {
    /// Begins with the root.
    pub(super) fn new(root: &Entry) -> Result<Self, Reason> {
        if let Some(place) = &root.place {
            let expected = "-1, the root's, in the first row of a problem";
            return Err(Reason::field("step", expected, &format!("{}", place.step)));
        }
        Ok(Self {
            problem: Problem {
                number: root.problem,
                nodes: Vec::from([Node {
                    number: root.node,
                    parent: None,
                    new_tokens: root.new_tokens,
                    tokens: u64::from(root.new_tokens),
                    value: root.value,
                    keep: root.keep,
                }]),
                ends: Vec::new(),
            },
            places: HashMap::from([(root.node, 0)]),
        })
    }

    pub(super) const fn number(&self) -> u64 {
        self.problem.number
    }

    /// Adds a row of the same problem. An error leaves it of no use.
    pub(super) fn push(&mut self, entry: &Entry) -> Result<(), Reason> {
        let Problem { nodes, ends, .. } = &mut self.problem;
        let Some(place) = &entry.place else {
            let expected = "from 0 on, as the problem has its root";
            return Err(Reason::field("step", expected, "-1"));
        };
        let steps = ends.len();
        let is_next = place.step == steps as u64;
        if !is_next && place.step.checked_add(1) != Some(steps as u64) {
            let expected = "that of the row before, or the next one";
            return Err(Reason::field("step", expected, &format!("{}", place.step)));
        }
        // The parents are the nodes of the step before the node's own; before the first one there is the root.
        let step = if is_next { steps } else { steps - 1 };
        let start_of = |step: usize| step.checked_sub(1).map_or(1, |before| ends[before]);
        let parents = step.checked_sub(1).map_or(0, start_of)..start_of(step);
        let parent = self.places.get(&place.parent).copied();
        let Some(parent) = parent.filter(|parent| parents.contains(parent)) else {
            let expected = "a node of the step before";
            return Err(Reason::field(
                "parent",
                expected,
                &format!("{}", place.parent),
            ));
        };
        if !nodes[parent].keep {
            let expected = "a node that is kept";
            return Err(Reason::field(
                "parent",
                expected,
                &format!("{}", place.parent),
            ));
        }
        if self.places.insert(entry.node, nodes.len()).is_some() {
            let expected = "a number that no other node of the problem has";
            return Err(Reason::field("node", expected, &format!("{}", entry.node)));
        }
        nodes.push(Node {
            number: entry.node,
            parent: Some(parent),
            new_tokens: entry.new_tokens,
            // A problem that overflows this would have 2^32 rows.
            tokens: nodes[parent]
                .tokens
                .saturating_add(u64::from(entry.new_tokens)),
            value: entry.value,
            keep: entry.keep,
        });
        if is_next {
            ends.push(nodes.len());
        } else if let Some(end) = ends.last_mut() {
            *end = nodes.len();
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Problem {
        self.problem
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    fn row(step: i64, node: u64, parent: i64, tokens: u32, keep: u8) -> String {
        format!(
            "{{\"problem\":7,\"step\":{step},\"node\":{node},\"parent\":{parent},\"new_tokens\":{tokens},\"value\":1.5,\"keep\":{keep}}}"
        )
    }

    fn problem(rows: &[String]) -> Result<Problem, Reason> {
        let mut unfinished = Unfinished::new(&parse_row(&rows[0])?)?;
        for row in &rows[1..] {
            unfinished.push(&parse_row(row)?)?;
        }
        Ok(unfinished.finish())
    }

    #[test]
    fn rows_become_a_tree_by_steps() {
        let tree = problem(&[
            row(-1, 10, -1, 7, 1),
            row(0, 4, 10, 17, 1),
            row(0, 2, 10, 18, 0),
            row(0, 9, 10, 19, 1),
            row(1, 3, 9, 20, 0),
            row(1, 0, 4, 0, 0),
        ])
        .unwrap();
        assert_eq!(tree.number(), 7);
        assert_eq!(tree.steps().collect::<Vec<_>>(), [1..4, 4..6]);
        let nodes: Vec<_> = tree
            .nodes()
            .iter()
            .map(|node| {
                (
                    node.number,
                    node.parent,
                    node.new_tokens,
                    node.tokens,
                    node.keep,
                )
            })
            .collect();
        assert_eq!(
            nodes,
            [
                (10, None, 7, 7, true),
                (4, Some(0), 17, 24, true),
                (2, Some(0), 18, 25, false),
                (9, Some(0), 19, 26, true),
                (3, Some(3), 20, 46, false),
                (0, Some(1), 0, 24, false),
            ]
        );
        assert_eq!(tree.nodes()[5].value, Some(1.5));
    }

    #[test]
    fn a_root_alone_is_a_problem_of_no_steps() {
        let root =
            r#"{"problem":0,"step":-1,"node":0,"parent":-1,"new_tokens":7,"value":null,"keep":1}"#;
        let tree = problem(&[root.to_string()]).unwrap();
        assert_eq!(tree.steps().len(), 0);
        assert_eq!(tree.nodes().len(), 1);
        assert_eq!(tree.nodes()[0].value, None);
    }

    #[test]
    fn rows_that_make_no_tree_are_refused_with_their_reason() {
        let root = || row(-1, 0, -1, 7, 1);
        let child = || row(0, 1, 0, 7, 1);
        let cases = [
            (
                Vec::from([child()]),
                "step must be -1, the root's, in the first row of a problem, and is `0`",
            ),
            (
                Vec::from([root(), root()]),
                "step must be from 0 on, as the problem has its root, and is `-1`",
            ),
            (
                Vec::from([root(), row(1, 1, 0, 7, 1)]),
                "step must be that of the row before, or the next one, and is `1`",
            ),
            (
                Vec::from([root(), child(), row(1, 2, 1, 7, 1), row(0, 3, 0, 7, 1)]),
                "step must be that of the row before",
            ),
            (
                Vec::from([root(), row(i64::MAX, 1, 0, 7, 1)]),
                "step must be that of the row before",
            ),
            (
                Vec::from([root(), row(0, 1, 5, 7, 1)]),
                "parent must be a node of the step before, and is `5`",
            ),
            (
                Vec::from([root(), row(0, 1, 1, 7, 1)]),
                "parent must be a node of the step before, and is `1`",
            ),
            (
                Vec::from([root(), child(), row(0, 2, 1, 7, 1)]),
                "parent must be a node of the step before, and is `1`",
            ),
            (
                Vec::from([root(), child(), row(1, 2, 0, 7, 1)]),
                "parent must be a node of the step before, and is `0`",
            ),
            (
                Vec::from([root(), row(0, 1, 0, 7, 0), row(1, 2, 1, 7, 1)]),
                "parent must be a node that is kept, and is `1`",
            ),
            (
                Vec::from([root(), child(), child()]),
                "node must be a number that no other node of the problem has, and is `1`",
            ),
        ];
        for (rows, expected) in cases {
            let reason = problem(&rows).unwrap_err().to_string();
            assert!(
                reason.contains(expected),
                "{rows:?}: `{reason}` does not say `{expected}`"
            );
        }
    }

    #[test]
    fn a_malformed_row_is_refused_with_its_reason() {
        let cases = [
            (row(-2, 0, -1, 7, 1), "step must be a step from 0 on"),
            (row(-1, 0, 0, 7, 1), "step must be a step from 0 on"),
            (row(0, 1, -1, 7, 1), "parent must be a node, or -1"),
            (row(0, 1, 0, 7, 2), "keep must be 0 or 1, and is `2`"),
            (
                row(0, 1, 0, 7, 1).replace("\"new_tokens\":7", "\"new_tokens\":4294967296"),
                "expected u32",
            ),
            (
                row(0, 1, 0, 7, 1).replace("\"new_tokens\":7", "\"new_tokens\":-1"),
                "expected u32",
            ),
            (
                row(0, 1, 0, 7, 1).replace("\"value\":1.5", "\"value\":1e999"),
                "number out of range",
            ),
            (
                row(0, 1, 0, 7, 1).replace("\"value\":1.5", "\"value\":\"1\""),
                "expected f64",
            ),
            (
                row(0, 1, 0, 7, 1).replace("\"keep\":1", "\"kept\":1"),
                "missing field `keep`",
            ),
            (
                "[7, 0, 1, 0, 7, null, 1]".to_string(),
                "an object is expected",
            ),
            (
                r#"{"timestamp": 0, "input_length": 1, "output_length": 1}"#.to_string(),
                "a row of the format `mooncake`, where one of the format `tree` is expected",
            ),
        ];
        for (row, expected) in cases {
            let reason = parse_row(&row).unwrap_err().to_string();
            assert!(
                reason.contains(expected),
                "{row}: `{reason}` does not say `{expected}`"
            );
        }
    }
}
