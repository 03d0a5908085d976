//! Checks the kernel's inotify limits. If they are too low for file watches, crewdeck notices changes by other
//! processes seconds later.

use crate::doctor::{DoctorContext, Finding};

const CHECK: &str = "watches";
/// Minimum values of the kernel limits `max_user_watches` and `max_user_instances`. The check warns if a limit is
/// lower. A crew whose repository has many folders below `refs/heads`, or many skills, needs more watches; crewdeck
/// polls the folders that it cannot watch.
const NEEDED: (u64, u64) = (16, 4);

pub fn run(_: &DoctorContext) -> Vec<Finding> {
    let limit = |name: &str| {
        let path = format!("/proc/sys/fs/inotify/{name}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    vec![evaluate(
        limit("max_user_watches"),
        limit("max_user_instances"),
    )]
}

fn evaluate(watches: Option<u64>, instances: Option<u64>) -> Finding {
    let (Some(watches), Some(instances)) = (watches, instances) else {
        return Finding::ok(CHECK, "the inotify limits are not known on this system");
    };
    let text = format!("inotify allows {watches} watches and {instances} instances per user");
    if watches < NEEDED.0 || instances < NEEDED.1 {
        return Finding::warn(
            CHECK,
            format!("{text}: too few, so changes by other processes appear seconds late"),
            "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances with sysctl",
        );
    }
    Finding::ok(CHECK, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn too_few_watches_are_a_warning() {
        assert_eq!(evaluate(Some(8192), Some(128)).level, Level::Ok);
        assert_eq!(evaluate(Some(8), Some(128)).level, Level::Warn);
        assert_eq!(evaluate(Some(8192), Some(1)).level, Level::Warn);
        assert_eq!(evaluate(None, Some(1)).level, Level::Ok);
    }
}
