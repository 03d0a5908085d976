//! The kinds of faults, and which call meets which one. Whether a call fails depends on the seed, the agent and the number of
//! the call. The kinds are dealt from a shuffled list, so that a short run meets all of them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// What goes wrong with a call. Not every fault makes the call fail, see [`Fault::fails`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// Status 429 with the header `retry-after` in seconds. The next four variants give the wait in milliseconds, as a
    /// date, as zero, and not at all.
    LimitSeconds,
    LimitMs,
    LimitDate,
    LimitZero,
    LimitBare,
    Broken500,
    Overloaded529,
    /// Status 200, some text, then an error event in the stream.
    OverloadedInside,
    /// The server reads the request and never answers.
    Silent,
    /// The server begins to answer and then stops, without closing the connection.
    Stalled,
    /// The server resets the connection before the answer.
    Reset,
    /// The server resets the connection and stops listening for a while.
    Away,
    Cut,
    Doubled,
    Html,
    Garbage,
    /// A tool call whose input is incomplete when the stream closes.
    Unfinished,
    /// A tool call whose input grows until the client closes the connection.
    Endless,
    Slow,
    /// The token counts are negative, huge or missing.
    WrongUsage,
    Empty,
    Unknown,
    HugeLine,
    /// The complete answer with its closing event, after which the connection stays open.
    LeftOpen,
}

use Fault::*;

pub const ALL: [Fault; 24] = [
    LimitSeconds,
    LimitMs,
    LimitDate,
    LimitZero,
    LimitBare,
    Broken500,
    Overloaded529,
    OverloadedInside,
    Silent,
    Stalled,
    Reset,
    Away,
    Cut,
    Doubled,
    Html,
    Garbage,
    Unfinished,
    Endless,
    Slow,
    WrongUsage,
    Empty,
    Unknown,
    HugeLine,
    LeftOpen,
];

impl Fault {
    /// Returns whether the call must fail, so that the client waits and tries again.
    pub fn fails(self) -> bool {
        match self {
            Doubled | Slow | WrongUsage | Empty | Unknown | LeftOpen => false,
            LimitSeconds | LimitMs | LimitDate | LimitZero | LimitBare | Broken500
            | Overloaded529 | OverloadedInside | Silent | Stalled | Reset | Away | Cut | Html
            | Garbage | Unfinished | Endless | HugeLine => true,
        }
    }
}

/// Returns a pseudo-random number that depends only on `parts`.
pub fn hash_number(parts: impl Hash) -> u64 {
    let mut hash = DefaultHasher::new();
    parts.hash(&mut hash);
    hash.finish()
}

/// Decides from a seed which calls meet which fault.
#[derive(Debug, Clone, Copy)]
pub struct FaultPlan {
    pub seed: u64,
    /// Share of the calls that meet a fault, in percent.
    pub percent: u64,
}

impl FaultPlan {
    pub fn has_fault(self, agent: &str, nth: u64) -> bool {
        hash_number((self.seed, agent, nth)) % 100 < self.percent
    }

    /// Returns the fault with the number `index` in the run. Each fault occurs once before any of them occurs again.
    pub fn fault_at(self, index: usize) -> Fault {
        let (round, at) = (index / ALL.len(), index % ALL.len());
        let mut shuffled = ALL;
        shuffled.sort_by_key(|fault| hash_number((self.seed, round, fault)));
        shuffled[at]
    }

    /// Returns the wait that the server asks for: 20 to 319 ms, to keep the run short.
    pub fn retry_after(self, agent: &str, nth: u64) -> Duration {
        Duration::from_millis(20 + hash_number((self.seed, agent, nth, "wait")) % 300)
    }
}
