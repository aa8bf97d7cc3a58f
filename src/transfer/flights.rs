//! A cap on the bytes that are under way.
//!
//! One word counts them. A flight is in it from [`take`](Flights::take) until it lands, at the latest when it is dropped.
//!
//! # Orderings
//! All Relaxed: the count guards no memory, and a read-modify-write sees the newest value, so that the cap is exact.

use core::error::Error;
use core::fmt;

use crate::error::CreateError;
use crate::shared::Shared;
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicU64, unmodelled};

/// The most bytes that transfers may have under way together. Clones have the same cap.
#[derive(Clone)]
pub struct Flights {
    cap: Shared<Cap>,
}

struct Cap {
    max: u64,
    /// Raised by whoever takes, lowered by the drop of a flight.
    in_flight: AtomicU64,
}

/// Bytes under way; dropping it says that they have arrived, or never will.
#[must_use = "dropping a flight makes room for others"]
pub(crate) struct Flight {
    cap: Shared<Cap>,
    /// Zero once it has landed.
    bytes: unmodelled::AtomicU64,
}

/// The cap does not allow so many more bytes: not now, or never if they are more than `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManyBytes {
    /// Bytes asked for.
    pub asked: u64,
    /// Bytes under way.
    pub in_flight: u64,
    /// The cap.
    pub max: u64,
}

impl fmt::Display for TooManyBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes asked, {} of at most {} under way",
            self.asked, self.in_flight, self.max
        )
    }
}
impl Error for TooManyBytes {}

impl Flights {
    /// Nothing is under way, and at most `max_bytes` will be.
    ///
    /// # Errors
    /// [`CreateError::OutOfMemory`].
    pub fn new(max_bytes: u64) -> Result<Self, CreateError> {
        let cap = Cap {
            max: max_bytes,
            in_flight: AtomicU64::new(0),
        };
        let cap = Shared::try_new(cap).map_err(|(_, bytes)| CreateError::OutOfMemory { bytes })?;
        Ok(Self { cap })
    }

    /// The cap.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.cap.max
    }

    /// Bytes under way. One load.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.cap.in_flight.load(Relaxed)
    }

    /// So many bytes more. One read-modify-write.
    pub(crate) fn take(&self, bytes: u64) -> Result<Flight, TooManyBytes> {
        let mut current = self.in_flight();
        loop {
            let next = current
                .checked_add(bytes)
                .filter(|&next| next <= self.cap.max)
                .ok_or(TooManyBytes {
                    asked: bytes,
                    in_flight: current,
                    max: self.cap.max,
                })?;
            match self
                .cap
                .in_flight
                .compare_exchange_weak(current, next, Relaxed, Relaxed)
            {
                Ok(_) => {
                    return Ok(Flight {
                        cap: self.cap.clone(),
                        bytes: unmodelled::AtomicU64::new(bytes),
                    });
                }
                // Another flight began or ended.
                Err(actual) => current = actual,
            }
        }
    }
}

impl Flight {
    /// Nothing of it is under way any more.
    pub(crate) fn land(&self) {
        let bytes = self.bytes.swap(0, Relaxed);
        self.cap.in_flight.fetch_sub(bytes, Relaxed);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.land();
    }
}

impl fmt::Debug for Flights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flights")
            .field("in_flight", &self.in_flight())
            .field("max", &self.max())
            .finish()
    }
}

impl fmt::Debug for Flight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Flight").field(&self.bytes).finish()
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Flights>();
    shared::<Flight>();
};

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn clones_share_the_cap_and_a_drop_gives_back() {
        let flights = Flights::new(100).unwrap();
        let twin = flights.clone();
        let first = flights.take(60).unwrap();
        let second = twin.take(40).unwrap();
        let refused = flights.take(1).unwrap_err();
        let (asked, in_flight, max) = (refused.asked, refused.in_flight, refused.max);
        assert_eq!((asked, in_flight, max), (1, 100, 100));
        assert_eq!(
            refused.to_string(),
            "1 bytes asked, 100 of at most 100 under way"
        );
        assert_eq!(flights.in_flight(), 100, "a refusal changes nothing");
        drop(first);
        assert_eq!((flights.in_flight(), twin.in_flight()), (40, 40));
        drop(flights);
        drop(twin.take(60).unwrap());
        drop(second);
        assert_eq!((twin.in_flight(), twin.max()), (0, 100));
    }

    #[test]
    fn what_no_count_can_hold_is_refused() {
        let flights = Flights::new(u64::MAX).unwrap();
        let all = flights.take(u64::MAX).unwrap();
        assert!(flights.take(0).is_ok());
        assert!(flights.take(1).is_err() && flights.take(u64::MAX).is_err());
        drop(all);
        assert!(Flights::new(0).unwrap().take(1).is_err());
    }

    #[test]
    fn threads_never_exceed_the_cap() {
        let flights = Flights::new(10).unwrap();
        std::thread::scope(|threads| {
            for bytes in [3, 4, 7] {
                let flights = flights.clone();
                threads.spawn(move || {
                    for _ in 0..10_000 {
                        let flight = flights.take(bytes);
                        assert!(flights.in_flight() <= 10);
                        drop(flight);
                    }
                });
            }
        });
        assert_eq!(flights.in_flight(), 0);
    }
}
