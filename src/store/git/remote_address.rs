//! Checks the addresses of remote repositories.
//!
//! Git takes an address for an option, or starts a program that the address names (`ext::sh -c …`), depending on how it
//! begins. Therefore only known forms are passed on.

/// Maximum length of an address, in bytes.
const ADDRESS_MAX: usize = 2000;

/// How git reaches a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteTransport {
    /// With ssh or HTTPS.
    Network,
    /// As a folder of this machine. Git then runs the hooks of that repository here.
    File,
}

/// Returns how git reaches the repository at `address`, a URL, `HOST:PATH` or a path. The name of a remote counts as a
/// path.
///
/// # Errors
/// Returns the end of a sentence that begins with the name of the address.
pub fn transport_of(address: &str) -> Result<RemoteTransport, String> {
    if address.trim().is_empty() {
        return Err("is empty: give the name of a git remote, a URL or an absolute path".into());
    }
    if address.len() > ADDRESS_MAX {
        return Err(format!("is longer than {ADDRESS_MAX} bytes"));
    }
    if address.chars().any(char::is_control) {
        return Err("contains control characters".into());
    }
    if address.starts_with('-') {
        return Err("begins with '-', which git takes for an option".into());
    }
    if has_helper(address) {
        return Err(
            "names a program for git to start: give a path or a URL of ssh or https".into(),
        );
    }
    if let Some((scheme, rest)) = address.split_once("://") {
        return match scheme {
            "file" => Ok(RemoteTransport::File),
            "https" | "ssh" | "git+ssh" | "ssh+git" => {
                check_authority(rest, true)?;
                Ok(RemoteTransport::Network)
            }
            "http" | "git" => Err(format!(
                "uses {scheme}://, which is not encrypted: use ssh, https or a path"
            )),
            _ => Err(
                "has an unknown scheme: use ssh://, https://, HOST:PATH or an absolute path".into(),
            ),
        };
    }
    // As git does it: a colon after the first slash is a part of a path.
    match address.split_once(':') {
        Some((host, path)) if !host.contains('/') => {
            check_authority(host, false)?;
            if path.is_empty() || path.starts_with('-') {
                return Err("has no valid path after HOST:".into());
            }
            Ok(RemoteTransport::Network)
        }
        Some(_) | None => Ok(RemoteTransport::File),
    }
}

/// Returns whether git starts a helper program for `address`, such as `git-remote-ext` for `ext::…`.
fn has_helper(address: &str) -> bool {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let rest = address.trim_start_matches(is_scheme);
    rest.len() < address.len() && rest.starts_with("::")
}

/// Checks the part of an address that names the server. `rest` begins with it.
fn check_authority(rest: &str, is_url: bool) -> Result<(), String> {
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    if is_url && user.contains(':') {
        return Err(
            "contains a password, which other users of the machine could read: let git's credential helper keep it"
                .into(),
        );
    }
    if host.is_empty() || host.starts_with('-') || authority.starts_with('-') {
        return Err("does not name a server".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn known_forms_of_addresses_are_accepted() {
        for (address, transport) in [
            ("origin", RemoteTransport::File),
            ("/srv/git/tool.git", RemoteTransport::File),
            ("/srv/a:b.git", RemoteTransport::File),
            ("../tool.git", RemoteTransport::File),
            ("file:///srv/git/tool.git", RemoteTransport::File),
            (
                "https://example.org/acme/tool.git",
                RemoteTransport::Network,
            ),
            ("https://bob@example.org/tool.git", RemoteTransport::Network),
            (
                "ssh://git@example.org:2222/tool.git",
                RemoteTransport::Network,
            ),
            ("ssh://git@[::1]/tool.git", RemoteTransport::Network),
            ("git@example.org:acme/tool.git", RemoteTransport::Network),
        ] {
            assert_eq!(transport_of(address), Ok(transport), "{address}");
        }
    }

    #[test]
    fn addresses_that_start_programs_or_leak_are_rejected() {
        for (address, hint) in [
            ("", "is empty"),
            (" ", "is empty"),
            ("-u", "begins with '-'"),
            ("--upload-pack=touch x", "begins with '-'"),
            ("ext::sh -c touch% x", "names a program"),
            ("fd::17", "names a program"),
            ("a.b+c::x", "names a program"),
            ("http://example.org/x.git", "not encrypted"),
            ("git://example.org/x.git", "not encrypted"),
            ("ftp://example.org/x.git", "unknown scheme"),
            ("https://bob:secret@example.org/x", "a password"),
            ("ssh://-oProxyCommand=x/y", "does not name a server"),
            ("ssh://git@-oProxyCommand=x/y", "does not name a server"),
            ("-oProxyCommand=x:y", "begins with '-'"),
            ("git@-x:y", "does not name a server"),
            (":y", "does not name a server"),
            ("host:", "no valid path"),
            ("host:-x", "no valid path"),
            ("a\nb", "control characters"),
        ] {
            let why = transport_of(address).unwrap_err();
            assert!(why.contains(hint), "{address}: {why}");
        }
        assert!(transport_of(&"a".repeat(ADDRESS_MAX + 1)).is_err());
    }
}
