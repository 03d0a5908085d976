//! Landlock: the kernel's list of where this thread, and all that it starts, may write.

use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    Scope, path_beneath_rules,
};

/// The newest interface whose rights are asked for; an older kernel gives those that it knows. Later ones
/// also forbid the sockets of others, and with them ssh-agent.
const NEWEST: ABI = ABI::V7;

/// Lets this thread write only below `writable`, and send signals only to what it starts; paths that are not
/// there are left out. Nothing can take it back. A kernel without Landlock lets everything be.
///
/// # Errors
/// What the kernel refused.
pub fn raise(writable: &[PathBuf]) -> Result<(), String> {
    restrict(writable)
        .map(drop)
        .map_err(|e| format!("Landlock refuses: {e}"))
}

/// The version of the kernel's interface; `None`: it has none. Restricts this process: only for one that ends
/// right after.
pub fn version() -> Option<u32> {
    match restrict(&[]).ok()?.landlock {
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => u32::try_from(kernel_abi.unwrap_or(effective_abi as i32)).ok(),
    }
}

fn restrict(writable: &[PathBuf]) -> Result<RestrictionStatus, landlock::RulesetError> {
    let rights = AccessFs::from_write(NEWEST);
    Ruleset::default()
        .handle_access(rights)?
        .scope(Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(writable, rights))?
        .restrict_self()
}
