//! Checks: commands that must succeed on the content of a task before the task counts as completed. Their results are
//! stored with the task.

mod applies;
mod excerpt;
mod proposal;
mod record;
mod spec;
mod steps;

pub use applies::{applicable, asks_for_change};
pub use excerpt::{EXCERPT_MAX, failing_part};
pub use proposal::{ProposedCheck, propose};
pub use record::{CHECK_RECORDS_MAX, CheckOutcome, CheckRecord, from_json, merge, summary};
pub use spec::{CHECK_FIELDS, CHECKS_MAX, CheckSpec, check_specs};
pub use steps::{CheckState, CheckStep, REDS_MAX, next_step, red_rounds, result_state, state_of};

/// The name of the record that says that a task's branch changes nothing. No check can have this name.
pub const CHANGES: &str = "changes";
/// The name of the record of a task's own acceptance command. No check can have this name.
pub const ACCEPTANCE: &str = "acceptance";
