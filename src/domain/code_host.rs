//! Services that host git repositories with issues and pull requests, and the address of a repository there.

use std::fmt;

/// Maximum length of the URL of a page, in bytes.
const URL_MAX: usize = 2000;

/// A service whose issues and pull requests crewdeck reaches through the service's own command-line client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeHost {
    GitHub,
    GitLab,
}

impl fmt::Display for CodeHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CodeHost::GitHub => "GitHub",
            CodeHost::GitLab => "GitLab",
        })
    }
}

impl CodeHost {
    /// Returns the name that the service has for a request to merge a branch.
    pub fn request_name(self) -> &'static str {
        match self {
            CodeHost::GitHub => "pull request",
            CodeHost::GitLab => "merge request",
        }
    }

    /// Returns the service that runs at the server, such as `github.com` or `gitlab.example.org`; `None` if the name of the
    /// server does not say it.
    pub fn of_server(server: &str) -> Option<CodeHost> {
        // `github.com-mirror.example.org` belongs to `example.org`, which does not say what runs there.
        let is_posing = |known: &&str| {
            let suffix = server.strip_prefix(*known);
            suffix.is_some_and(|rest| rest.starts_with(['-', '_', '.']))
        };
        if SERVERS.iter().any(is_posing) {
            return None;
        }
        let has = |word: &str| server.split(['.', '-', ':']).any(|part| part == word);
        match (has("github") || server.ends_with(".ghe.com"), has("gitlab")) {
            (true, false) => Some(CodeHost::GitHub),
            (false, true) => Some(CodeHost::GitLab),
            (true, true) | (false, false) => None,
        }
    }
}

/// The address of a repository at a server, from the URL of a remote. Contains no user name and no password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAddress {
    /// The name of the server in lower case, with the port if the URL is one of HTTP and has a port.
    pub server: String,
    /// The path of the repository at the server without `.git`, such as `acme/tool`.
    pub path: String,
    /// Whether `server` may be a name that only the user's `~/.ssh/config` defines: it is from the URL of SSH and has no dot,
    /// or it is `github.com` or `gitlab.com` with a suffix, such as `github.com-work`.
    pub is_alias: bool,
}

impl RepositoryAddress {
    /// Parses the URL of a remote: `https://SERVER/PATH.git`, `ssh://USER@SERVER/PATH` or `USER@SERVER:PATH`. Returns `None`
    /// for folders on this machine, and for URLs with characters that the address of a repository cannot have.
    pub fn parse(url: &str) -> Option<RepositoryAddress> {
        let (is_http, authority, path) = match url.split_once("://") {
            Some((scheme, rest)) => {
                let is_http = match scheme.to_ascii_lowercase().as_str() {
                    "https" | "http" => true,
                    "ssh" | "git" | "git+ssh" | "ssh+git" => false,
                    _ => return None,
                };
                let (authority, path) = rest.split_once('/')?;
                (is_http, authority, path)
            }
            None => {
                let (authority, path) = url.split_once(':')?;
                (false, authority, path)
            }
        };
        let server = authority.rsplit('@').next().unwrap_or_default();
        let server = server.to_ascii_lowercase();
        let server = if is_http { server } else { ssh_server(&server) };
        let is_alias = !is_http && is_ssh_alias(&server);
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let is_path = |c: char| c.is_ascii_alphanumeric() || "-._~+".contains(c);
        let is_part = |part: &str| {
            !matches!(part, "" | "." | "..") && !part.starts_with('-') && part.chars().all(is_path)
        };
        let is_valid = is_server(&server) && path.contains('/') && path.split('/').all(is_part);
        is_valid.then(|| RepositoryAddress {
            server,
            path: path.into(),
            is_alias,
        })
    }

    /// Returns the address of the repository at the server `host`, for which [`RepositoryAddress::server`] is an alias of
    /// SSH; `None` if `host` is not the name of a server.
    #[must_use]
    pub fn at_host(&self, host: &str) -> Option<RepositoryAddress> {
        let server = ssh_server(&host.to_ascii_lowercase());
        is_server(&server).then(|| RepositoryAddress {
            server,
            path: self.path.clone(),
            is_alias: false,
        })
    }
}

/// The servers whose aliases usually have their name with a suffix.
const SERVERS: &[&str] = &["github.com", "gitlab.com"];

/// Returns the server for the host of an SSH URL: without the port, and the server itself for the hosts that `github.com`
/// and `gitlab.com` have for firewalls.
fn ssh_server(host: &str) -> String {
    let host = host.split(':').next().unwrap_or_default();
    let is_other_port =
        |server: &&&str| host == format!("ssh.{server}") || host == format!("altssh.{server}");
    let server = SERVERS.iter().find(is_other_port);
    server.map_or(host, |server| *server).into()
}

/// Returns whether the host of an SSH URL may be an alias from `~/.ssh/config`. A suffix with a dot belongs to the name of
/// another server: `github.com-mirror.example.org` is not GitHub's.
fn is_ssh_alias(host: &str) -> bool {
    let has_suffix = |server: &&str| {
        let suffix = host.strip_prefix(*server);
        suffix.is_some_and(|rest| rest.starts_with(['-', '_']) && !rest.contains('.'))
    };
    !host.contains('.') || SERVERS.iter().any(has_suffix)
}

fn is_server(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part)
}

/// Returns whether `text` is the URL of a page and contains only characters that cannot end a quotation or a link.
pub fn is_page_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let is_safe =
        |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\');
    rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_safe)) && text.len() <= URL_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn remote_urls_are_parsed_without_user_and_password() {
        for (url, server, path, is_alias) in [
            (
                "https://github.com/acme/tool.git",
                "github.com",
                "acme/tool",
                false,
            ),
            (
                "https://ann:secret@GitLab.example.org:8443/a/b/c",
                "gitlab.example.org:8443",
                "a/b/c",
                false,
            ),
            ("https://gitlab/acme/tool.git", "gitlab", "acme/tool", false),
            (
                "git@github.com:acme/tool.git",
                "github.com",
                "acme/tool",
                false,
            ),
            (
                "git@github.com-work:acme/tool",
                "github.com-work",
                "acme/tool",
                true,
            ),
            (
                "git@github.com-mirror.example.org:acme/tool",
                "github.com-mirror.example.org",
                "acme/tool",
                false,
            ),
            ("work:acme/.tool", "work", "acme/.tool", true),
            ("git@gitlab:acme/tool.git", "gitlab", "acme/tool", true),
            (
                "ssh://git@ssh.github.com:443/acme/tool.git",
                "github.com",
                "acme/tool",
                false,
            ),
            (
                "ssh://git@git.example.org:2222/acme/tool/",
                "git.example.org",
                "acme/tool",
                false,
            ),
        ] {
            let expected = RepositoryAddress {
                server: server.into(),
                path: path.into(),
                is_alias,
            };
            assert_eq!(RepositoryAddress::parse(url), Some(expected), "{url}");
        }
        for url in [
            "/srv/git/tool.git",
            "../tool.git",
            "./a:b/c",
            "file:///srv/git/tool.git",
            "C:\\git\\tool",
            "https://github.com/tool",
            "https://github.com/acme/../tool",
            "https://github.com/acme/tool?x=y",
            "https://-x/acme/tool",
            "git@github.com:-acme/tool",
            "ext::sh -c x/y",
            "",
        ] {
            assert_eq!(RepositoryAddress::parse(url), None, "{url}");
        }
    }

    #[test]
    fn alias_is_replaced_by_its_host() {
        let alias = RepositoryAddress::parse("git@work:acme/tool.git").unwrap();
        let at = |host: &str| {
            alias
                .at_host(host)
                .map(|found| (found.server, found.is_alias))
        };
        assert_eq!(
            at("Git.Example.org"),
            Some(("git.example.org".into(), false))
        );
        assert_eq!(at("ssh.github.com"), Some(("github.com".into(), false)));
        assert_eq!(at("gitlab"), Some(("gitlab".into(), false)));
        assert_eq!(at("-x"), None);
        assert_eq!(at(""), None);
    }

    #[test]
    fn server_names_say_which_service_runs_there() {
        for (server, host) in [
            ("github.com", Some(CodeHost::GitHub)),
            ("github.example.org", Some(CodeHost::GitHub)),
            ("acme.ghe.com", Some(CodeHost::GitHub)),
            ("gitlab.com", Some(CodeHost::GitLab)),
            ("my-gitlab.example.org:8443", Some(CodeHost::GitLab)),
            ("git.example.org", None),
            ("notgithub.com", None),
            ("gitlab", Some(CodeHost::GitLab)),
            ("github.com-mirror.example.org", None),
            ("gitlab.com.example.org", None),
            ("github-gitlab.example.org", None),
        ] {
            assert_eq!(CodeHost::of_server(server), host, "{server}");
        }
    }
}
