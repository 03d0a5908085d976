//! The texts of a command that decide which files it runs. Pure.

use std::collections::BTreeMap;

use super::named_files::{program_of, shell_words};

/// Environment variables with folders from which programs load libraries by their names.
const LIBRARY_VARIABLES: &[&str] = &[
    "PYTHONPATH",
    "NODE_PATH",
    "RUBYLIB",
    "PERL5LIB",
    "PERLLIB",
    "CLASSPATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
];

/// The parts of a command that determine which files run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandWords {
    /// The command, its arguments, and the values of environment variables from which programs load code.
    pub texts: Vec<String>,
    /// The folders of `PATH`, in which a program is searched if the command names it without a folder.
    pub search: Vec<String>,
    /// The folders from which the command's program loads libraries by their names.
    pub libraries: Vec<String>,
}

impl CommandWords {
    /// Returns the parts of the program `command` with the arguments `args`. `env` are the environment variables that
    /// are set for the program in addition to its inherited environment.
    pub fn of_program(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
    ) -> CommandWords {
        let mut texts = vec![command.to_string()];
        texts.extend(args.iter().cloned());
        let loading = env.iter().filter(|(name, _)| loads_code(name));
        texts.extend(loading.map(|(_, value)| value.clone()));
        let folders = |names: &[&str]| -> Vec<String> {
            let named = env
                .iter()
                .filter(|(name, _)| names.contains(&name.as_str()));
            let folders = named.flat_map(|(_, value)| value.split(':'));
            folders.map(str::to_string).collect()
        };
        CommandWords {
            texts,
            search: folders(&["PATH"]),
            libraries: folders(LIBRARY_VARIABLES),
        }
    }

    /// Returns `.`, the work directory, if the command runs Python with `-m`, `-c` or `-`: the interpreter then
    /// searches modules in the work directory first. Returns `None` for all other commands.
    pub fn module_folder(&self) -> Option<String> {
        let words: Vec<String> = self
            .texts
            .iter()
            .flat_map(|text| shell_words(text))
            .collect();
        let is_python = |word: &String| matches!(program_of(word), "python" | "python3");
        let loads = |word: &String| ["-m", "-c", "-"].contains(&word.as_str());
        (words.iter().any(is_python) && words.iter().any(loads)).then(|| ".".to_string())
    }
}

/// Returns whether programs usually load code or configuration from the files or folders that the environment variable
/// `name` contains. Returns false for variables with the path of data, such as a database: the server may change this
/// data, and the change must not end an approval.
fn loads_code(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = [
        "PATH",
        "_OPTIONS",
        "OPTS",
        "OPT",
        "LIB",
        "PRELOAD",
        "_LIBRARIES",
        "_COMMAND",
        "_CONFIG",
    ];
    let is_data = name.ends_with("_FILE_PATH") || name.ends_with("_DB_PATH");
    let is_known = [
        "BASH_ENV",
        "ENV",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "SHELL",
        "EDITOR",
    ];
    is_known.contains(&name.as_str()) || (!is_data && ends.iter().any(|end| name.ends_with(end)))
}
