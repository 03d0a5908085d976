//! The command line, defined with clap. Doc comments on options and subcommands are the help texts.

mod agents;
mod checkpoint;
mod mail;
pub mod manual;
mod mcp;
mod task;
mod task_import;
mod team;
pub mod trust;
mod worker;
mod worktree;
mod worktree_pr;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::domain::code_host::CodeHost;
use crate::domain::request::Approver;
use crate::model::providers::{self, COMPATIBLE};
pub use agents::AgentsVerb;
pub use checkpoint::{CheckpointVerb, RestoreArgs};
pub use mail::MailVerb;
pub use mcp::McpVerb;
pub use task::TaskVerb;
pub use task_import::ImportArgs;
pub use team::TeamVerb;
pub use worker::WorkerArgs;
pub use worktree::WorktreeVerb;
pub use worktree_pr::PullRequestArgs;

/// Shown at the end of `crewdeck --help`.
const EXAMPLES: &str = "Examples:
  crewdeck --demo                              watch a scripted team work: no key, no network
  crewdeck                                     the dashboard in this directory
  crewdeck run \"Fix the failing test\"          the same team without the dashboard
  crewdeck --resume                            continue the last session
  crewdeck --provider openai --base-url http://127.0.0.1:11434/v1 --model qwen3:8b
  crewdeck task add \"Write the parser\" && crewdeck task list";

/// A team of coding agents in your terminal.
#[derive(Debug, Parser)]
#[command(name = "crewdeck", version, about, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalOptions,
    /// The subcommand; the dashboard opens if there is none.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// The command line of the dashboard: options and no subcommand.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true, disable_version_flag = true)]
struct DashboardArgs {
    #[command(flatten)]
    global: GlobalOptions,
}

impl DashboardArgs {
    /// Parses a command line without a subcommand. Tried first, because building the parsers of the subcommands takes
    /// longer than the rest of the start of the dashboard. Returns `None` if there is a subcommand, a usage error or a
    /// request for help or the version.
    fn parse(args: &[OsString]) -> Option<GlobalOptions> {
        let DashboardArgs { global } = DashboardArgs::try_parse_from(args).ok()?;
        // `--resume run` is the subcommand `run`.
        let is_verb = global.resume.as_deref().is_some_and(Verb::has_subcommand);
        (!is_verb).then_some(global)
    }
}

impl Cli {
    /// Parses the command line `args`, which begins with the name of the program. Global options can be before or after
    /// the subcommand.
    ///
    /// # Errors
    /// Returns a usage error of clap; also if `run` has no prompt and needs one. Also returns the help or the version as
    /// an error, if the user asked for it.
    pub fn parse_args(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let mut args: Vec<OsString> = args.into_iter().collect();
        if let Some(global) = DashboardArgs::parse(&args) {
            return Ok(Cli { global, verb: None });
        }
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
    // clap does not copy a global option to a subcommand that defines the same option. So each subcommand gets a hidden
    // copy, which takes the place of the visible one.
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

/// The line on the help page of each subcommand that says where the global options are listed.
const GLOBAL_HINT: &str = "Global options: see crewdeck --help";

/// Returns the index of `--resume` in `args` if a subcommand follows it directly; else `None`. clap would take the name
/// of the subcommand for the session id.
fn resume_without_id(args: &[OsString]) -> Option<usize> {
    if !args.iter().any(|arg| arg == "--resume") {
        return None;
    }
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

pub const GLOBAL_HEADING: &str = "Global options";

/// Options that every subcommand accepts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = GLOBAL_HEADING)]
pub struct GlobalOptions {
    /// Work in this directory instead of the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    #[arg(long, global = true, value_name = "NAME", help = provider_help())]
    pub provider: Option<String>,
    /// Model, by the name that its server uses, such as qwen3:8b
    #[arg(long, global = true, value_name = "NAME")]
    pub model: Option<String>,
    /// Address of the model server, such as http://127.0.0.1:11434/v1
    #[arg(long, global = true, value_name = "URL")]
    pub base_url: Option<String>,
    /// Continue an earlier session: the newest, or the one whose id starts with ID
    #[arg(long, global = true, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,
    /// Give agents only these tools, such as bash,read_file
    #[arg(long, global = true, value_name = "LIST", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,
    /// Start with the team of .crewdeck/teams/NAME.toml
    #[arg(long, global = true, value_name = "NAME")]
    pub team: Option<String>,
    /// Who approves plans
    #[arg(long, global = true, value_name = "WHO")]
    pub plan: Option<ApproverArg>,
    /// Who approves shutdowns
    #[arg(long, global = true, value_name = "WHO")]
    pub shutdown: Option<ApproverArg>,
    /// Who approves tool calls that need permission
    #[arg(long, global = true, value_name = "WHO")]
    pub tool: Option<ApproverArg>,
    /// Work with the crew on this hub, such as nats://host:4222/crew, and not with the files of this directory
    #[arg(long, global = true, value_name = "URL")]
    pub hub: Option<String>,
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

fn provider_help() -> String {
    let names = providers::wires().map(|spec| {
        if spec == COMPATIBLE {
            format!("{} (or a compatible server)", spec.name)
        } else {
            spec.name.into()
        }
    });
    let (names, vendors) = (
        names.collect::<Vec<_>>().join(", "),
        providers::names(providers::vendors()),
    );
    format!("Model provider: {names}, a vendor ({vendors}), demo, or script:FILE")
}

fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && (0.1..=1000.0).contains(&n) => Ok(n),
        Ok(_) | Err(_) => Err("expected a number from 0.1 to 1000".into()),
    }
}

/// Who approves requests of one kind, such as plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApproverArg {
    /// You, in the pane "Needs you" of the dashboard
    Ask,
    /// The lead agent, without asking you
    Lead,
    /// Always approve, without asking you
    Auto,
    /// Always deny, without asking you
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

/// A service with issues and pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CodeHostArg {
    /// GitHub, with the client gh
    Github,
    /// GitLab, with the client glab
    Gitlab,
}

impl From<CodeHostArg> for CodeHost {
    fn from(host: CodeHostArg) -> CodeHost {
        match host {
            CodeHostArg::Github => CodeHost::GitHub,
            CodeHostArg::Gitlab => CodeHost::GitLab,
        }
    }
}

impl CodeHostArg {
    /// Returns the value as it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CodeHostArg::Github => "github",
            CodeHostArg::Gitlab => "gitlab",
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the team without the dashboard, until the lead has answered and all agents are idle
    #[command(after_help = "Examples:
  crewdeck run \"Fix the failing test\"           print the answer; progress goes to stderr
  crewdeck run --json \"Fix it\" | jq .type       one event per line
  crewdeck run --tool lead \"Update the docs\"    the lead approves tool calls
  crewdeck run --resume \"And now the docs\"      continue the last session")]
    Run {
        /// What the team should do (optional with --demo, or with --resume if work was in progress)
        prompt: Option<String>,
    },
    /// Run teammates on this machine for a crew on a hub
    ///
    /// Start it in a clone of the project. CREWDECK_HUB_SECRET must have the secret of the crew. At Ctrl-C or SIGTERM, it
    /// claims no more tasks, finishes those in progress, and ends. A second signal ends it at once.
    #[command(after_help = worker::EXAMPLES)]
    Worker(WorkerArgs),
    /// Serve an editor that speaks the Agent Client Protocol on stdin and stdout: the lead is its agent
    #[command(after_help = "Examples:
  crewdeck acp                                 as the command of an agent in the editor's settings
  crewdeck acp --dir ~/project --tool lead     only for one project; the lead approves tool calls")]
    Acp,
    #[command(flatten)]
    Files(FileVerb),
    /// Check settings, model, git, terminal, sandbox, and leftovers of earlier sessions
    #[command(after_help = "Examples:
  crewdeck doctor
  crewdeck doctor --mend                       fix problems; asks before each fix
  crewdeck doctor --json --base-url http://127.0.0.1:9000")]
    Doctor {
        /// Fix what can be fixed without losing data; asks before each fix
        #[arg(id = "mend", long = "mend")]
        fix: bool,
        /// With --mend: fix without asking
        #[arg(long, requires = "mend")]
        yes: bool,
    },
    /// List, add, remove and approve MCP servers, which give agents more tools
    #[command(subcommand, after_help = mcp::EXAMPLES)]
    Mcp(McpVerb),
    /// Serve the tools of a running crew to an external agent, over MCP on stdin and stdout
    ///
    /// A crew sets CREWDECK_SOCKET and CREWDECK_TOKEN when it starts an external agent, which starts this server.
    #[command(hide = true)]
    McpServe,
    /// Show the settings, MCP servers and hooks of this project that need your approval, and approve them
    #[command(after_help = trust::EXAMPLES)]
    Trust(trust::Trust),
    /// Replay a recorded session in the dashboard, where you can pause, step and seek; --speed sets the speed
    #[command(after_help = "Examples:
  crewdeck replay                              the newest session
  crewdeck replay --speed 8
  crewdeck replay 01993c5e                     the session whose id starts with 01993c5e")]
    Replay {
        /// Id of the session, or its start; default: the newest session
        session: Option<String>,
    },
    /// Print a shell completion script
    #[command(after_help = "Examples:
  source <(crewdeck completions bash)          permanent: put this line in ~/.bashrc
  source <(crewdeck completions zsh)           permanent: in ~/.zshrc, after compinit
  crewdeck completions fish | source           permanent: in ~/.config/fish/config.fish")]
    Completions {
        /// Shell that will load the script
        shell: clap_complete::Shell,
    },
    /// Print the manual page in roff, the input format of man
    #[command(after_help = "Examples:
  crewdeck man | man -l -
  mkdir -p ~/.local/share/man/man1 && crewdeck man > ~/.local/share/man/man1/crewdeck.1")]
    Man,
}

/// The subcommands that read and write the state files.
#[derive(Debug, Subcommand)]
pub enum FileVerb {
    /// List and change tasks on the board
    #[command(subcommand, after_help = task::EXAMPLES)]
    Task(TaskVerb),
    /// Send and read messages between agents
    #[command(subcommand, after_help = mail::EXAMPLES)]
    Mail(MailVerb),
    /// List and show the roles that agents can have, and external agents
    #[command(subcommand, after_help = agents::EXAMPLES)]
    Agents(AgentsVerb),
    /// Show who is on the team, with role and status
    #[command(subcommand, after_help = team::EXAMPLES)]
    Team(TeamVerb),
    /// Show, merge and remove the git worktrees of tasks
    #[command(subcommand, after_help = worktree::EXAMPLES)]
    Worktree(WorktreeVerb),
    /// Show and restore earlier states of an agent's files and conversation
    #[command(subcommand, after_help = checkpoint::EXAMPLES)]
    Checkpoint(CheckpointVerb),
}

#[cfg(test)]
mod tests;
