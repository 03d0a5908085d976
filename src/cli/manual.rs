//! The manual page and the shell completion scripts, generated from the clap definition.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::model::provider::ProviderSpec;
use crate::model::providers;

/// Sections of the manual page that clap does not generate. The environment variables of the model providers come
/// between this text and [`ENVIRONMENT_AND_EXIT_STATUS`].
const FILES_AND_ENVIRONMENT: &str = r".SH FILES
.TP
\fI.tasks/\fR
the task board, one file per task
.TP
\fI.team/\fR
the team list, the inboxes and the approval requests
.TP
\fI.worktrees/\fR
the git worktrees of tasks and their index
.TP
\fI.transcripts/\fR
the conversations of agents
.TP
\fI.crewdeck/config.toml\fR, \fI~/.config/crewdeck/config.toml\fR
project settings and user settings
.TP
\fI.crewdeck/sessions/\fR
the event log of each session
.TP
\fI.crewdeck/checkpoints/\fR
the earlier states of agents' files
.SH ENVIRONMENT
";
const ENVIRONMENT_AND_EXIT_STATUS: &str = r".TP
\fBNO_COLOR\fR
if set and not empty, the dashboard uses no colors
.TP
\fBVISUAL\fR, \fBEDITOR\fR
the editor for long messages; crewdeck prefers VISUAL
.SH EXIT STATUS
.TP
\fB0\fR
success
.TP
\fB1\fR
failure; one line on stderr says why and what to do
.TP
\fB2\fR
invalid command line
.TP
\fB3\fR
nothing to do
.TP
\fB4\fR
run ended with open tasks or stuck agents; one line names them
.TP
\fB130\fR
interrupted
";

/// Returns the entries of the manual page, in roff, for the environment variables of all providers. Providers with the
/// same variables have one entry.
fn provider_variables() -> String {
    let entry = |spec: &ProviderSpec, server: &str| {
        let (key, url) = (spec.key_var, spec.url_var);
        format!(".TP\n\\fB{key}\\fR, \\fB{url}\\fR\nAPI key and address of {server}\n")
    };
    let mut out = String::new();
    for key in providers::selecting_keys() {
        let same: Vec<_> = providers::wires()
            .filter(|spec| spec.key_var == key)
            .collect();
        let apis: Vec<&str> = same.iter().map(|spec| spec.api).collect();
        let server = format!("a server with the {} API", apis.join(" or "));
        out.extend(same.first().map(|spec| entry(spec, &server)));
    }
    for spec in providers::vendors() {
        out.push_str(&entry(spec, &format!("the provider {}", spec.name)));
    }
    out
}

pub fn completions(shell: Shell) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "crewdeck", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the manual page in roff, with all subcommands that are not hidden, their arguments and options.
///
/// # Errors
/// None in practice, because the page is rendered in memory.
pub fn page() -> std::io::Result<String> {
    let mut root = Cli::command();
    root.build();
    let man = clap_mangen::Man::new(root.clone());
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    let mut text = String::from_utf8_lossy(&out).into_owned();
    text.push_str(".SH COMMANDS\n");
    for verb in visible_subcommands(&root) {
        command(&mut text, "crewdeck", verb);
    }
    text.push_str(FILES_AND_ENVIRONMENT);
    text.push_str(&provider_variables());
    text.push_str(ENVIRONMENT_AND_EXIT_STATUS);
    if let Some(examples) = root.get_after_help() {
        let examples = examples.to_string();
        let lines = examples.trim_start_matches("Examples:\n");
        let _ = write!(text, ".SH EXAMPLES\n.nf\n{}\n.fi\n", escape_roff(lines));
    }
    Ok(text)
}

fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    let verbs = command.get_subcommands();
    verbs.filter(|c| !c.is_hide_set() && c.get_name() != "help")
}

/// Appends the section of the subcommand `this` to `out`. If the subcommand only groups others, appends the sections of
/// those instead. `parent` is the command line in front of the subcommand's name, such as `crewdeck task`.
fn command(out: &mut String, parent: &str, this: &Command) {
    let name = format!("{parent} {}", this.get_name());
    if this.has_subcommands() {
        for verb in visible_subcommands(this) {
            command(out, &name, verb);
        }
        return;
    }
    let own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help";
    let mut usage = escape_roff(&name);
    for arg in this
        .get_arguments()
        .filter(own)
        .filter(|a| a.is_positional())
    {
        let _ = write!(usage, " {}", escape_roff(&arg.to_string()));
    }
    let about = this.get_about().map(ToString::to_string);
    // Writing to a string does not fail.
    let _ = write!(
        out,
        ".SS {usage}\n{}\n",
        escape_roff(&about.unwrap_or_default())
    );
    for arg in this.get_arguments().filter(own) {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = write!(
            out,
            ".TP\n\\fB{}\\fR\n{}\n",
            escape_roff(&arg.to_string()),
            escape_roff(&help)
        );
    }
}

fn escape_roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.chars().next() {
            Some('.' | '\'') => format!("\\&{line}"),
            Some(_) | None => line.to_string(),
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_lists_every_subcommand_with_its_arguments() {
        let page = page().unwrap();
        for words in [
            ".TH crewdeck 1",
            ".SH \"GLOBAL OPTIONS\"",
            ".SS crewdeck run [PROMPT]",
            ".SS crewdeck task claim [ID]",
            "\\fB\\-\\-as <NAME>\\fR",
            ".SS crewdeck worktree remove <NAME>",
            ".SS crewdeck checkpoint restore <ID>",
            ".SH EXIT STATUS",
            ".SH EXAMPLES",
        ] {
            assert!(page.contains(words), "{words}\n{page}");
        }
        let mut command = Cli::command();
        command.build();
        for hidden in command.get_subcommands().filter(|c| c.is_hide_set()) {
            assert!(!page.contains(&format!("crewdeck {}", hidden.get_name())));
        }
    }

    #[test]
    fn completion_scripts_contain_the_subcommands() {
        use clap::ValueEnum;
        for shell in Shell::value_variants() {
            let script = completions(*shell);
            assert!(script.contains("worktree"), "{shell}");
        }
    }

    #[test]
    fn escaped_text_contains_no_roff_requests() {
        assert_eq!(escape_roff(".x\n'y\\z\na-b"), "\\&.x\n\\&'y\\ez\na\\-b");
    }
}
