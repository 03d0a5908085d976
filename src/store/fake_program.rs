//! Shell scripts that tests run in place of other programs.

use std::path::Path;
use std::process::Command;

/// Writes the shell script `script` to the executable file `program`.
pub fn write(program: &Path, script: &str) {
    // Another process writes the script. If this process wrote it, a thread that starts a program at the same time
    // could pass the open file on, and the script could not be started ("text file busy").
    let written = Command::new("sh")
        .args([
            "-c",
            r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#,
            "sh",
            script,
        ])
        .arg(program)
        .status();
    assert!(written.unwrap().success());
}
