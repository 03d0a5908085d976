//! The command line: what may be typed, and what it says about itself.

mod examples;
pub mod manual;
pub mod trust;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use self::examples::{
    COMPLETION_EXAMPLES, DOCTOR_EXAMPLES, EXAMPLES, MAIL_EXAMPLES, MANUAL_EXAMPLES,
    REPLAY_EXAMPLES, RUN_EXAMPLES, TASK_EXAMPLES, TEAM_EXAMPLES, WORKTREE_EXAMPLES,
};
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
        let mut matches = command().try_get_matches_from(words)?;
        let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command()))?;
        let global = &cli.global;
        let has_its_own =
            global.demo || global.resume.is_some() || global.provider.as_deref() == Some("demo");
        if let Some(Verb::Run { prompt: None }) = &cli.verb
            && !has_its_own
        {
            return Err(command().error(
                ErrorKind::MissingRequiredArgument,
                "run needs a prompt: crewdeck run \"what you want done\"",
            ));
        }
        Ok(cli)
    }
}

/// The command line. Each verb takes the global options; only crewdeck's own help page lists them.
pub fn command() -> Command {
    let root = Cli::command();
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    // What a verb has already is not handed down to it.
    let hidden: Vec<Arg> = global.map(|arg| arg.clone().hide(true)).collect();
    root.mut_subcommands(|verb| with_hidden(verb, &hidden))
}

fn with_hidden(verb: Command, hidden: &[Arg]) -> Command {
    let examples = verb.get_after_help().map(ToString::to_string);
    let below = match examples {
        Some(examples) => format!("{GLOBAL_HINT}\n\n{examples}"),
        None => GLOBAL_HINT.to_string(),
    };
    verb.args(hidden)
        .after_help(below)
        .mut_subcommands(|below| with_hidden(below, hidden))
}

/// What a verb's help page says of the global options.
const GLOBAL_HINT: &str = "Global options: see crewdeck --help";

/// Where `--resume` stands before the verb, without an id: the verb is none.
fn bare_resume(words: &[OsString]) -> Option<usize> {
    let command = command();
    let verb = words
        .iter()
        .skip(1)
        .position(|word| command.get_subcommands().any(|c| word == c.get_name()))?;
    words
        .get(verb)
        .is_some_and(|w| w == "--resume")
        .then_some(verb)
}

/// The heading of the options that every command takes: they stand below a command's own.
pub const OF_EVERY_COMMAND: &str = "Global options";

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
    /// Show the settings of this project that need your approval, and approve them
    #[command(after_help = trust::EXAMPLES)]
    Trust(trust::Trust),
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
        #[arg(long, alias = "block-on", value_delimiter = ',', value_name = "IDS")]
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
        /// More tasks that must be completed first: 1,2
        #[arg(long, alias = "block-on", value_delimiter = ',', value_name = "IDS")]
        blocked_by: Vec<TaskRef>,
        /// Tasks that it no longer waits for: 1,2
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
    /// Look at the messages of an inbox without taking them; without NAME at all inboxes
    List {
        /// Whose inbox; all of them if missing
        name: Option<String>,
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
mod tests;
