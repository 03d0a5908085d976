//! The steps of the demo that the user takes part in, in the order of their tips.

/// What a tip tells the user to do while the team works. The tips are shown one after the other, each until the user has
/// followed it, however long the user reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DemoStep {
    WatchTeammate,
    ChangeBoard,
    ReadMessages,
    OpenLog,
}
