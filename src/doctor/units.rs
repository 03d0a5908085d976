//! Formats ages and sizes.

use std::time::Duration;

use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::DiskUse;

/// Formats the time from `then` to `now`, such as `3 min ago`. Returns `None` if `then` is 0, which stands for an
/// unknown time.
pub fn ago(now: Timestamp, then: Timestamp) -> Option<String> {
    (then.0 > 0.0).then(|| format!("{} ago", span(now.since(then))))
}

fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Formats a size in bytes for display, such as `1.2 MiB`.
pub fn size(bytes: u64) -> String {
    let at_least = false;
    DiskUse { bytes, at_least }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn ages_are_formatted() {
        for (seconds, text) in [
            (5.0, "5 s ago"),
            (180.0, "3 min ago"),
            (7_300.0, "2 h ago"),
            (400_000.0, "4 days ago"),
        ] {
            assert_eq!(ago(Timestamp(1e9), Timestamp(1e9 - seconds)).unwrap(), text);
        }
        assert_eq!(ago(Timestamp(1e9), Timestamp(0.0)), None);
    }
}
