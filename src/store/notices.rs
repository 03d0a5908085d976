//! The bound on the notices of one read of stored state.

use crate::domain::text::count_noun;

/// Maximum number of notices. One more line has the number of further notices.
pub(super) const NOTICES_MAX: usize = 20;

/// Returns the first [`NOTICES_MAX`] notices and, if there are more, one line with the number of further notices.
pub(super) fn limit_notices(mut notices: Vec<String>) -> Vec<String> {
    let more = notices.len().saturating_sub(NOTICES_MAX);
    if more > 0 {
        notices.truncate(NOTICES_MAX);
        notices.push(format!("... and {}", count_noun(more, "more notice")));
    }
    notices
}
