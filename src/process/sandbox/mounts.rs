//! The mount view: a private mount namespace in which protected folders are mounted read-only over themselves.
//!
//! Only a single-threaded process can create a mount view, because the kernel does not let other processes create a
//! user namespace.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::sched::CloneFlags;
use rustix::fs::{FileType, Mode, OFlags, StatVfsMountFlags, fstat, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};

use super::Mount;
use super::plan::{HISTORY_IN_GIT, SHARED_IN_GIT, TABLES_IN_GIT};
use crate::process::NetworkReach;
use crate::process::history::{FOLDER, PrivateHistory, SHARED_OBJECTS};
use crate::process::supervisor::network;

/// Maximum number of entries of a git folder that a mount view shows, besides those in [`NEEDED`].
const ENTRIES_MAX: usize = 512;
/// Entries of the common git folder that a mount view always shows, because git needs them.
const NEEDED: &[&str] = &[
    "HEAD",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "objects",
    "refs",
    "logs",
    "info",
    "hooks",
    "modules",
    "worktrees",
    "lfs",
    "rr-cache",
    "annex",
    TABLES_IN_GIT,
    FOLDER,
];
pub const SHARED_MEMORY: &str = "/dev/shm";
const TERMINALS: &str = "/dev/pts";
/// The source that the list of mounts shows for the file systems that a mount view creates.
const SOURCE: &str = "crewdeck";

/// Creates the mount view for this process, which must have only one thread. Afterwards the caller must enter its
/// current directory again, so that the directory resolves through the new mounts. `memory_mb` is the memory limit of
/// the command in MiB.
///
/// # Errors
/// Returns the operation that the kernel refused, in one line. The view may then be incomplete, but allows no
/// additional writes.
pub fn apply(steps: &[Mount], network: NetworkReach, memory_mb: Option<u64>) -> Result<(), String> {
    let more = match network {
        NetworkReach::On => CloneFlags::empty(),
        NetworkReach::Off => CloneFlags::CLONE_NEWNET,
    };
    enter_namespaces(more).map_err(|e| format!("cannot create a namespace: {e}"))?;
    if network == NetworkReach::Off {
        network::raise_loopback()
            .map_err(|e| format!("cannot bring up the loopback interface: {e}"))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|e| format!("cannot make mounts private: {e}"))?;
    for step in steps {
        let (path, done) = match step {
            Mount::ReadOnlyBut(paths) => (Path::new("/"), make_read_only_except(paths)),
            Mount::ReadOnly(path) => (
                path.as_path(),
                bind_over_itself(path, MountAccess::ReadOnly),
            ),
            Mount::Writable(path) => (
                path.as_path(),
                bind_over_itself(path, MountAccess::ReadWrite),
            ),
            Mount::GitFolder(path, private) => {
                (path.as_path(), mount_git_folder(path, private.as_ref()))
            }
            Mount::History(private) => (private.common.as_path(), mount_history(private)),
            Mount::Hidden(path) => (path.as_path(), hide(path)),
            Mount::SharedMemory(kept) => (
                Path::new(SHARED_MEMORY),
                mount_shared_memory(kept, memory_mb),
            ),
            Mount::Terminals => (Path::new(TERMINALS), mount_terminals()),
        };
        done.map_err(|e| format!("cannot mount {}: {e}", path.display()))?;
    }
    Ok(())
}

/// Returns steps that use all kernel features that a mount view needs. They must be applied only in a process that
/// exits right afterwards.
pub fn probe_steps() -> Vec<Mount> {
    vec![Mount::ReadOnly("/proc".into()), Mount::Terminals]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountAccess {
    ReadWrite,
    ReadOnly,
}

/// Enters a new mount namespace, and the namespaces in `more`. Without the privilege for that, also enters a user
/// namespace that maps only the current user.
fn enter_namespaces(more: CloneFlags) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() && nix::sched::unshare(CloneFlags::CLONE_NEWNS | more).is_ok() {
        return Ok(());
    }
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | more)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write(
        "/proc/self/uid_map",
        format!("{user} {user} 1", user = user.as_raw()),
    )?;
    fs::write(
        "/proc/self/gid_map",
        format!("{group} {group} 1", group = group.as_raw()),
    )
}

/// Bind-mounts a path over itself, with all mounts below it, and gives the new mount this access. A missing path is
/// skipped.
fn bind_over_itself(path: &Path, access: MountAccess) -> io::Result<()> {
    match mount_bind_recursive(path, path) {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(why) => Err(why.into()),
        Ok(()) => set_access(path, access),
    }
}

/// Makes a mount read-only or writable. `path` is its mount point. Keeps the other flags of the mount, because the
/// kernel may refuse to drop them. A file system that is itself read-only stays read-only; this is not an error.
fn set_access(path: &Path, access: MountAccess) -> io::Result<()> {
    let now = statvfs(path)?.f_flag;
    let is_read_only = now.contains(StatVfsMountFlags::RDONLY);
    if is_read_only == (access == MountAccess::ReadOnly) {
        return Ok(());
    }
    let mut flags = MountFlags::BIND;
    for (have, keep) in [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if now.contains(have) {
            flags |= keep;
        }
    }
    match access {
        MountAccess::ReadOnly => Ok(mount_remount(path, flags | MountFlags::RDONLY, c"")?),
        MountAccess::ReadWrite => match mount_remount(path, flags, c"") {
            // The file system itself is read-only.
            Err(Errno::PERM | Errno::ROFS) => Ok(()),
            other => Ok(other?),
        },
    }
}

/// Makes all mounts read-only except those at or below `paths`. Each of `paths` that is not inside another one becomes
/// a separate mount.
fn make_read_only_except(paths: &[PathBuf]) -> io::Result<()> {
    for path in paths {
        let is_below = |other: &PathBuf| path != other && path.starts_with(other);
        // A path inside another one does not become a separate mount, so that files can be renamed between the two.
        if !paths.iter().any(is_below) {
            bind_over_itself(path, MountAccess::ReadWrite)?;
        }
    }
    for mount in mount_points(&fs::read_to_string("/proc/self/mountinfo")?) {
        if paths.iter().any(|path| mount.starts_with(path)) {
            continue;
        }
        match set_access(&mount, MountAccess::ReadOnly) {
            Ok(()) => {}
            // The mount is hidden by a later mount or unreachable, so the command cannot write to it either.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::PermissionDenied
                ) && mount != Path::new("/") => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Returns the mount points listed in a `mountinfo` file.
fn mount_points(text: &str) -> impl Iterator<Item = PathBuf> {
    let fields = text.lines().filter_map(|line| line.split(' ').nth(4));
    fields.map(|field| PathBuf::from(unescape(field)))
}

/// Decodes the octal escapes of white space and backslashes in a `mountinfo` field.
fn unescape(field: &str) -> String {
    let codes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let text = field.to_string();
    codes
        .iter()
        .fold(text, |text, (code, plain)| text.replace(code, plain))
}

/// Hides a file or socket by mounting `/dev/null` over it, or a folder by mounting an empty read-only folder over it. A
/// missing path is skipped.
fn hide(path: &Path) -> io::Result<()> {
    let is_folder = match path.symlink_metadata() {
        Ok(meta) => meta.is_dir(),
        Err(_) => return Ok(()),
    };
    let done = if is_folder {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY;
        mount("crewdeck", path, "tmpfs", flags, c"size=4k,mode=0700")
    } else {
        mount_bind_recursive("/dev/null", path)
    };
    match done {
        // The path was removed in the meantime.
        Err(Errno::NOENT) => Ok(()),
        done => Ok(done?),
    }
}

/// Mounts a private, empty folder over `/dev/shm`, and mounts the paths in `kept` that are below `/dev/shm` back into
/// it. The folder's size is limited to a quarter of the machine's memory, and to `memory_mb` MiB. Does nothing if there
/// is no `/dev/shm`, or if `kept` contains `/dev/shm` itself.
fn mount_shared_memory(kept: &[PathBuf], memory_mb: Option<u64>) -> io::Result<()> {
    let Ok(shared) = fs::canonicalize(SHARED_MEMORY) else {
        return Ok(()); // no shared memory on this machine
    };
    let mut kept: Vec<&PathBuf> = kept.iter().filter(|p| p.starts_with(&shared)).collect();
    kept.sort();
    // A path inside another one is mounted together with it.
    kept.dedup_by(|inner, outer| inner.starts_with(outer.as_path()));
    if kept.iter().any(|path| **path == shared) {
        return Ok(());
    }
    let mut open = Vec::new();
    for path in kept {
        match HeldEntry::open(path.clone(), path) {
            Ok(entry) => open.push(entry),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    match mount(SOURCE, &shared, "tmpfs", flags, c"size=25%,mode=1777") {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        done => done?,
    }
    if let Some(limit) = memory_mb.map(|mb| mb.saturating_mul(1024 * 1024)) {
        let size = statvfs(&shared)?;
        if size.f_blocks.saturating_mul(size.f_frsize) > limit {
            let options = CString::new(format!("size={limit}"))?;
            mount_remount(&shared, flags, options.as_c_str())?;
        }
    }
    open.iter().try_for_each(HeldEntry::mount_back)
}

/// Returns whether the folder of shared memory is a private one that [`apply`] has mounted in this process.
pub fn is_shared_memory_private() -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut lines = mounts.lines().map(|line| line.split(' '));
    lines.any(|mut parts| parts.next() == Some(SOURCE) && parts.next() == Some(SHARED_MEMORY))
}

/// Mounts a new, empty set of terminal devices over the system's terminal devices. Does nothing if the machine has
/// none.
fn mount_terminals() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    match mount(
        "crewdeck",
        TERMINALS,
        "devpts",
        flags,
        c"newinstance,ptmxmode=0666,mode=0620",
    ) {
        // The machine has no terminal devices to hide.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => return Ok(()),
        done => done?,
    }
    // If `/dev/ptmx` is a device, it creates terminals in the system's set. If it is a link, it leads to the new set.
    let maker = Path::new("/dev/ptmx");
    if maker.symlink_metadata().is_ok_and(|m| !m.is_symlink()) {
        mount_bind_recursive("/dev/pts/ptmx", maker)?;
    }
    Ok(())
}

/// Mounts an empty folder over a git folder and mounts the original entries into it: history and the entries that git
/// shares between worktrees writable, the rest read-only. If `private` is given, its objects, refs and reflogs are
/// mounted instead of the original ones, and the original objects are mounted read-only at `crewdeck/shared`.
fn mount_git_folder(dir: &Path, private: Option<&PrivateHistory>) -> io::Result<()> {
    let mut entries = entries(dir)?;
    if let Some(private) = private {
        entries.retain(|entry| entry.name != Path::new(FOLDER));
        for entry in &mut entries {
            if entry.name == Path::new("objects") {
                entry.name = Path::new(FOLDER).join(SHARED_OBJECTS);
            }
        }
        entries.retain(|entry| !is_one_of(&entry.name, HISTORY_IN_GIT));
        for name in HISTORY_IN_GIT {
            entries.push(HeldEntry::open(name.into(), &private.dir.join(name))?);
        }
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("crewdeck", dir, "tmpfs", flags, c"size=64m,mode=0700")?;
    if private.is_some() {
        fs::create_dir(dir.join(FOLDER))?;
    }
    let filled = entries
        .iter()
        .try_for_each(|entry| entry.mount_into(dir, private.is_some()));
    if filled.is_err() {
        // Restores the original folder, which Landlock protects, because the new one is incomplete.
        unmount(dir, UnmountFlags::DETACH)?;
    }
    filled
}

/// Mounts the private folders for objects, refs and reflogs over the same folders in the git folder that all worktrees
/// share. Before that, mounts the original objects read-only at `crewdeck/shared`. Also makes `packed-refs` read-only.
fn mount_history(private: &PrivateHistory) -> io::Result<()> {
    let (common, own) = (&private.common, &private.dir);
    let shared = common.join(FOLDER).join(SHARED_OBJECTS);
    mount_bind_recursive(common.join("objects"), &shared)?;
    set_access(&shared, MountAccess::ReadOnly)?;
    for name in ["objects", "refs", "logs/refs"] {
        let target = common.join(name);
        match mount_bind_recursive(own.join(name), &target) {
            // The repository has no reflogs.
            Err(Errno::NOENT) if name != "objects" && name != "refs" => {}
            done => {
                done?;
                set_access(&target, MountAccess::ReadWrite)?;
            }
        }
    }
    bind_over_itself(&common.join("packed-refs"), MountAccess::ReadOnly)
}

fn is_one_of(name: &Path, names: &[&str]) -> bool {
    names.iter().any(|one| name == Path::new(one))
}

/// An open file or folder whose path a later mount hides. Because it is open, it can be mounted again, on top of that
/// mount.
struct HeldEntry {
    /// The name of the entry in its folder; for [`HeldEntry::mount_back`], its whole path.
    name: PathBuf,
    open: OwnedFd,
    kind: FileType,
}

/// Opens the entries of a git folder that a mount view shows: those in [`NEEDED`] and at most [`ENTRIES_MAX`] others.
/// Without the limit, the view could not be created if commands in the root fill the folder. Skips lock files.
fn entries(dir: &Path) -> io::Result<Vec<HeldEntry>> {
    let others = fs::read_dir(dir)?.take(ENTRIES_MAX).map(|entry| {
        let name = PathBuf::from(entry?.file_name());
        Ok((!is_one_of(&name, NEEDED)).then_some(name))
    });
    let others: Vec<Option<PathBuf>> = others.collect::<io::Result<_>>()?;
    let needed = NEEDED.iter().map(PathBuf::from);
    let mut out = Vec::new();
    for name in needed.chain(others.into_iter().flatten()) {
        // A lock belongs to a running git, not to the repository.
        if name.extension().is_some_and(|e| e == "lock") {
            continue;
        }
        let path = dir.join(&name);
        match HeldEntry::open(name, &path) {
            Ok(entry) => out.push(entry),
            // Removed in the meantime: it was a temporary file.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(out)
}

impl HeldEntry {
    fn open(name: PathBuf, path: &Path) -> io::Result<HeldEntry> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = rustix::fs::open(path, flags, Mode::empty())?;
        let kind = FileType::from_raw_mode(fstat(&open)?.st_mode);
        Ok(HeldEntry { name, open, kind })
    }

    /// Mounts the entry, with all mounts below it, again at its original path, where another mount hides it now.
    fn mount_back(&self) -> io::Result<()> {
        if self.kind.is_dir() {
            fs::create_dir_all(&self.name)?;
        } else if let Some(folder) = self.name.parent() {
            fs::create_dir_all(folder)?;
            fs::write(&self.name, "")?;
        }
        let source = PathBuf::from(format!("/proc/self/fd/{}", self.open.as_raw_fd()));
        Ok(mount_bind_recursive(&source, &self.name)?)
    }

    fn mount_into(&self, dir: &Path, is_private: bool) -> io::Result<()> {
        let target = dir.join(&self.name);
        let source = PathBuf::from(format!("/proc/self/fd/{}", self.open.as_raw_fd()));
        if self.kind.is_symlink() {
            let leads = rustix::fs::readlinkat(&self.open, "", Vec::new())?;
            return Ok(rustix::fs::symlink(leads.as_c_str(), target)?);
        }
        if self.kind.is_dir() {
            fs::create_dir(&target)?;
        } else {
            fs::write(&target, "")?;
        }
        mount_bind_recursive(&source, &target)?;
        let is_shared = is_one_of(&self.name, SHARED_IN_GIT)
            || is_one_of(&self.name, HISTORY_IN_GIT)
            || !is_private && self.name == Path::new(TABLES_IN_GIT);
        set_access(
            &target,
            if is_shared {
                MountAccess::ReadWrite
            } else {
                MountAccess::ReadOnly
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn mount_points_with_spaces_are_parsed() {
        let text = "22 1 0:1 / / rw,relatime - ext4 /dev/root rw\n\
                    23 22 0:2 / /mnt/a\\040b\\134c rw shared:1 - tmpfs none rw\nshort line\n";
        let found: Vec<PathBuf> = mount_points(text).collect();
        assert_eq!(found, ["/", "/mnt/a b\\c"].map(PathBuf::from));
    }
}
