//! The steps of the demo that the user takes part in, in the order of their tips.

/// A step of the demo that a tip asks the user to do while the team works. The tips are shown one after the other. Each
/// tip stays until the user has done its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DemoStep {
    WatchTeammate,
    ChangeBoard,
    ReadMessages,
    OpenLog,
}
