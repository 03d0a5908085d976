//! Programs that run another program, such as `timeout 5 make`. Does no I/O.

use super::words::Word;

/// Programs that run another program, each with the options that take the next word as their value. The words after the
/// options are the command line of the other program.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("env", &["-u", "-C", "-a", "--unset", "--chdir", "--argv0"]),
    ("nohup", &[]),
    ("nice", &["-n", "--adjustment"]),
    (
        "ionice",
        &["-c", "-n", "-p", "-P", "-u", "--class", "--classdata"],
    ),
    ("command", &[]),
    ("exec", &["-a"]),
    ("builtin", &[]),
    (
        "stdbuf",
        &["-i", "-o", "-e", "--input", "--output", "--error"],
    ),
    ("setsid", &[]),
    ("busybox", &[]),
    ("time", &["-f", "-o", "--format", "--output"]),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"]),
    (
        "xargs",
        &[
            "-a",
            "-d",
            "-E",
            "-I",
            "-L",
            "-n",
            "-P",
            "-s",
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-chars",
            "--max-procs",
        ],
    ),
    ("unbuffer", &[]),
    ("chronic", &[]),
    ("watch", &["-n", "--interval", "-q", "--equexit"]),
    (
        "parallel",
        &[
            "-a",
            "-C",
            "-d",
            "-I",
            "-j",
            "-L",
            "-n",
            "-N",
            "-P",
            "-s",
            "-S",
            "--arg-file",
            "--colsep",
            "--delay",
            "--delimiter",
            "--joblog",
            "--jobs",
            "--load",
            "--max-args",
            "--max-procs",
            "--memfree",
            "--results",
            "--retries",
            "--sshlogin",
            "--tagstring",
            "--timeout",
            "--tmpdir",
            "--workdir",
        ],
    ),
];

/// Returns whether the program `name` runs another program that its arguments name.
pub fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|(wrapper, _)| *wrapper == name)
}

/// A command without its leading [`WRAPPERS`].
pub struct Unwrapped {
    /// The words without wrappers and their options. After `xargs` and `parallel`, which append arguments, a word with
    /// [`Word::expands`] is at the end, because the appended arguments are unknown.
    pub words: Vec<Word>,
    /// The name of the last wrapper; `None` if the command has none.
    pub wrapper: Option<&'static str>,
    /// Whether an option of `env` contains a text that `env` splits into a command.
    pub splits_text: bool,
}

/// Removes the leading wrappers of a command and their options.
pub fn strip(words: &[Word]) -> Unwrapped {
    let mut rest = words;
    let (mut adds_arguments, mut splits_text) = (false, false);
    let mut last = None;
    while let Some((first, mut args)) = rest.split_first() {
        let name = first.text.rsplit('/').next().unwrap_or_default();
        let found = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name);
        let Some((wrapper, valued)) = found.filter(|_| first.is_plain()) else {
            break;
        };
        last = Some(*wrapper);
        adds_arguments |= matches!(*wrapper, "xargs" | "parallel");
        while let Some((arg, more)) = args.split_first() {
            let is_own = arg.text.starts_with('-')
                || (*wrapper == "env" && arg.text.contains('='))
                || (*wrapper == "timeout"
                    && arg
                        .text
                        .starts_with(|c: char| c.is_ascii_digit() || c == '.'));
            if !is_own {
                break;
            }
            splits_text |= *wrapper == "env" && is_split_option(&arg.text);
            args = if valued.contains(&arg.text.as_str()) {
                more.get(1..).unwrap_or_default()
            } else {
                more
            };
        }
        rest = args;
    }
    let mut words = rest.to_vec();
    if adds_arguments {
        words.push(Word {
            expands: true,
            ..Word::default()
        });
    }
    Unwrapped {
        words,
        wrapper: last,
        splits_text,
    }
}

/// Returns whether `option` is the option of `env` that splits a text into a command, alone or after other short options.
fn is_split_option(option: &str) -> bool {
    // `env` accepts long options cut to any unique length, and only `--split-string` begins with an s.
    if option.starts_with("--") {
        return option.starts_with("--s");
    }
    let short = option.strip_prefix('-').and_then(|o| o.split_once('S'));
    short.is_some_and(|(before, _)| before.chars().all(|c| "iv0".contains(c)))
}
