//! What a model is told when a command was refused a write. Pure.

use super::SandboxPlan;
use crate::domain::sandbox::ASKS_FOR_NETWORK;
use crate::domain::text::one_line;

/// Most places that are named.
const NAMED_MAX: usize = 8;
/// What programs say of a refused write.
const SIGNS: &[&str] = &[
    "permission denied",
    "read-only file system",
    "operation not permitted",
    "device or resource busy",
    "invalid cross-device link",
    "eacces",
    "erofs",
    "eperm",
];

/// One line that says where the command may write, when its `output` shows that a write may have been refused.
pub fn where_it_may_write(plan: &SandboxPlan, output: &str) -> Option<String> {
    let output = output.to_ascii_lowercase();
    if !SIGNS.iter().any(|sign| output.contains(sign)) {
        return None;
    }
    let mut named: Vec<String> = plan
        .writable
        .iter()
        .filter(|p| !p.starts_with("/dev"))
        .take(NAMED_MAX + 1)
        .map(|p| p.display().to_string())
        .collect();
    if named.len() > NAMED_MAX {
        named.truncate(NAMED_MAX);
        named.push("…".into());
    }
    Some(one_line(&format!(
        "[Commands may write only below {}; never in .git/hooks, .git/config or the folders of crewdeck. The \
         person can name more folders with the setting 'write'.]",
        named.join(", ")
    )))
}

/// The note in a result when git ran no hooks.
pub const HOOKS_SKIPPED: &str = "[git ran no hooks for this command: core.hooksPath names a folder that commands can write, and the \
    user has approved this command, not what hooks there do. Run their checks in a command of their own.]";

/// What programs say of a network that is not there.
const NETWORK_SIGNS: &[&str] = &[
    "network is unreachable",
    "could not resolve",
    "couldn't resolve",
    "temporary failure in name resolution",
    "name or service not known",
    "getaddrinfo",
    "enetunreach",
    "eai_again",
    "failed to resolve",
    "no address associated",
    "dns error",
];

/// One line that says that the network is off, when the `output` shows that it was wanted.
pub fn network_is_off(output: &str) -> Option<String> {
    let output = output.to_ascii_lowercase();
    let is_wanted = NETWORK_SIGNS.iter().any(|sign| output.contains(sign));
    is_wanted.then(|| {
        format!(
            "[The network is off for this command by the setting 'network'. Where that is \"ask\", begin the command with \
             {ASKS_FOR_NETWORK}and the user is asked.]"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_missing_network_is_explained() {
        assert_eq!(network_is_off("no such file"), None);
        let note = network_is_off("curl: (6) Could not resolve host: x").unwrap();
        assert!(note.contains("CREWDECK_NETWORK=on "), "{note}");
    }

    #[test]
    fn only_a_refused_write_is_explained_and_the_places_are_bounded() {
        let plan = SandboxPlan {
            writable: ["/w", "/tmp", "/dev/null"].map(Into::into).to_vec(),
            ..SandboxPlan::default()
        };
        assert_eq!(where_it_may_write(&plan, "no such file"), None);
        for said in [
            "sh: x: Permission denied",
            "touch: Read-only file system",
            "EACCES: x",
        ] {
            let note = where_it_may_write(&plan, said).unwrap();
            assert!(
                note.starts_with("[Commands may write only below /w, /tmp; never"),
                "{note}"
            );
        }
        let many = SandboxPlan {
            writable: (0..100).map(|n| format!("/w{n}").into()).collect(),
            ..SandboxPlan::default()
        };
        let note = where_it_may_write(&many, "EACCES").unwrap();
        assert!(note.contains("/w7, …;") && !note.contains("/w8"), "{note}");
    }
}
