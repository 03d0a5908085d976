//! Landlock: the kernel's list of where this thread, and all that it starts, may write.

use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, BitFlags, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// The newest interface whose rights are asked for; an older kernel gives those that it knows. Later ones
/// also forbid the sockets of others, and with them ssh-agent.
const NEWEST: ABI = ABI::V7;
/// The first version that keeps files from being truncated, and so what is not writable from being lost.
pub const KEEPS_FILES: u32 = 3;

/// Lets this thread write only below `writable`, and send signals only to what it starts, and unless
/// `abstract_sockets` is set reach abstract sockets only of what it starts; paths that are not
/// there are left out. Nothing can take it back. A kernel without Landlock lets everything be. Returns the version of the
/// kernel's interface; `None`: it has none.
///
/// # Errors
/// What the kernel refused.
pub fn raise(writable: &[PathBuf], abstract_sockets: bool) -> Result<Option<u32>, String> {
    disempower()?;
    restrict(writable, abstract_sockets)
        .map(|status| version_of(&status))
        .map_err(|e| format!("Landlock refuses: {e}"))
}

/// The version of the kernel's interface; `None`: it has none. Restricts this process: only for one that ends
/// right after.
pub fn version() -> Option<u32> {
    version_of(&restrict(&[], true).ok()?)
}

fn version_of(status: &RestrictionStatus) -> Option<u32> {
    match status.landlock {
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => u32::try_from(kernel_abi.unwrap_or(effective_abi as i32)).ok(),
    }
}

/// What the superuser's programs keep: what builds and installations need. The others reach around Landlock: into
/// the memory and the environment of every process, to devices, and to files by their number.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::AUDIT_WRITE);

/// Takes away from what this thread starts all powers of the superuser but [`KEPT`].
fn disempower() -> Result<(), String> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if KEPT.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // It is no superuser, or the kernel knows no more of them.
            Err(Errno::PERM | Errno::INVAL) => return Ok(()),
            Err(why) => return Err(format!("the superuser's powers stay: {why}")),
        }
    }
    Ok(())
}

fn restrict(
    writable: &[PathBuf],
    abstract_sockets: bool,
) -> Result<RestrictionStatus, landlock::RulesetError> {
    let rights = AccessFs::from_write(NEWEST);
    let scopes = if abstract_sockets {
        BitFlags::from(Scope::Signal)
    } else {
        Scope::Signal | Scope::AbstractUnixSocket
    };
    Ruleset::default()
        .handle_access(rights)?
        .scope(scopes)?
        .create()?
        .add_rules(path_beneath_rules(writable, rights))?
        .restrict_self()
}
