//! Which of the instances that can take a request gets it.

use super::settings::Placement;

/// An instance that can take the request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) instance: usize,
    /// Positions of the prompt that are cached there.
    pub(crate) hit: usize,
    /// Blocks promised to nobody.
    pub(crate) available: usize,
}

/// The router: where the next request goes.
#[derive(Debug)]
pub(crate) struct Router {
    placement: Placement,
    last: Option<usize>,
}

impl Router {
    pub(crate) const fn new(placement: Placement) -> Self {
        Self {
            placement,
            last: None,
        }
    }

    /// The best of the candidates, which come by their numbers; of equals the first.
    pub(crate) fn choose(&self, candidates: &[Candidate]) -> Option<usize> {
        let best = |key: fn(&Candidate) -> (usize, usize)| {
            // `max_by_key` gives the last of equals.
            candidates.iter().rev().max_by_key(|it| key(it))
        };
        let chosen = match self.placement {
            Placement::Affinity => best(|it| (it.hit, it.available)),
            Placement::MostFree => best(|it| (it.available, 0)),
            Placement::RoundRobin => {
                let behind = |it: &&Candidate| self.last.is_none_or(|last| it.instance > last);
                candidates.iter().find(behind).or(candidates.first())
            }
        };
        chosen.map(|it| it.instance)
    }

    /// It went there.
    pub(crate) const fn placed(&mut self, instance: usize) {
        self.last = Some(instance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(instance: usize, hit: usize, available: usize) -> Candidate {
        Candidate {
            instance,
            hit,
            available,
        }
    }

    #[test]
    fn each_placement_has_its_own_order() {
        let three = [candidate(0, 16, 7), candidate(1, 16, 7), candidate(3, 0, 9)];
        for (placement, expected) in [
            (Placement::Affinity, [0, 0, 0, 0]),
            (Placement::MostFree, [3, 3, 3, 3]),
            (Placement::RoundRobin, [0, 1, 3, 0]),
        ] {
            let mut router = Router::new(placement);
            let chosen = [(); 4].map(|()| {
                let chosen = router.choose(&three).expect("one of three");
                router.placed(chosen);
                chosen
            });
            assert_eq!(chosen, expected, "{placement:?}");
        }
        assert_eq!(Router::new(Placement::MostFree).choose(&[]), None);
    }
}
