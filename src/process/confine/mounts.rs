//! The private view of the mounts: folders that a command may not write are mounted read-only over themselves.
//!
//! Only for a process with one thread, since the kernel gives a user namespace to no other.

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
use crate::process::guard::network;
use crate::process::history::{FOLDER, PrivateHistory, SHARED_OBJECTS};

/// Most entries of a git folder that are shown in a view of it, besides those of [`NEEDED`].
const ENTRIES_MAX: usize = 512;
/// What git needs of a folder that worktrees share.
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
/// Where the system keeps shared memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// Where the system shows terminals.
const TERMINALS: &str = "/dev/pts";

/// Gives this process a view of its own. Where the work directory is the current one, it must be entered anew.
///
/// # Errors
/// What the kernel refused, in one line; the view may be half made then, and only less can be written in it.
pub fn make(steps: &[Mount], network: NetworkReach) -> Result<(), String> {
    let more = match network {
        NetworkReach::On => CloneFlags::empty(),
        NetworkReach::Off => CloneFlags::CLONE_NEWNET,
    };
    separate(more).map_err(|e| format!("a namespace is refused: {e}"))?;
    if network == NetworkReach::Off {
        network::raise_loopback().map_err(|e| format!("the loopback stays down: {e}"))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|e| format!("mounts cannot be made private: {e}"))?;
    for step in steps {
        let (path, done) = match step {
            Mount::ReadOnlyBut(places) => (Path::new("/"), read_only_but(places)),
            Mount::ReadOnly(path) => (path.as_path(), over_itself(path, MountAccess::ReadOnly)),
            Mount::Writable(path) => (path.as_path(), over_itself(path, MountAccess::ReadWrite)),
            Mount::GitFolder(path, private) => (path.as_path(), git_folder(path, private.as_ref())),
            Mount::History(private) => (private.common.as_path(), history(private)),
            Mount::Hidden(path) => (path.as_path(), hide(path)),
            Mount::SharedMemory(kept) => (Path::new(SHARED_MEMORY), shared_memory(kept)),
            Mount::Terminals => (Path::new(TERMINALS), terminals()),
        };
        done.map_err(|e| format!("{} cannot be mounted: {e}", path.display()))?;
    }
    Ok(())
}

/// Steps that need everything that a view needs, and change nothing for a process that ends right after.
pub fn trial() -> Vec<Mount> {
    vec![Mount::ReadOnly("/proc".into()), Mount::Terminals]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountAccess {
    Allowed,
    Forbidden,
}

/// Enters a mount namespace; who may not do so by itself does it in a user namespace in which it is the same user.
fn separate(more: CloneFlags) -> io::Result<()> {
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

/// Mounts a path over itself; one that is not there is left out.
fn over_itself(path: &Path, writing: MountAccess) -> io::Result<()> {
    match mount_bind_recursive(path, path) {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(why) => Err(why.into()),
        Ok(()) => set(path, writing),
    }
}

/// Makes a mount read-only or writable. Its other flags stay: the kernel lets nobody drop those that it locked.
fn set(path: &Path, writing: MountAccess) -> io::Result<()> {
    let now = statvfs(path)?.f_flag;
    let is_read_only = now.contains(StatVfsMountFlags::RDONLY);
    if is_read_only == (writing == MountAccess::ReadOnly) {
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
    match writing {
        MountAccess::ReadOnly => Ok(mount_remount(path, flags | MountFlags::RDONLY, c"")?),
        MountAccess::ReadWrite => match mount_remount(path, flags, c"") {
            // The file system itself is read-only, so nothing is lost.
            Err(Errno::PERM | Errno::ROFS) => Ok(()),
            other => Ok(other?),
        },
    }
}

/// Makes all mounts read-only but those below `places`, which become mounts for that.
fn read_only_but(places: &[PathBuf]) -> io::Result<()> {
    for place in places {
        let is_below = |other: &PathBuf| place != other && place.starts_with(other);
        // Within another it stays a part of it, so that files can be moved between them.
        if !places.iter().any(is_below) {
            over_itself(place, MountAccess::ReadWrite)?;
        }
    }
    for mount in mount_points(&fs::read_to_string("/proc/self/mountinfo")?) {
        if places.iter().any(|place| mount.starts_with(place)) {
            continue;
        }
        match set(&mount, MountAccess::ReadOnly) {
            Ok(()) => {}
            // Another one hides it, or it can not be reached: it can not be changed there either.
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

/// Where the mounts of a `mountinfo` are.
fn mount_points(text: &str) -> impl Iterator<Item = PathBuf> {
    let fields = text.lines().filter_map(|line| line.split(' ').nth(4));
    fields.map(|field| PathBuf::from(unescaped(field)))
}

/// A field of `mountinfo`, in which blanks and the like stand as octal numbers.
fn unescaped(field: &str) -> String {
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

/// Puts nothing in the place of a socket or a folder.
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
        // Gone since: nobody reaches it either.
        Err(Errno::NOENT) => Ok(()),
        done => Ok(done?),
    }
}

/// Shared memory of the command's own, which is gone after it. What of `kept` lies in the system's is mounted there as it
/// was; where all of it is kept, it stays the system's.
fn shared_memory(kept: &[PathBuf]) -> io::Result<()> {
    let Ok(shared) = fs::canonicalize(SHARED_MEMORY) else {
        return Ok(()); // there is none
    };
    let mut kept: Vec<&PathBuf> = kept.iter().filter(|p| p.starts_with(&shared)).collect();
    kept.sort();
    // What lies within another comes along with it.
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
    match mount("crewdeck", &shared, "tmpfs", flags, c"size=25%,mode=1777") {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        done => done?,
    }
    open.iter().try_for_each(HeldEntry::put_back)
}

/// Puts a set of terminals, in which there is none yet, in the place of all others.
fn terminals() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    match mount(
        "crewdeck",
        TERMINALS,
        "devpts",
        flags,
        c"newinstance,ptmxmode=0666,mode=0620",
    ) {
        // A machine without terminals has nothing to keep.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => return Ok(()),
        done => done?,
    }
    // A device of its own would make terminals of the old set; where it is a link it leads to the new one.
    let maker = Path::new("/dev/ptmx");
    if maker.symlink_metadata().is_ok_and(|m| !m.is_symlink()) {
        mount_bind_recursive("/dev/pts/ptmx", maker)?;
    }
    Ok(())
}

/// Puts an empty folder in the place of a git folder, with all that was in it mounted there: the shared parts
/// writable, the rest read-only, and the private history in place of the shared one.
fn git_folder(dir: &Path, private: Option<&PrivateHistory>) -> io::Result<()> {
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
        .try_for_each(|entry| entry.put_into(dir, private.is_some()));
    if filled.is_err() {
        // Better the folder as it is, which Landlock guards, than half of it.
        unmount(dir, UnmountFlags::DETACH)?;
    }
    filled
}

/// Mounts the private objects, refs and reflogs over those of a git folder.
fn history(private: &PrivateHistory) -> io::Result<()> {
    let (common, own) = (&private.common, &private.dir);
    let shared = common.join(FOLDER).join(SHARED_OBJECTS);
    mount_bind_recursive(common.join("objects"), &shared)?;
    set(&shared, MountAccess::ReadOnly)?;
    for name in ["objects", "refs", "logs/refs"] {
        let place = common.join(name);
        match mount_bind_recursive(own.join(name), &place) {
            // There are no reflogs.
            Err(Errno::NOENT) if name != "objects" && name != "refs" => {}
            done => {
                done?;
                set(&place, MountAccess::ReadWrite)?;
            }
        }
    }
    over_itself(&common.join("packed-refs"), MountAccess::ReadOnly)
}

fn is_one_of(name: &Path, names: &[&str]) -> bool {
    names.iter().any(|one| name == Path::new(one))
}

/// Something that is covered and mounted anew, held open.
struct HeldEntry {
    /// In its folder, or the whole path.
    name: PathBuf,
    open: OwnedFd,
    kind: FileType,
}

/// What is shown of a git folder. Where it has more than [`ENTRIES_MAX`] other entries, some of them are left out: the
/// folder is writable to commands in the root, which must not keep those of others from running.
fn entries(dir: &Path) -> io::Result<Vec<HeldEntry>> {
    let others = fs::read_dir(dir)?.take(ENTRIES_MAX).map(|entry| {
        let name = PathBuf::from(entry?.file_name());
        Ok((!is_one_of(&name, NEEDED)).then_some(name))
    });
    let others: Vec<Option<PathBuf>> = others.collect::<io::Result<_>>()?;
    let needed = NEEDED.iter().map(PathBuf::from);
    let mut out = Vec::new();
    for name in needed.chain(others.into_iter().flatten()) {
        // A lock belongs to a running git and is no part of the repository.
        if name.extension().is_some_and(|e| e == "lock") {
            continue;
        }
        let path = dir.join(&name);
        match HeldEntry::open(name, &path) {
            Ok(entry) => out.push(entry),
            // Gone since: a temporary file.
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

    /// Mounts it where it was, with all that is mounted in it: an empty folder lies over that place now.
    fn put_back(&self) -> io::Result<()> {
        if self.kind.is_dir() {
            fs::create_dir_all(&self.name)?;
        } else if let Some(folder) = self.name.parent() {
            fs::create_dir_all(folder)?;
            fs::write(&self.name, "")?;
        }
        let source = PathBuf::from(format!("/proc/self/fd/{}", self.open.as_raw_fd()));
        Ok(mount_bind_recursive(&source, &self.name)?)
    }

    fn put_into(&self, dir: &Path, is_private: bool) -> io::Result<()> {
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
        set(
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
    fn mounts_are_found_also_with_blanks_in_their_names() {
        let text = "22 1 0:1 / / rw,relatime - ext4 /dev/root rw\n\
                    23 22 0:2 / /mnt/a\\040b\\134c rw shared:1 - tmpfs none rw\nshort line\n";
        let found: Vec<PathBuf> = mount_points(text).collect();
        assert_eq!(found, ["/", "/mnt/a b\\c"].map(PathBuf::from));
    }
}
