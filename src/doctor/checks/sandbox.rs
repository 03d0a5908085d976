//! The sandbox: what of the kernel can hold an agent's commands within its directory.

use crate::doctor::{Finding, Place};

const CHECK: &str = "sandbox";
/// The security modules that the kernel has begun with, by name.
const MODULES: &str = "/sys/kernel/security/lsm";

/// Looks what the kernel offers.
pub fn look(_: &Place) -> Vec<Finding> {
    vec![judge(std::fs::read_to_string(MODULES).ok().as_deref())]
}

fn judge(modules: Option<&str>) -> Finding {
    match modules {
        Some(all) if all.trim().split(',').any(|name| name == "landlock") => {
            Finding::ok(CHECK, "the kernel has Landlock")
        }
        Some(_) => Finding::warn(
            CHECK,
            "the kernel has no Landlock: only the policy decides what a command may do",
            "read what a command does before you allow it, or work in a container",
        ),
        None => Finding::ok(CHECK, "the kernel does not say whether it has Landlock"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn landlock_is_found_by_its_name() {
        assert_eq!(judge(Some("capability,landlock,yama\n")).level, Level::Ok);
        assert_eq!(judge(Some("capability,yama")).level, Level::Warn);
        assert_eq!(judge(None).level, Level::Ok);
    }
}
