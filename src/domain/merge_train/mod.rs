//! The merge train: branches of completed tasks are combined in dependency order, checked as a whole, and land together.
//! If the whole is red, bisection finds the smallest set of branches that breaks it.
//!
//! [`MergeTrain`] decides and does nothing itself: [`MergeTrain::step`] says what is to be done next, and the caller
//! reports the result with [`MergeTrain::apply`].

mod machine;
mod order;
mod partner;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use machine::{MEMBERS_MAX, MOVES_MAX, MergeTrain, RUNS_MAX};
pub use order::{TrainMember, builds_on_open_branch, train_members};
pub use partner::PartnerSearch;
pub use state::{TrainPhase, TrainRemoval, TrainState};
pub use step::{
    Combination, HeldBack, ThrownOut, ThrownOutReason, TrainEnd, TrainFact, TrainStep, TrainVerdict,
};
