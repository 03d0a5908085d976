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
pub use record::{
    ACCEPTANCE, CHANGES, CHECK_RECORDS_MAX, CheckOutcome, CheckRecord, REASON_MAX, REDS_MAX,
    from_json, merge, summary,
};
pub use spec::{CHECK_FIELDS, CHECKS_MAX, CheckSpec, check_specs};
pub use steps::{CheckState, CheckStep, next_step, red_rounds, result_state, state_of};
