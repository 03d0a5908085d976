//! Watches on files (inotify): without them a change of another process is seen seconds later.

use crate::doctor::{Finding, Place};

const CHECK: &str = "watches";
/// What one crew needs at most: it watches a handful of folders.
const NEEDED: (u64, u64) = (16, 4);

/// Looks at the limits of the kernel.
pub fn look(_: &Place) -> Vec<Finding> {
    let limit = |name: &str| {
        let path = format!("/proc/sys/fs/inotify/{name}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    vec![judge(
        limit("max_user_watches"),
        limit("max_user_instances"),
    )]
}

fn judge(watches: Option<u64>, instances: Option<u64>) -> Finding {
    let (Some(watches), Some(instances)) = (watches, instances) else {
        return Finding::ok(CHECK, "this system does not tell its limits");
    };
    let text = format!("{watches} watches and {instances} watchers a user");
    if watches < NEEDED.0 || instances < NEEDED.1 {
        return Finding::warn(
            CHECK,
            format!("{text}: too few, so changes of others are seen seconds later"),
            "raise fs.inotify.max_user_watches and max_user_instances with sysctl",
        );
    }
    Finding::ok(CHECK, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn too_few_watches_are_told() {
        assert_eq!(judge(Some(8192), Some(128)).level, Level::Ok);
        assert_eq!(judge(Some(8), Some(128)).level, Level::Warn);
        assert_eq!(judge(Some(8192), Some(1)).level, Level::Warn);
        assert_eq!(judge(None, Some(1)).level, Level::Ok);
    }
}
