//! The faults, and who meets one: a matter of the seed, the agent and how often it has called. Which one it is
//! comes from a shuffled pack, so that a short run meets all kinds.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// 429 with `retry-after` in seconds, in ms, as a date, as zero, without.
    LimitSeconds,
    LimitMs,
    LimitDate,
    LimitZero,
    LimitBare,
    Broken500,
    Overloaded529,
    /// 200, some words, then the wire's own error inside the stream.
    OverloadedInside,
    /// Accepts and says nothing.
    Silent,
    /// Begins to answer and then says nothing, without closing.
    Stalled,
    /// The connection is reset before an answer.
    Reset,
    /// The server goes away for a while: nothing listens.
    Away,
    Cut,
    Doubled,
    Html,
    Garbage,
    /// A tool call whose input is never whole, before the stream closes.
    Unfinished,
    /// The same for ever.
    Endless,
    Slow,
    /// Negative, huge or missing figures.
    WrongUsage,
    Empty,
    Unknown,
    HugeLine,
    /// All of the answer, the closing mark too, and then the connection stays open in silence.
    LeftOpen,
}

use Fault::*;

/// All of them.
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
    /// Whether the call must fail by it and be waited for.
    pub fn fails(self) -> bool {
        match self {
            Doubled | Slow | WrongUsage | Empty | Unknown | LeftOpen => false,
            LimitSeconds | LimitMs | LimitDate | LimitZero | LimitBare | Broken500
            | Overloaded529 | OverloadedInside | Silent | Stalled | Reset | Away | Cut | Html
            | Garbage | Unfinished | Endless | HugeLine => true,
        }
    }
}

/// A number from what it is made of.
pub fn dice(parts: impl Hash) -> u64 {
    let mut hash = DefaultHasher::new();
    parts.hash(&mut hash);
    hash.finish()
}

/// The chance of faults.
#[derive(Debug, Clone, Copy)]
pub struct Weather {
    pub seed: u64,
    /// Of a hundred calls, this many.
    pub percent: u64,
}

impl Weather {
    /// Whether the `nth` call of `agent` meets a fault.
    pub fn strikes(self, agent: &str, nth: u64) -> bool {
        dice((self.seed, agent, nth)) % 100 < self.percent
    }

    /// The fault that is `dealt`th in this run.
    pub fn deal(self, dealt: usize) -> Fault {
        let (round, at) = (dealt / ALL.len(), dealt % ALL.len());
        let mut pack = ALL;
        pack.sort_by_key(|fault| dice((self.seed, round, fault)));
        pack[at]
    }

    /// A wait that a server asks for, in ms: short, so that a run is.
    pub fn wait(self, agent: &str, nth: u64) -> Duration {
        Duration::from_millis(20 + dice((self.seed, agent, nth, "wait")) % 300)
    }
}
