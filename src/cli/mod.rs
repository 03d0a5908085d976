//! The command line: what may be typed, and what it says about itself.

pub mod manual;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::domain::ids::TaskRef;
use crate::domain::request::Decider;

/// A team of coding agents in your terminal.
#[derive(Debug, Parser)]
#[command(name = "crewdeck", version, about, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The verb; without one the dashboard opens.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

impl Cli {
    /// Reads the command line. The options of every command may stand before the verb and behind it.
    ///
    /// # Errors
    /// What does not fit, or the help that was asked for.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let mut words: Vec<OsString> = words.into_iter().collect();
        if let Some(at) = bare_resume(&words)
            && let Some(word) = words.get_mut(at)
        {
            *word = "--resume=".into();
        }
        let cli = Cli::try_parse_from(words)?;
        let global = &cli.global;
        let has_its_own =
            global.demo || global.resume.is_some() || global.provider.as_deref() == Some("demo");
        if let Some(Verb::Run { prompt: None }) = &cli.verb
            && !has_its_own
        {
            return Err(Cli::command().error(
                ErrorKind::MissingRequiredArgument,
                "run needs a prompt: crewdeck run \"what you want done\"",
            ));
        }
        Ok(cli)
    }
}

/// Where `--resume` stands before the verb, without an id: the verb is none.
fn bare_resume(words: &[OsString]) -> Option<usize> {
    let command = Cli::command();
    let verb = words
        .iter()
        .skip(1)
        .position(|word| command.get_subcommands().any(|c| word == c.get_name()))?;
    words
        .get(verb)
        .is_some_and(|w| w == "--resume")
        .then_some(verb)
}

const EXAMPLES: &str = "Examples:
  crewdeck --demo                              watch a scripted team work: no key, no network
  crewdeck                                     the dashboard in this directory
  crewdeck run \"Fix the failing test\"          the same crew without a screen
  crewdeck --resume                            go on where the last session stood
  crewdeck --provider openai --base-url http://127.0.0.1:11434/v1 --model qwen3:8b
  crewdeck task add \"Write the parser\" && crewdeck task list";

/// The heading of the options that every command takes: they stand below a command's own.
pub const OF_EVERY_COMMAND: &str = "Options of every command";

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = OF_EVERY_COMMAND)]
pub struct Global {
    /// Work in this directory instead of the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// anthropic, openai (any compatible server), demo, or script:FILE
    #[arg(long, global = true, value_name = "NAME")]
    pub provider: Option<String>,
    /// The model's name
    #[arg(long, global = true, value_name = "NAME")]
    pub model: Option<String>,
    /// The server's address
    #[arg(long, global = true, value_name = "URL")]
    pub base_url: Option<String>,
    /// Go on with an earlier session: the newest, or the one whose id begins like this
    #[arg(long, global = true, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,
    /// Give agents only these tools: bash,read_file,…
    #[arg(long, global = true, value_name = "LIST", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,
    /// Who decides plans
    #[arg(long, global = true, value_name = "WHO")]
    pub plan: Option<Who>,
    /// Who decides shutdowns
    #[arg(long, global = true, value_name = "WHO")]
    pub shutdown: Option<Who>,
    /// Who decides tool calls that need permission
    #[arg(long, global = true, value_name = "WHO")]
    pub tool: Option<Who>,
    /// Output for programs: one JSON value, or one JSON object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// The scripted team at work: no key, no network
    #[arg(long, global = true)]
    pub demo: bool,
    /// How many times faster the demo, or a replay, runs
    #[arg(long, global = true, value_name = "N", value_parser = speed)]
    pub speed: Option<f64>,
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && (0.1..=1000.0).contains(&n) => Ok(n),
        Ok(_) | Err(_) => Err("a number from 0.1 to 1000".into()),
    }
}

/// Who decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Who {
    /// You, in Needs you
    Ask,
    /// The lead agent
    Lead,
    /// Nobody: always yes
    Auto,
    /// Nobody: always no
    Deny,
}

impl From<Who> for Decider {
    fn from(who: Who) -> Decider {
        match who {
            Who::Ask => Decider::Ask,
            Who::Lead => Decider::Lead,
            Who::Auto => Decider::Auto,
            Who::Deny => Decider::Deny,
        }
    }
}

/// What crewdeck can do besides the dashboard.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The crew without a screen: ends when the lead has answered and everybody rests
    #[command(after_help = RUN_EXAMPLES)]
    Run {
        /// What you want done (not needed with --demo, nor with --resume in the middle of work)
        prompt: Option<String>,
    },
    /// The task board
    #[command(subcommand, after_help = TASK_EXAMPLES)]
    Task(TaskVerb),
    /// Letters between agents
    #[command(subcommand, after_help = MAIL_EXAMPLES)]
    Mail(MailVerb),
    /// The team
    #[command(subcommand, after_help = TEAM_EXAMPLES)]
    Team(TeamVerb),
    /// The worktrees of tasks
    #[command(subcommand, after_help = WORKTREE_EXAMPLES)]
    Worktree(WorktreeVerb),
    /// Say what was found: settings, model, git, terminal, sandbox, and what earlier crews left behind
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor {
        /// Mend what can be mended without losing anything; asks before each
        #[arg(long)]
        mend: bool,
        /// Mend without asking
        #[arg(long, requires = "mend")]
        yes: bool,
    },
    /// Watch a recorded session again: pause, step, go back and forth; --speed sets the pace
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay {
        /// The session, by the beginning of its id; without it the newest
        session: Option<String>,
    },
    /// Print what makes a shell complete crewdeck's words
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = MANUAL_EXAMPLES)]
    Man,
}

const RUN_EXAMPLES: &str = "Examples:
  crewdeck run \"Fix the failing test\"           text; progress goes to stderr
  crewdeck run --json \"Fix it\" | jq .type       one event a line
  crewdeck run --tool lead \"Update the docs\"    the lead decides what would be asked
  crewdeck run --resume \"And now the docs\"      go on with the last session";

const TASK_EXAMPLES: &str = "Examples:
  crewdeck task add \"Write the parser\" --tag rust
  crewdeck task add \"Test it\" --blocked-by 1
  crewdeck task add \"Describe it\"
  crewdeck task list --ready
  crewdeck task claim --as alice               exit code 3: nothing is ready
  crewdeck task done 1 --as alice
  crewdeck task edit 3 --block-on 2            task 3 waits for task 2
  crewdeck task show 3";

const MAIL_EXAMPLES: &str = "Examples:
  crewdeck mail send lead \"The format has changed\"
  crewdeck mail list lead                      look without taking
  crewdeck mail read user --json               take what agents wrote to you";

const TEAM_EXAMPLES: &str = "Examples:
  crewdeck team list
  crewdeck team list --json";

const WORKTREE_EXAMPLES: &str = "Examples:
  crewdeck worktree list
  crewdeck worktree diff 3                     what task 3 changes
  crewdeck worktree merge 3
  crewdeck worktree remove 3                   refused while work would be lost";

const DOCTOR_EXAMPLES: &str = "Examples:
  crewdeck doctor
  crewdeck doctor --mend                       asks before each; nothing is lost
  crewdeck doctor --json --base-url http://127.0.0.1:9000";

const REPLAY_EXAMPLES: &str = "Examples:
  crewdeck replay                              the newest session
  crewdeck replay --speed 8
  crewdeck replay 01993c5e                     the session whose id begins like this";

const COMPLETION_EXAMPLES: &str = "Examples:
  source <(crewdeck completions bash)          for good: this line in ~/.bashrc
  source <(crewdeck completions zsh)           for good: in ~/.zshrc, after compinit
  crewdeck completions fish | source           for good: in ~/.config/fish/config.fish";

const MANUAL_EXAMPLES: &str = "Examples:
  crewdeck man | man -l -
  mkdir -p ~/.local/share/man/man1 && crewdeck man > ~/.local/share/man/man1/crewdeck.1";

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum TaskVerb {
    /// Write a task on the board
    Add {
        /// One line that says what is to be done
        subject: String,
        /// Everything else the worker should know
        #[arg(long, default_value = "", hide_default_value = true)]
        description: String,
        /// Tasks that must be completed first: 1,2
        #[arg(long, value_delimiter = ',', value_name = "IDS")]
        blocked_by: Vec<TaskRef>,
        /// What a claimer must be good at; may be given more than once
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
    },
    /// List the board
    List {
        /// Only tasks that can be claimed now
        #[arg(long)]
        ready: bool,
    },
    /// Show one task whole
    Show {
        /// Its number
        id: TaskRef,
    },
    /// Claim a task; without ID the first that can be claimed (exit 3 if there is none)
    Claim {
        /// Its number
        id: Option<TaskRef>,
        /// For whom
        #[arg(long = "as", value_name = "NAME")]
        name: String,
    },
    /// Start a task
    Start {
        /// Its number
        id: TaskRef,
        /// For whom
        #[arg(long = "as", value_name = "NAME")]
        name: String,
    },
    /// Complete a task
    Done {
        /// Its number
        id: TaskRef,
        /// Who did it
        #[arg(long = "as", value_name = "NAME")]
        name: String,
    },
    /// Put a claimed task back on the board
    Release {
        /// Its number
        id: TaskRef,
        /// Whose it is
        #[arg(long = "as", value_name = "NAME")]
        name: String,
        /// With --as user: take it from whoever works on it, who is stopped and told
        #[arg(long)]
        force: bool,
    },
    /// Change a task
    Edit {
        /// Its number
        id: TaskRef,
        /// A new subject
        #[arg(long)]
        subject: Option<String>,
        /// A new description
        #[arg(long)]
        description: Option<String>,
        /// New tags, in place of the old ones; "" takes them away
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// Let it wait for these tasks too
        #[arg(long, value_delimiter = ',', value_name = "IDS")]
        block_on: Vec<TaskRef>,
        /// Let it wait for these tasks no longer
        #[arg(long, value_delimiter = ',', value_name = "IDS")]
        unblock: Vec<TaskRef>,
    },
    /// Take a task off the board
    Rm {
        /// Its number
        id: TaskRef,
    },
}

/// What can be done with letters.
#[derive(Debug, Subcommand)]
pub enum MailVerb {
    /// Write a letter
    Send {
        /// To whom: lead, user, or a teammate
        to: String,
        /// The text
        text: String,
        /// In whose name
        #[arg(long, value_name = "NAME", default_value = "user")]
        from: String,
        /// The letter's type
        #[arg(long = "type", value_name = "TYPE", default_value = "message")]
        kind: String,
    },
    /// Take the letters of an inbox
    Read {
        /// Whose
        name: String,
    },
    /// Look at the letters of an inbox without taking them
    List {
        /// Whose
        name: String,
    },
}

/// What can be done with the team.
#[derive(Debug, Subcommand)]
pub enum TeamVerb {
    /// List the members
    List,
}

/// What can be done with the worktrees of tasks.
#[derive(Debug, Subcommand)]
pub enum WorktreeVerb {
    /// List the worktrees: what is uncommitted, what is not merged, how large they are
    List,
    /// Show what a worktree changes
    Diff {
        /// Its name, or the number of its task
        name: String,
    },
    /// Merge a worktree's branch into the branch it started from; on a conflict nothing changes (exit 1)
    Merge {
        /// Its name, or the number of its task
        name: String,
    },
    /// Remove a worktree; one with work that is not merged says what would be lost and stays (exit 1)
    Remove {
        /// Its name, or the number of its task
        name: String,
        /// Remove it although uncommitted files are lost; what was committed stays on its branch
        #[arg(long)]
        force: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Cli, clap::Error> {
        Cli::read(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run_needs_a_prompt_or_the_demo() {
        assert_eq!(read("crewdeck run").unwrap_err().exit_code(), 2);
        for line in [
            "crewdeck run --demo --json",
            "crewdeck --demo run",
            "crewdeck --json --provider demo run",
            "crewdeck run --resume",
            "crewdeck --resume run",
        ] {
            assert!(read(line).is_ok(), "{line}");
        }
        let cli = read("crewdeck run it --tools bash,glob").unwrap();
        assert_eq!(cli.global.tools.unwrap(), ["bash", "glob"]);
        assert!(read("crewdeck --speed 0").is_err());
    }

    #[test]
    fn a_verb_is_no_session() {
        for (line, id) in [
            ("crewdeck --resume run more", ""),
            ("crewdeck --json --resume doctor", ""),
            ("crewdeck --resume 0190aaaa run more", "0190aaaa"),
            ("crewdeck run --resume 0190aaaa more", "0190aaaa"),
            ("crewdeck --resume", ""),
        ] {
            let cli = read(line).unwrap();
            assert_eq!(cli.global.resume.as_deref(), Some(id), "{line}");
        }
    }
}
