//! Finds the server of a remote whose URL has an alias from the user's `~/.ssh/config`, such as `git@work:acme/tool.git`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::domain::code_host::RepositoryAddress;
use crate::process::JobExit;
use crate::process::blocking::{self, BlockingCommand};
use crate::process::environment::{find_program_outside, path_outside};

/// Maximum time for `ssh -G`, which contacts no server.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of its output, in bytes.
const OUTPUT_MAX: usize = 256 * 1024;

/// Returns the address with the name of the server, if its server is an alias. Otherwise, returns it unchanged. `project` is
/// the root of the project.
///
/// # Errors
/// Fails if the server is not known. It is never guessed: the text of a pull request would be sent to it.
pub fn resolve(
    address: RepositoryAddress,
    project: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<RepositoryAddress> {
    if !address.is_alias {
        return Ok(address);
    }
    let alias = &address.server;
    let found = ask_ssh(alias, project, stop).and_then(|host| {
        // A name without a dot may be that of a server in the user's network.
        if host == *alias && alias.contains('.') {
            bail!("{alias} is not in your ~/.ssh/config");
        }
        address.at_host(&host).context("ssh names no valid server")
    });
    found.with_context(|| {
        format!("the server of {alias}:{} is not known: write the full name of the server into the URL of the remote (git remote set-url)", address.path)
    })
}

/// Returns the host for which `alias` stands in the user's settings of SSH; `alias` itself if they do not have it.
fn ask_ssh(alias: &str, project: &Path, stop: &Arc<AtomicBool>) -> Result<String> {
    let program = find_program_outside("ssh", project)
        .ok()
        .context("ssh is not installed outside of this project")?;
    let output = blocking::run(&BlockingCommand {
        program,
        // An alias begins with an alphanumeric character, so that it is no option.
        args: vec!["-G".into(), alias.into()],
        dir: project.to_path_buf(),
        stdin: None,
        env: vec![
            ("LC_ALL", Some("C".into())),
            ("PATH", Some(path_outside(project))),
        ],
        timeout: TIMEOUT,
        stop: Some(Arc::clone(stop)),
        keep: OUTPUT_MAX,
    })
    .context("ssh cannot be started")?;
    if output.ended != JobExit::Code(0) {
        bail!("ssh -G {alias} failed ({})", output.ended);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("hostname "));
    let host = host.context("ssh -G names no host")?;
    Ok(host.trim().to_ascii_lowercase())
}
