//! Configures the supervisor of agent commands from the project directory and the settings, and contains its entry
//! point.

use std::path::{Path, PathBuf};

use crate::config::{SandboxMode, Settings};
use crate::domain::sandbox::CommandLimits;
use crate::process::sandbox::{self, Availability, GitDirs, Sandbox, SandboxReport};
use crate::process::session_variables::SessionVariables;
use crate::process::supervisor::Supervisor;
pub use crate::process::supervisor::{VERB, main};
use crate::protocol::EventSender;
use crate::protocol::event::{EventKind, NoticeLevel};
use crate::store;

/// Returns the supervisor for the commands of a crew. The commands cannot write the files in `approved`. Returns `None`
/// if crewdeck does not support a supervisor on this operating system.
pub fn supervisor(root: &Path, settings: &Settings, approved: &[PathBuf]) -> Option<Supervisor> {
    let program = Supervisor::program()?.to_path_buf();
    let confining = settings.sandbox.unwrap_or_default();
    let confinement = match confining {
        SandboxMode::Off => None,
        SandboxMode::On | SandboxMode::Files => {
            let git = store::git_dirs(root).map(|(own, common)| GitDirs { own, common });
            let home = etcetera::home_dir().ok();
            let named = settings.write.as_deref().unwrap_or_default();
            let write = sandbox::writable_folders(home.as_deref(), named);
            let variable = |name: &str| std::env::var_os(name);
            let caches = sandbox::cache_folders(home.as_deref(), root, variable);
            let sockets = settings.sockets.as_deref().unwrap_or_default();
            let confinement = Sandbox::new(root, git, &temporary(), &write)
                .with_caches(caches)
                .with_sockets(sockets)
                .with_approved(approved);
            Some(if confining == SandboxMode::Files {
                confinement.without_history()
            } else {
                confinement
            })
        }
    };
    Some(Supervisor {
        program,
        sandbox: confinement,
        network: settings.network.unwrap_or_default(),
        limits: limits(settings),
        variables: SessionVariables::default(),
    })
}

fn limits(settings: &Settings) -> CommandLimits {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    CommandLimits::new(
        settings.processes_max,
        settings.memory_max_mb,
        cores,
        memory_mb(Path::new("/")),
    )
}

/// Returns the memory of this machine in MiB, or the memory limit of the container if that is lower; `None` if the
/// memory is unknown. `root` is the root of the file system, which only tests change.
pub(super) fn memory_mb(root: &Path) -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let text = read("proc/meminfo")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let all: u64 = line.split_whitespace().next()?.parse().ok()?;
    let container = [
        "sys/fs/cgroup/memory.max",
        "sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    .iter()
    .filter_map(|path| read(path)?.trim().parse::<u64>().ok())
    .map(|bytes| bytes / 1024 / 1024)
    .min();
    Some((all / 1024).min(container.unwrap_or(u64::MAX)))
}

/// Tests which sandbox features work on this machine.
pub fn sandbox() -> SandboxReport {
    sandbox::probe(Supervisor::program())
}

/// Returns the sandbox setting for the demo: the one in `settings`, except that [`SandboxMode::Files`] replaces
/// [`SandboxMode::On`] if mount namespaces do not work. The git history is then not protected, but in the demo's
/// repository it contains nothing of value.
pub fn demo_sandbox(settings: &Settings) -> Option<SandboxMode> {
    let is_view_missing = || matches!(sandbox().view, Availability::No { .. });
    match settings.sandbox.unwrap_or_default() {
        SandboxMode::On if Supervisor::program().is_some() && is_view_missing() => {
            Some(SandboxMode::Files)
        }
        _ => settings.sandbox,
    }
}

/// Tests in the background which sandbox features work, so that the start is not delayed. Publishes a notice if a feature
/// is missing, and always with [`SandboxMode::Files`], because the git history is then not protected. Does nothing with
/// [`SandboxMode::Off`].
pub fn warn_about_missing_sandbox(settings: &Settings, event_sender: EventSender) {
    if settings.sandbox == Some(SandboxMode::Off) {
        return;
    }
    let rules = settings.network.unwrap_or_default();
    let is_history_given_up = settings.sandbox == Some(SandboxMode::Files);
    tokio::spawn(async move {
        let report = tokio::task::spawn_blocking(sandbox).await;
        let text = report.ok().and_then(|r| {
            if is_history_given_up {
                Some(r.missing_without_history())
            } else {
                r.describe_missing().or_else(|| r.missing_network(rules))
            }
        });
        if let Some(text) = text {
            let notice = EventKind::notice(NoticeLevel::Warn, text);
            event_sender.publish(notice).await;
        }
    });
}

/// Returns the directories for temporary files: `/tmp`, `/var/tmp`, and the one that `TMPDIR` names.
fn temporary() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = vec!["/tmp".into(), "/var/tmp".into()];
    let own = std::env::temp_dir();
    if !all.contains(&own) {
        all.push(own);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_limit_of_the_container_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(memory_mb(root.path()), None);
        write("proc/meminfo", "MemFree: 7 kB\nMemTotal:    16777216 kB\n");
        assert_eq!(memory_mb(root.path()), Some(16_384));
        write("sys/fs/cgroup/memory.max", "max\n");
        assert_eq!(memory_mb(root.path()), Some(16_384));
        write("sys/fs/cgroup/memory.max", "2147483648\n");
        assert_eq!(memory_mb(root.path()), Some(2048));
    }
}
