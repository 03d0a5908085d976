//! Finds the sockets of services that act for the user, such as ssh-agent, and the variables that name them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::domain::sandbox::SocketGroup;

/// Environment variables that name a socket or a service, by group.
const VARIABLES: &[(SocketGroup, &[&str])] = &[
    (
        SocketGroup::Ssh,
        &["SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS"],
    ),
    (SocketGroup::Gpg, &["GPG_AGENT_INFO", "GPG_TTY"]),
    (
        SocketGroup::Containers,
        &[
            "DOCKER_HOST",
            "DOCKER_CONTEXT",
            "CONTAINER_HOST",
            "CONTAINERD_ADDRESS",
            "BUILDKIT_HOST",
        ],
    ),
    (
        SocketGroup::Display,
        &[
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "WAYLAND_SOCKET",
            "XAUTHORITY",
            "SWAYSOCK",
            "I3SOCK",
            "PULSE_SERVER",
        ],
    ),
    (
        SocketGroup::Dbus,
        &[
            "DBUS_SESSION_BUS_ADDRESS",
            "DBUS_SYSTEM_BUS_ADDRESS",
            "AT_SPI_BUS_ADDRESS",
        ],
    ),
    (
        SocketGroup::Terminals,
        &[
            "TMUX",
            "TMUX_PANE",
            "STY",
            "ZELLIJ",
            "KITTY_LISTEN_ON",
            "WEZTERM_UNIX_SOCKET",
            "ALACRITTY_SOCKET",
            "VSCODE_IPC_HOOK_CLI",
            "VSCODE_GIT_IPC_HANDLE",
            "NVIM",
            "NVIM_LISTEN_ADDRESS",
        ],
    ),
];
/// Well-known paths of sockets and of folders that contain sockets, by group.
const WELL_KNOWN: &[(SocketGroup, &[&str])] = &[
    (
        SocketGroup::Containers,
        &[
            "/run/docker.sock",
            "/var/run/docker.sock",
            "/run/containerd",
            "/run/podman",
            "/run/crio",
            "/run/buildkit",
            "/run/k3s",
            "/run/libvirt",
            "/var/lib/lxd/unix.socket",
            "/var/lib/incus/unix.socket",
            "/var/snap/lxd/common/lxd/unix.socket",
        ],
    ),
    (SocketGroup::Display, &["/tmp/.X11-unix", "/tmp/.ICE-unix"]),
    (
        SocketGroup::Dbus,
        &[
            "/run/dbus",
            "/var/run/dbus",
            "/run/systemd/private",
            "/run/snapd.socket",
        ],
    ),
    (SocketGroup::Terminals, &["/run/screen", "/tmp/screens"]),
];
/// Like [`WELL_KNOWN`], but relative to the home directory.
const IN_HOME: &[(SocketGroup, &[&str])] = &[
    (
        SocketGroup::Ssh,
        // The last two belong to git's credential cache.
        &[
            ".ssh/agent",
            ".cache/git/credential",
            ".git-credential-cache",
        ],
    ),
    (
        SocketGroup::Gpg,
        &[
            ".gnupg/S.gpg-agent",
            ".gnupg/S.gpg-agent.extra",
            ".gnupg/S.gpg-agent.ssh",
            ".gnupg/S.scdaemon",
        ],
    ),
    (
        SocketGroup::Containers,
        &[
            ".docker/run",
            ".docker/desktop",
            ".colima/docker.sock",
            ".colima/default",
            ".rd/docker.sock",
            ".orbstack/run",
        ],
    ),
    (SocketGroup::Terminals, &[".screen"]),
];
/// Substrings of a socket's path that identify its group.
const SIGNS: &[(SocketGroup, &[&str])] = &[
    (
        SocketGroup::Ssh,
        &[
            "/tmp/ssh-",
            "ssh-agent",
            "openssh_agent",
            "/keyring/",
            "/gcr/",
            "/ssh-",
        ],
    ),
    (
        SocketGroup::Gpg,
        &["/gnupg/", "/S.gpg-agent", "/S.scdaemon"],
    ),
    (
        SocketGroup::Containers,
        &[
            "docker",
            "podman",
            "containerd",
            "/crio",
            "buildkit",
            "/libvirt",
            "/lxd/",
            "/incus/",
        ],
    ),
    (
        SocketGroup::Display,
        &[
            "/wayland-",
            "/.X11-unix/",
            "/.ICE-unix/",
            "/pipewire-",
            "/pulse/",
            "/sway-ipc",
            "/i3/",
        ],
    ),
    (
        SocketGroup::Dbus,
        &["/dbus-", "/dbus/", "/systemd/private", "/at-spi", "/snapd"],
    ),
    (
        SocketGroup::Terminals,
        &[
            "/tmux-",
            "/screen",
            "/zellij",
            "/kitty",
            "/wezterm",
            "/Alacritty",
            "/vscode-",
            "/nvim",
        ],
    ),
];
/// Maximum number of sockets in use that are checked. Further sockets are not hidden.
const IN_USE_MAX: usize = 4096;

/// Returns the names of the environment variables to remove from commands that can use only the `allowed` groups of
/// sockets. If no group is allowed, `XDG_RUNTIME_DIR` is among them.
pub fn unset(allowed: &[SocketGroup]) -> Vec<String> {
    let denied = VARIABLES
        .iter()
        .filter(|(group, _)| !allowed.contains(group));
    let mut names: Vec<String> = denied
        .flat_map(|(_, names)| names.iter().map(ToString::to_string))
        .collect();
    if allowed.is_empty() {
        names.push("XDG_RUNTIME_DIR".into());
    }
    names
}

/// Returns the existing sockets and folders of sockets to hide from commands that can use only the `allowed` groups.
/// The paths contain no symbolic links, are sorted, and none is inside another one. Entries of the runtime folder that
/// belong to no known group are hidden too. Sockets below the project root `own` belong to the project and are not
/// hidden.
pub fn hidden_paths(allowed: &[SocketGroup], home: Option<&Path>, own: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let is_denied = |group: &SocketGroup| !allowed.contains(group);
    for (_, paths) in WELL_KNOWN.iter().filter(|(group, _)| is_denied(group)) {
        found.extend(paths.iter().map(PathBuf::from));
    }
    for (_, names) in IN_HOME.iter().filter(|(group, _)| is_denied(group)) {
        found.extend(
            home.into_iter()
                .flat_map(|home| names.iter().map(|name| home.join(name))),
        );
    }
    let names = VARIABLES.iter().filter(|(group, _)| is_denied(group));
    for name in names.flat_map(|(_, names)| names.iter()) {
        found.extend(std::env::var(name).ok().and_then(|value| path_in(&value)));
    }
    let user = rustix::process::geteuid().as_raw();
    let runtime = [
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
        Some(PathBuf::from(format!("/run/user/{user}"))),
    ];
    let runtime: Vec<PathBuf> = runtime
        .into_iter()
        .flatten()
        .filter(|dir| is_runtime(dir))
        .collect();
    if allowed.is_empty() {
        found.extend(runtime);
    } else {
        for entry in runtime
            .iter()
            .filter_map(|dir| fs::read_dir(dir).ok())
            .flatten()
            .flatten()
        {
            let path = entry.path();
            if group_of(&path).is_none_or(|group| is_denied(&group)) {
                found.insert(path);
            }
        }
    }
    if is_denied(&SocketGroup::Terminals) {
        found.insert(format!("/tmp/tmux-{user}").into());
    }
    found.extend(in_use().filter(|path| group_of(path).is_some_and(|group| is_denied(&group))));
    let there = found.iter().filter_map(|path| fs::canonicalize(path).ok());
    outermost(there.filter(|path| !path.starts_with(own)))
}

/// Returns whether the folder is below `/run/user`, or the last part of its path contains `runtime`. Checked because
/// `XDG_RUNTIME_DIR` could name any folder.
fn is_runtime(dir: &Path) -> bool {
    dir.starts_with("/run/user") && dir != Path::new("/run/user")
        || dir
            .file_name()
            .is_some_and(|name| name.to_string_lossy().contains("runtime"))
}

/// Returns the socket path in the value of an environment variable: `PATH`, `unix:///PATH`, `unix:path=PATH,…` or
/// `PATH,…`. Returns `None` if there is no socket at this path, or if the path is not absolute.
fn path_in(value: &str) -> Option<PathBuf> {
    let value = value.strip_prefix("unix:").unwrap_or(value);
    let value = value.strip_prefix("path=").unwrap_or(value);
    let value = value.strip_prefix("//").unwrap_or(value);
    let value = value.split([',', ';']).next().unwrap_or(value);
    let path = PathBuf::from(value);
    // Only sockets: hiding a folder like `/tmp` would hide everything in it.
    let is_socket = fs::metadata(&path).is_ok_and(|meta| {
        use std::os::unix::fs::FileTypeExt;
        meta.file_type().is_socket()
    });
    (path.is_absolute() && is_socket).then_some(path)
}

/// Iterates over the paths of the sockets in use on this machine, at most [`IN_USE_MAX`].
fn in_use() -> impl Iterator<Item = PathBuf> {
    let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths = text
        .lines()
        .filter_map(|line| line.find('/').map(|at| line[at..].to_string()));
    paths
        .take(IN_USE_MAX)
        .map(PathBuf::from)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Returns the group to which a socket belongs according to its path; `None` if the path indicates no group.
fn group_of(path: &Path) -> Option<SocketGroup> {
    if path.ends_with("bus") {
        return Some(SocketGroup::Dbus);
    }
    let path = path.to_string_lossy();
    let found = SIGNS
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| path.contains(sign)));
    found.map(|(group, _)| *group)
}

/// Returns the `paths` that are not inside another path of `paths`, sorted and without duplicates.
fn outermost(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let sorted: BTreeSet<PathBuf> = paths.collect();
    let mut out: Vec<PathBuf> = Vec::new();
    for path in sorted {
        if !out.iter().any(|outer| path.starts_with(outer)) {
            out.push(path);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn socket_groups_are_recognized_by_path() {
        for (path, group) in [
            ("/tmp/ssh-abc/agent.12", SocketGroup::Ssh),
            ("/run/user/1000/keyring/ssh", SocketGroup::Ssh),
            ("/run/user/1000/gnupg/S.gpg-agent", SocketGroup::Gpg),
            ("/home/a/.colima/x/docker.sock", SocketGroup::Containers),
            ("/run/user/1000/wayland-0", SocketGroup::Display),
            ("/run/user/1000/bus", SocketGroup::Dbus),
            ("/tmp/tmux-0/default", SocketGroup::Terminals),
        ] {
            assert_eq!(group_of(Path::new(path)), Some(group), "{path}");
        }
        for path in [
            "/run/postgresql/.s.PGSQL.5432",
            "/tmp/my-test.sock",
            "/run/nscd/socket",
        ] {
            assert_eq!(group_of(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn only_allowed_groups_keep_their_variables() {
        let none = unset(&[]);
        assert!(none.contains(&"SSH_AUTH_SOCK".into()) && none.contains(&"XDG_RUNTIME_DIR".into()));
        let ssh = unset(&[SocketGroup::Ssh]);
        assert!(!ssh.contains(&"SSH_AUTH_SOCK".into()) && ssh.contains(&"DOCKER_HOST".into()));
        assert_eq!(unset(&SocketGroup::ALL), Vec::<String>::new());
        let paths = ["/a/b", "/a", "/c/d", "/ab"].map(PathBuf::from);
        assert_eq!(
            outermost(paths.into_iter()),
            ["/a", "/ab", "/c/d"].map(PathBuf::from)
        );
    }
}
