//! The private view of the mounts: folders that a command may not write are mounted read-only over themselves.
//!
//! Only for a process with one thread, since the kernel gives a user namespace to no other.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::sched::CloneFlags;
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};

use super::Mount;
use super::plan::SHARED_IN_GIT;

/// Most entries of a git folder that are shown in a view of it.
const ENTRIES_MAX: usize = 512;

/// Gives this process a view of its own. Where the work directory is the current one, it must be entered anew.
///
/// # Errors
/// What the kernel refused, in one line; the view may be half made then, and only less can be written in it.
pub fn make(steps: &[Mount]) -> Result<(), String> {
    separate().map_err(|e| format!("a mount namespace is refused: {e}"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|e| format!("mounts can not be made private: {e}"))?;
    for step in steps {
        let (path, done) = match step {
            Mount::ReadOnly(path) => (path, over_itself(path, Writing::Forbidden)),
            Mount::Writable(path) => (path, over_itself(path, Writing::Allowed)),
            Mount::GitFolder(path) => (path, git_folder(path)),
        };
        done.map_err(|e| format!("{} can not be mounted: {e}", path.display()))?;
    }
    Ok(())
}

/// Steps that need everything that a view needs, and change nothing for a process that ends right after.
pub fn trial() -> Vec<Mount> {
    vec![Mount::ReadOnly("/proc".into())]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writing {
    Allowed,
    Forbidden,
}

/// Enters a mount namespace; who may not do so by itself does it in a user namespace in which it is the same user.
fn separate() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() && nix::sched::unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        return Ok(());
    }
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
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
fn over_itself(path: &Path, writing: Writing) -> io::Result<()> {
    match mount_bind_recursive(path, path) {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(why) => Err(why.into()),
        Ok(()) => set(path, writing),
    }
}

/// Makes a mount read-only or writable. Its other flags stay: the kernel lets nobody drop those that it locked.
fn set(path: &Path, writing: Writing) -> io::Result<()> {
    let now = statvfs(path)?.f_flag;
    let is_read_only = now.contains(StatVfsMountFlags::RDONLY);
    if is_read_only == (writing == Writing::Forbidden) {
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
        Writing::Forbidden => Ok(mount_remount(path, flags | MountFlags::RDONLY, c"")?),
        Writing::Allowed => match mount_remount(path, flags, c"") {
            // The file system itself is read-only, so nothing is lost.
            Err(Errno::PERM | Errno::ROFS) => Ok(()),
            other => Ok(other?),
        },
    }
}

/// Puts an empty folder in the place of a git folder, with all that was in it mounted there: the shared parts
/// writable, the rest read-only.
fn git_folder(dir: &Path) -> io::Result<()> {
    let entries = entries(dir)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("crewdeck", dir, "tmpfs", flags, c"size=64m,mode=0700")?;
    let filled = entries.iter().try_for_each(|entry| entry.put_into(dir));
    if filled.is_err() {
        // Better the folder as it is, which Landlock guards, than half of it.
        unmount(dir, UnmountFlags::DETACH)?;
    }
    filled
}

/// Something that lies in a git folder, held open.
struct Entry {
    name: PathBuf,
    open: OwnedFd,
    kind: fs::FileType,
}

fn entries(dir: &Path) -> io::Result<Vec<Entry>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        // A lock is somebody's at this moment, and no part of the repository.
        if name.extension().is_some_and(|e| e == "lock") {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = match rustix::fs::open(entry.path(), flags, Mode::empty()) {
            // Gone since: a temporary file.
            Err(Errno::NOENT) => continue,
            open => open?,
        };
        if out.len() == ENTRIES_MAX {
            return Err(io::Error::other("there are too many files in it"));
        }
        out.push(Entry {
            name,
            open,
            kind: entry.file_type()?,
        });
    }
    Ok(out)
}

impl Entry {
    fn put_into(&self, dir: &Path) -> io::Result<()> {
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
        let is_shared = SHARED_IN_GIT
            .iter()
            .any(|name| self.name == Path::new(name));
        set(
            &target,
            if is_shared {
                Writing::Allowed
            } else {
                Writing::Forbidden
            },
        )
    }
}
