//! Finds the supervisor among the ancestors of this process.
//!
//! A process whose parent has ended becomes a child of the supervisor, which is a subreaper. The supervisor is therefore an
//! ancestor of every process that the command has started, however they were started.

use std::fs::File;
use std::io::Read;

use super::{BY_CREWDECK, VERB};

/// Maximum number of ancestors that are searched. A process with more of them counts as started by a supervisor, because a
/// command could otherwise hide the supervisor behind many shells.
const ANCESTORS_MAX: usize = 4096;
/// Maximum number of bytes that are read of a file in `/proc`. The arguments of a supervisor are shorter.
const READ_MAX: u64 = 16 * 1024;

/// Returns whether a supervisor is an ancestor of this process. Returns false if `/proc` cannot be read.
pub fn has_supervisor() -> bool {
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..ANCESTORS_MAX {
        // The parent is 0 in the first process, and if the parent is in another PID namespace.
        if process <= 1 {
            return false;
        }
        if read(process, "cmdline").is_some_and(|arguments| is_supervisor(&arguments)) {
            return true;
        }
        let Some(parent) = read(process, "stat").and_then(|stat| parent_of(&stat)) else {
            return false;
        };
        process = parent;
    }
    true
}

fn read(process: u32, name: &str) -> Option<Vec<u8>> {
    let file = File::open(format!("/proc/{process}/{name}")).ok()?;
    let mut bytes = Vec::new();
    file.take(READ_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns whether a process with these arguments, which NUL bytes separate, is a supervisor.
fn is_supervisor(arguments: &[u8]) -> bool {
    let mut arguments = arguments.split(|byte| *byte == 0).skip(1);
    arguments.next() == Some(VERB.as_bytes())
        && arguments.any(|argument| argument == BY_CREWDECK.as_bytes())
}

/// Returns the parent of a process from its file `stat`. The name of the program is in parentheses and can contain any
/// character.
fn parent_of(stat: &[u8]) -> Option<u32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supervisor_is_recognized_by_its_arguments() {
        for (arguments, expected) in [
            (&b"/usr/bin/crewdeck\0guard\0--for-crewdeck\0"[..], true),
            (b"crewdeck\0guard\0--for-crewdeck\0--with-stdin\0", true),
            (b"crewdeck\0guard\0--probe\0", false),
            (b"sh\0-c\0crewdeck guard --for-crewdeck\0", false),
            (b"guard\0--for-crewdeck\0", false),
            (b"", false),
        ] {
            assert_eq!(is_supervisor(arguments), expected);
        }
    }

    #[test]
    fn parent_is_read_behind_any_program_name() {
        assert_eq!(parent_of(b"12 (a) b) S 34 12 12"), Some(34));
        assert_eq!(parent_of(b"12 (a"), None);
        let own = read(std::process::id(), "stat").unwrap();
        assert_eq!(parent_of(&own), Some(std::os::unix::process::parent_id()));
    }
}
