//! Notes for the model about a denied write or a missing network. Does no I/O.

use super::SandboxPlan;
use crate::domain::sandbox::ASKS_FOR_NETWORK;
use crate::domain::text::one_line;

/// Maximum number of writable folders that a note lists.
const NAMED_MAX: usize = 8;
/// Texts, in lower case, that occur in the output of programs if a write was denied.
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

/// Returns a note that lists at most `NAMED_MAX` paths below which the command can write, if `output` contains one of
/// `SIGNS` in any case. Otherwise returns `None`.
pub fn write_denied_note(plan: &SandboxPlan, output: &str) -> Option<String> {
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
        "[Commands may write only below {}; never in .git/hooks, .git/config or crewdeck's own folders. The user can \
         add folders with the setting 'write'.]",
        named.join(", ")
    )))
}

/// The note in a tool result if git ran without hooks.
pub const HOOKS_SKIPPED: &str = "[git ran no hooks for this command: core.hooksPath names a folder that commands can write, and \
    the user approved this command, not the hooks. If the hooks run checks, run these checks as a separate command.]";

/// Texts, in lower case, that occur in the output of programs if they had no network.
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

/// Returns a note that says that the network is off, if `output` contains one of `NETWORK_SIGNS` in any case.
/// Otherwise returns `None`.
pub fn network_off_note(output: &str) -> Option<String> {
    let output = output.to_ascii_lowercase();
    let is_wanted = NETWORK_SIGNS.iter().any(|sign| output.contains(sign));
    is_wanted.then(|| {
        format!(
            "[The network is off for this command (setting 'network'). If the setting is \"ask\", start the command with \
             {ASKS_FOR_NETWORK}to ask the user.]"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn missing_network_is_explained() {
        assert_eq!(network_off_note("no such file"), None);
        let note = network_off_note("curl: (6) Could not resolve host: x").unwrap();
        assert!(note.contains("CREWDECK_NETWORK=on "), "{note}");
    }

    #[test]
    fn only_denied_writes_are_explained_with_bounded_paths() {
        let plan = SandboxPlan {
            writable: ["/w", "/tmp", "/dev/null"].map(Into::into).to_vec(),
            ..SandboxPlan::default()
        };
        assert_eq!(write_denied_note(&plan, "no such file"), None);
        for said in [
            "sh: x: Permission denied",
            "touch: Read-only file system",
            "EACCES: x",
        ] {
            let note = write_denied_note(&plan, said).unwrap();
            assert!(
                note.starts_with("[Commands may write only below /w, /tmp; never"),
                "{note}"
            );
        }
        let many = SandboxPlan {
            writable: (0..100).map(|n| format!("/w{n}").into()).collect(),
            ..SandboxPlan::default()
        };
        let note = write_denied_note(&many, "EACCES").unwrap();
        assert!(note.contains("/w7, …;") && !note.contains("/w8"), "{note}");
    }
}
