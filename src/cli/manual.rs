//! The manual page and the shells' completions, made from the command line's own definition.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;

use super::Cli;

/// What the page says that the command line does not know.
const MORE: &str = r".SH FILES
.TP
\fI.tasks/\fR
the board, a file a task
.TP
\fI.team/\fR
the roster, the inboxes and the requests
.TP
\fI.worktrees/\fR
the worktrees of tasks and their registry
.TP
\fI.transcripts/\fR
the conversations
.TP
\fI.crewdeck/config.toml\fR, \fI~/.config/crewdeck/config.toml\fR
settings of the project and of the person
.TP
\fI.crewdeck/sessions/\fR
what happened in each session
.SH ENVIRONMENT
.TP
\fBANTHROPIC_API_KEY\fR, \fBANTHROPIC_BASE_URL\fR
key and address of a server that speaks Anthropic Messages
.TP
\fBOPENAI_API_KEY\fR, \fBOPENAI_BASE_URL\fR
key and address of a server that speaks Chat Completions
.TP
\fBNO_COLOR\fR
when it is set to anything, the dashboard has no colours
.TP
\fBEDITOR\fR
writes long messages
.SH EXIT STATUS
.TP
\fB0\fR
done
.TP
\fB1\fR
it failed; one line says why and what to do
.TP
\fB2\fR
the command line could not be understood
.TP
\fB3\fR
there was nothing to do
.TP
\fB4\fR
run ended with open tasks or stuck agents; one line names them
.TP
\fB130\fR
interrupted
";

/// The script that makes `shell` complete crewdeck's words.
pub fn completions(shell: Shell) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "crewdeck", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The manual page in roff: every verb with what it takes.
///
/// # Errors
/// None in practice: it is written to memory.
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
    for verb in shown(&root) {
        command(&mut text, "crewdeck", verb);
    }
    text.push_str(MORE);
    if let Some(examples) = root.get_after_help() {
        let examples = examples.to_string();
        let lines = examples.trim_start_matches("Examples:\n");
        let _ = write!(text, ".SH EXAMPLES\n.nf\n{}\n.fi\n", escaped(lines));
    }
    Ok(text)
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let verbs = command.get_subcommands();
    verbs.filter(|c| !c.is_hide_set() && c.get_name() != "help")
}

/// A verb, or the verbs below it.
fn command(out: &mut String, above: &str, this: &Command) {
    let name = format!("{above} {}", this.get_name());
    if this.has_subcommands() {
        for verb in shown(this) {
            command(out, &name, verb);
        }
        return;
    }
    let own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help";
    let mut usage = escaped(&name);
    for arg in this
        .get_arguments()
        .filter(own)
        .filter(|a| a.is_positional())
    {
        let _ = write!(usage, " {}", escaped(&arg.to_string()));
    }
    let about = this.get_about().map(ToString::to_string);
    // Writing to a string does not fail.
    let _ = write!(
        out,
        ".SS {usage}\n{}\n",
        escaped(&about.unwrap_or_default())
    );
    for arg in this.get_arguments().filter(own) {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = write!(
            out,
            ".TP\n\\fB{}\\fR\n{}\n",
            escaped(&arg.to_string()),
            escaped(&help)
        );
    }
}

/// Text as roff takes it: no character of its own language is left in it.
fn escaped(text: &str) -> String {
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
    fn every_verb_stands_on_the_page_with_what_it_takes() {
        let page = page().unwrap();
        for words in [
            ".TH crewdeck 1",
            ".SH \"GLOBAL OPTIONS\"",
            ".SS crewdeck run [PROMPT]",
            ".SS crewdeck task claim [ID]",
            "\\fB\\-\\-as <NAME>\\fR",
            ".SS crewdeck worktree remove <NAME>",
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
    fn each_shell_gets_a_script_that_knows_the_verbs() {
        use clap::ValueEnum;
        for shell in Shell::value_variants() {
            let script = completions(*shell);
            assert!(script.contains("worktree"), "{shell}");
        }
    }

    #[test]
    fn no_text_is_taken_for_roff() {
        assert_eq!(escaped(".x\n'y\\z\na-b"), "\\&.x\n\\&'y\\ez\na\\-b");
    }
}
