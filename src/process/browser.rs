//! Opens web pages in the user's browser.

use std::io::Result;
use std::process::{Command, Stdio};

use super::environment;

/// The program with which the platform opens a web page.
#[cfg(target_os = "macos")]
const OPENER: &str = "open";
#[cfg(not(target_os = "macos"))]
const OPENER: &str = "xdg-open";

/// Opens `url` in the user's browser and does not wait. The browser continues to run when crewdeck ends. Returns false
/// if there is no display, or if the platform's opener could not be started. Must be called within a Tokio runtime,
/// which collects the exit status of the opener.
pub fn open(url: &str) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // Without a display, the opener of Linux may start a browser that uses crewdeck's terminal.
    let has_display = cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    has_display && start(OPENER, url).is_ok()
}

fn start(opener: &str, url: &str) -> Result<()> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(opener);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    environment::scrub(&mut command);
    tokio::process::Command::from(command).spawn().map(drop)
}
