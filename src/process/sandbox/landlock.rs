//! Landlock: restricts where this thread and the processes it starts can write.

use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, BitFlags, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// The newest Landlock ABI to request. An older kernel enforces only the restrictions that it supports. Later ABIs
/// would also block connections to sockets outside the sandbox, such as ssh-agent.
const NEWEST: ABI = ABI::V7;
/// The first ABI version that controls truncation. With an older version, commands can empty read-only files.
pub const TRUNCATE_VERSION: u32 = 3;

/// Restricts this thread and the processes it starts, irrevocably: they can write only below `writable` and send
/// signals only to each other. Unless `abstract_sockets` is set, they can connect only to each other's abstract
/// sockets. Missing paths are skipped. Returns the kernel's ABI version, or `None` for a kernel without Landlock, which
/// restricts nothing.
///
/// # Errors
/// Fails if the kernel refuses to drop capabilities or to enforce the rules.
pub fn restrict_thread(
    writable: &[PathBuf],
    abstract_sockets: bool,
) -> Result<Option<u32>, String> {
    drop_capabilities()?;
    restrict(writable, abstract_sockets)
        .map(|status| version_of(&status))
        .map_err(|e| format!("cannot enforce the Landlock rules: {e}"))
}

/// Returns the kernel's ABI version, or `None` without Landlock. Restricts this process irrevocably, so the process
/// must exit right afterwards.
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

/// Capabilities that commands keep when crewdeck runs as root, because builds and installations need them. The other
/// capabilities would bypass Landlock: they give access to the memory and environment of every process, to devices, and
/// to files by inode.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
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

/// Drops all capabilities except [`KEPT_CAPABILITIES`] for the processes that this thread starts. Does nothing if this
/// process lacks the privilege to drop capabilities, because such a process has no other capabilities either.
fn drop_capabilities() -> Result<(), String> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if KEPT_CAPABILITIES.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Not root, or the kernel has no further capabilities.
            Err(Errno::PERM | Errno::INVAL) => return Ok(()),
            Err(why) => return Err(format!("cannot drop capabilities: {why}")),
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
