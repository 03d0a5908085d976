//! The command line, defined with clap. Doc comments on options and subcommands are the help texts.

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
use crate::domain::request::Approver;

/// A team of coding agents in your terminal.
#[derive(Debug, Parser)]
#[command(name = "crewdeck", version, about, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// The global options.
    #[command(flatten)]
    pub global: GlobalOptions,
    /// The subcommand; the dashboard opens if there is none.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

impl Cli {
    /// Parses the command line. Global options are accepted before and after the subcommand.
    ///
    /// # Errors
    /// Returns clap's usage error, or the help or version text if the user asked for it.
    pub fn parse_args(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let mut args: Vec<OsString> = args.into_iter().collect();
        if let Some(at) = resume_without_id(&args)
            && let Some(arg) = args.get_mut(at)
        {
            *arg = "--resume=".into();
        }
        let mut matches = command().try_get_matches_from(args)?;
        let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command()))?;
        let global = &cli.global;
        let is_prompt_optional =
            global.demo || global.resume.is_some() || global.provider.as_deref() == Some("demo");
        if let Some(Verb::Run { prompt: None }) = &cli.verb
            && !is_prompt_optional
        {
            return Err(command().error(
                ErrorKind::MissingRequiredArgument,
                "run needs a prompt: crewdeck run \"Fix the failing test\"",
            ));
        }
        Ok(cli)
    }
}

/// Builds the clap command. Every subcommand accepts the global options, but only `crewdeck --help` lists them.
pub fn command() -> Command {
    let root = Cli::command();
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    // clap copies a global option only to subcommands that do not define it: hidden copies replace the visible ones.
    let hidden: Vec<Arg> = global.map(|arg| arg.clone().hide(true)).collect();
    root.mut_subcommands(|verb| add_hidden_options(verb, &hidden))
}

fn add_hidden_options(verb: Command, hidden: &[Arg]) -> Command {
    let examples = verb.get_after_help().map(ToString::to_string);
    let after_help = match examples {
        Some(examples) => format!("{GLOBAL_HINT}\n\n{examples}"),
        None => GLOBAL_HINT.to_string(),
    };
    verb.args(hidden)
        .after_help(after_help)
        .mut_subcommands(|child| add_hidden_options(child, hidden))
}

/// The line about global options on the help page of a subcommand.
const GLOBAL_HINT: &str = "Global options: see crewdeck --help";

/// Returns the index of a `--resume` that directly precedes the subcommand: the subcommand's name is not a session id.
fn resume_without_id(args: &[OsString]) -> Option<usize> {
    let command = command();
    let is_verb = |arg: &OsString| command.get_subcommands().any(|c| arg == c.get_name());
    let needs_value = |arg: &OsString| {
        let name = arg.to_str().and_then(|arg| arg.strip_prefix("--"));
        let mut options = command.get_arguments();
        name.is_some_and(|name| {
            options.any(|o| {
                o.get_long() == Some(name)
                    && o.get_id() != "resume"
                    && o.get_action().takes_values()
            })
        })
    };
    let mut at = 1;
    while let Some(arg) = args.get(at).filter(|arg| !is_verb(arg)) {
        if arg == "--resume" && args.get(at + 1).is_some_and(is_verb) {
            return Some(at);
        }
        at += 1 + usize::from(needs_value(arg));
    }
    None
}

/// The help heading of the options that every command takes.
pub const GLOBAL_HEADING: &str = "Global options";

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = GLOBAL_HEADING)]
pub struct GlobalOptions {
    /// Work in this directory instead of the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Model provider: anthropic, openai (or a compatible server), demo, or script:FILE
    #[arg(long, global = true, value_name = "NAME")]
    pub provider: Option<String>,
    /// Name of the model
    #[arg(long, global = true, value_name = "NAME")]
    pub model: Option<String>,
    /// Address of the model server
    #[arg(long, global = true, value_name = "URL")]
    pub base_url: Option<String>,
    /// Continue an earlier session: the newest, or the one whose id starts with ID
    #[arg(long, global = true, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,
    /// Give agents only these tools: bash,read_file,…
    #[arg(long, global = true, value_name = "LIST", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,
    /// Who approves plans
    #[arg(long, global = true, value_name = "WHO")]
    pub plan: Option<ApproverArg>,
    /// Who approves shutdowns
    #[arg(long, global = true, value_name = "WHO")]
    pub shutdown: Option<ApproverArg>,
    /// Who approves tool calls that need permission
    #[arg(long, global = true, value_name = "WHO")]
    pub tool: Option<ApproverArg>,
    /// Print JSON: one value, or one object per line for a stream of events
    #[arg(long, global = true)]
    pub json: bool,
    /// Run a scripted demo team: no API key, no network
    #[arg(long, global = true)]
    pub demo: bool,
    /// Speed factor of the demo or a replay (0.1 to 1000)
    #[arg(long, global = true, value_name = "N", value_parser = parse_speed)]
    pub speed: Option<f64>,
}

fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && (0.1..=1000.0).contains(&n) => Ok(n),
        Ok(_) | Err(_) => Err("expected a number from 0.1 to 1000".into()),
    }
}

/// Who approves a kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApproverArg {
    /// You, in the dashboard's "Needs you" list
    Ask,
    /// The lead agent
    Lead,
    /// Always approve
    Auto,
    /// Always deny
    Deny,
}

impl From<ApproverArg> for Approver {
    fn from(approver: ApproverArg) -> Approver {
        match approver {
            ApproverArg::Ask => Approver::Ask,
            ApproverArg::Lead => Approver::Lead,
            ApproverArg::Auto => Approver::Auto,
            ApproverArg::Deny => Approver::Deny,
        }
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the team without the dashboard; ends when the lead has answered and all agents are idle
    #[command(after_help = RUN_EXAMPLES)]
    Run {
        /// What you want done (optional with --demo, or with --resume if work was in progress)
        prompt: Option<String>,
    },
    /// List and change tasks on the board
    #[command(subcommand, after_help = TASK_EXAMPLES)]
    Task(TaskVerb),
    /// Send and read messages between agents
    #[command(subcommand, after_help = MAIL_EXAMPLES)]
    Mail(MailVerb),
    /// Show the team
    #[command(subcommand, after_help = TEAM_EXAMPLES)]
    Team(TeamVerb),
    /// Show, merge and remove the git worktrees of tasks
    #[command(subcommand, after_help = WORKTREE_EXAMPLES)]
    Worktree(WorktreeVerb),
    /// Check settings, model, git, terminal, sandbox, and leftovers of earlier sessions
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor {
        /// Fix what can be fixed without losing data; asks before each fix
        #[arg(long)]
        mend: bool,
        /// Fix without asking
        #[arg(long, requires = "mend")]
        yes: bool,
    },
    /// Show the settings of this project that need your approval, and approve them
    #[command(after_help = trust::EXAMPLES)]
    Trust(trust::Trust),
    /// Replay a recorded session: pause, step, seek; --speed sets the speed
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay {
        /// Start of the session's id; default: the newest session
        session: Option<String>,
    },
    /// Print a shell completion script
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = MANUAL_EXAMPLES)]
    Man,
}

/// The subcommands of `crewdeck task`.
#[derive(Debug, Subcommand)]
pub enum TaskVerb {
    /// Add a task to the board
    Add {
        /// One line that says what to do
        subject: String,
        /// Details for the agent that works on the task
        #[arg(long, default_value = "", hide_default_value = true)]
        description: String,
        /// Tasks that must be completed first: 1,2
        #[arg(long, alias = "block-on", value_delimiter = ',', value_name = "IDS")]
        blocked_by: Vec<TaskRef>,
        /// Tag a teammate must have to claim the task (repeatable)
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
    },
    /// List the tasks
    List {
        /// Only tasks that can be claimed now
        #[arg(long)]
        ready: bool,
    },
    /// Show all details of a task
    Show {
        /// Number of the task
        id: TaskRef,
    },
    /// Claim a task; without ID, the first ready task (exit status 3 if none is ready)
    Claim {
        /// Number of the task
        id: Option<TaskRef>,
        /// Who claims it
        #[arg(long = "as", value_name = "NAME")]
        name: String,
    },
    /// Start a task
    Start {
        /// Number of the task
        id: TaskRef,
        /// Who starts it
        #[arg(long = "as", value_name = "NAME")]
        name: String,
    },
    /// Complete a task
    Done {
        /// Number of the task
        id: TaskRef,
        /// Who completes it
        #[arg(long = "as", value_name = "NAME")]
        name: String,
    },
    /// Release a claimed task so that others can claim it
    Release {
        /// Number of the task
        id: TaskRef,
        /// Who owns it
        #[arg(long = "as", value_name = "NAME")]
        name: String,
        /// With --as user: take the task from its owner, who is stopped and notified
        #[arg(long)]
        force: bool,
    },
    /// Change a task
    Edit {
        /// Number of the task
        id: TaskRef,
        /// New subject
        #[arg(long)]
        subject: Option<String>,
        /// New description
        #[arg(long)]
        description: Option<String>,
        /// New tag, replaces all old tags (repeatable); "" removes all tags
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// More tasks that must be completed first: 1,2
        #[arg(long, alias = "block-on", value_delimiter = ',', value_name = "IDS")]
        blocked_by: Vec<TaskRef>,
        /// Tasks that no longer block it: 1,2
        #[arg(long, value_delimiter = ',', value_name = "IDS")]
        unblock: Vec<TaskRef>,
    },
    /// Remove a task from the board
    Rm {
        /// Number of the task
        id: TaskRef,
    },
}

/// The subcommands of `crewdeck mail`.
#[derive(Debug, Subcommand)]
pub enum MailVerb {
    /// Send a message
    Send {
        /// Recipient: lead, user, or the name of a teammate
        to: String,
        /// Text of the message
        text: String,
        /// Sender
        #[arg(long, value_name = "NAME", default_value = "user")]
        from: String,
        /// Type of the message
        #[arg(long = "type", value_name = "TYPE", default_value = "message")]
        kind: String,
    },
    /// Print the messages of an inbox and mark them read
    Read {
        /// Owner of the inbox: lead, user, or the name of a teammate
        name: String,
    },
    /// Print the messages of an inbox without marking them read; without NAME, count them per inbox
    List {
        /// Owner of the inbox; default: all inboxes
        name: Option<String>,
    },
}

/// The subcommands of `crewdeck team`.
#[derive(Debug, Subcommand)]
pub enum TeamVerb {
    /// List the teammates
    List,
}

/// The subcommands of `crewdeck worktree`.
#[derive(Debug, Subcommand)]
pub enum WorktreeVerb {
    /// List the worktrees with uncommitted files, unmerged commits and size
    List,
    /// Show the changes in a worktree
    Diff {
        /// Name of the worktree, or number of its task
        name: String,
    },
    /// Merge a worktree's branch into its base branch; a conflict changes nothing (exit status 1)
    Merge {
        /// Name of the worktree, or number of its task
        name: String,
    },
    /// Remove a worktree; refused if it has unmerged work, which is listed (exit status 1)
    Remove {
        /// Name of the worktree, or number of its task
        name: String,
        /// Remove it even if uncommitted files are lost; commits stay on its branch
        #[arg(long)]
        force: bool,
    },
}

#[cfg(test)]
mod tests;
