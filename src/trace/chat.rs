//! A multi-turn chat workload made from a seed, for those who have no trace at hand.
//!
//! 400 conversations arrive within an hour, each under one of four system prompts. Every turn sends the whole
//! conversation again: system prompt, earlier messages and answers, the new message; so a turn can hit all that the turn
//! before computed, and the first turns of different conversations share a system prompt. Ids stand for 16 tokens, only
//! full ones are listed, as in the agent traces.

use alloc::vec::Vec;
use core::time::Duration;

use super::random::Random;
use super::request::{Ids, Listing, Request};

const CONVERSATIONS: u64 = 400;
const HOUR_MS: u64 = 3_600_000;
/// Tokens that one id stands for.
const ID_TOKENS: u64 = 16;
/// Tokens of each system prompt; the first ones are the more popular.
const SYSTEM_PROMPTS: [u64; 4] = [512, 1_536, 256, 3_072];
const MEAN_TURNS: u64 = 6;
const MEAN_MESSAGE: u64 = 120;
const MEAN_ANSWER: u64 = 240;
/// Mean time between an answer and the next message.
const MEAN_PAUSE_MS: u64 = 45_000;
/// Time that an answer's token takes.
const TOKEN_MS: u64 = 25;

/// The requests of the built-in chat workload, by arrival. The same seed gives the same requests on every machine.
#[must_use]
pub fn chat(seed: u64) -> Vec<Request> {
    let mut random = Random::new(seed);
    let mut next_id = SYSTEM_PROMPTS.iter().sum::<u64>() / ID_TOKENS;
    let mut requests = Vec::new();
    for _ in 0..CONVERSATIONS {
        let system = system_prompt(&mut random);
        let mut time_ms = random.below(HOUR_MS);
        let mut history = 0;
        for _ in 0..=random.skewed(MEAN_TURNS - 1) {
            history += 1 + random.skewed(MEAN_MESSAGE);
            let output_length = 1 + random.skewed(MEAN_ANSWER);
            requests.push(Request {
                timestamp: Duration::from_millis(time_ms),
                input_length: system.tokens + history,
                output_length,
                ids: listed(&system, next_id, history),
                listing: Listing::Runs,
                turn: None,
            });
            history += output_length;
            time_ms += output_length * TOKEN_MS + random.skewed(MEAN_PAUSE_MS);
        }
        next_id += history / ID_TOKENS;
    }
    // Stable: requests of one conversation keep their order.
    requests.sort_by_key(|request| request.timestamp);
    requests
}

struct System {
    first_id: u64,
    tokens: u64,
}

/// One of the system prompts; the smaller of two draws, so that the first ones are more popular.
fn system_prompt(random: &mut Random) -> System {
    let count = SYSTEM_PROMPTS.len() as u64;
    let drawn = random.below(count).min(random.below(count));
    let mut system = System {
        first_id: 0,
        tokens: 0,
    };
    for (tokens, _) in SYSTEM_PROMPTS.into_iter().zip(0..=drawn) {
        system = System {
            first_id: system.first_id + system.tokens / ID_TOKENS,
            tokens,
        };
    }
    system
}

/// The system prompt's ids, then those of the conversation's full blocks. System prompts are whole blocks.
fn listed(system: &System, first_id: u64, history: u64) -> Ids {
    let mut ids = Ids::new();
    for (first, tokens) in [(system.first_id, system.tokens), (first_id, history)] {
        // A conversation is a few thousand tokens long, far from the limit on ids.
        let pushed = ids.push_run(first, tokens / ID_TOKENS);
        debug_assert!(pushed.is_ok(), "a conversation with too many ids");
    }
    ids
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_requests_and_another_seed_others() {
        assert_eq!(chat(7), chat(7));
        assert_ne!(chat(7), chat(8));
    }

    #[test]
    fn every_id_follows_the_same_id_wherever_it_appears() {
        let mut parents = BTreeMap::new();
        for request in chat(0) {
            let mut parent = None;
            for id in request.ids.iter() {
                assert_eq!(*parents.entry(id).or_insert(parent), parent, "id {id}");
                parent = Some(id);
            }
        }
    }

    #[test]
    fn requests_come_by_time_and_list_their_full_blocks() {
        let requests = chat(0);
        assert!(requests.is_sorted_by_key(|request| request.timestamp));
        assert!(
            requests
                .iter()
                .all(|request| request.ids.len() as u64 == request.input_length / ID_TOKENS)
        );
        assert!(
            (1_500..4_000).contains(&requests.len()),
            "{} requests",
            requests.len()
        );
    }
}
