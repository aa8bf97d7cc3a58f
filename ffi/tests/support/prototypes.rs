//! The functions that the header declares, as a C compiler reads them.

use super::order::word;

/// A declared function.
pub(crate) struct Prototype {
    pub(crate) name: String,
    /// What it answers, `kvb_status` for instance.
    pub(crate) answer: String,
    /// Each as it is declared, `const kvb_pool *pool` for instance.
    pub(crate) parameters: Vec<String>,
}

/// All of them, in the order of the header; not those that it defines itself.
pub(crate) fn prototypes() -> Vec<Prototype> {
    let declarations = super::declarations();
    let mut found = Vec::new();
    let mut depth = 0;
    for statement in declarations.split_inclusive([';', '{', '}']) {
        if depth == 0 && statement.ends_with(");") && !statement.trim_start().starts_with("typedef")
        {
            let (head, parameters) = statement.split_once('(').expect("a list of parameters");
            let head = head.trim();
            let start = head.rfind([' ', '*', '\n']).map_or(0, |at| at + 1);
            let list = parameters.trim_end_matches(");");
            found.push(Prototype {
                name: word(&head[start..]).to_owned(),
                answer: head[..start].trim().to_owned(),
                parameters: list
                    .split(',')
                    .map(|parameter| parameter.trim().to_owned())
                    .filter(|parameter| parameter != "void")
                    .collect(),
            });
        }
        depth += i32::from(statement.ends_with('{')) - i32::from(statement.ends_with('}'));
    }
    assert!(found.len() > 50, "the header declares functions");
    found
}
