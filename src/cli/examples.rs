//! The examples below the help pages of the subcommands.

pub const EXAMPLES: &str = "Examples:
  crewdeck --demo                              watch a scripted team work: no key, no network
  crewdeck                                     the dashboard in this directory
  crewdeck run \"Fix the failing test\"          the same team without the dashboard
  crewdeck --resume                            continue the last session
  crewdeck --provider openai --base-url http://127.0.0.1:11434/v1 --model qwen3:8b
  crewdeck task add \"Write the parser\" && crewdeck task list";

pub const RUN_EXAMPLES: &str = "Examples:
  crewdeck run \"Fix the failing test\"           text; progress goes to stderr
  crewdeck run --json \"Fix it\" | jq .type       one event per line
  crewdeck run --tool lead \"Update the docs\"    the lead approves tool calls
  crewdeck run --resume \"And now the docs\"      continue the last session";

pub const TASK_EXAMPLES: &str = "Examples:
  crewdeck task add \"Write the parser\" --tag rust
  crewdeck task add \"Test it\" --blocked-by 1
  crewdeck task add \"Describe it\"
  crewdeck task list --ready
  crewdeck task claim --as alice               exit status 3 if no task is ready
  crewdeck task done 1 --as alice
  crewdeck task edit 3 --blocked-by 2          task 3 waits for task 2
  crewdeck task show 3";

pub const MAIL_EXAMPLES: &str = "Examples:
  crewdeck mail send lead \"The format has changed\"
  crewdeck mail list                           number of messages in each inbox
  crewdeck mail list lead                      show without marking read
  crewdeck mail read user --json               read what agents wrote to you";

pub const TEAM_EXAMPLES: &str = "Examples:
  crewdeck team list
  crewdeck team list --json";

pub const WORKTREE_EXAMPLES: &str = "Examples:
  crewdeck worktree list
  crewdeck worktree diff 3                     the changes of task 3
  crewdeck worktree merge 3
  crewdeck worktree remove 3                   refused if work would be lost";

pub const DOCTOR_EXAMPLES: &str = "Examples:
  crewdeck doctor
  crewdeck doctor --mend                       fix problems; asks before each fix
  crewdeck doctor --json --base-url http://127.0.0.1:9000";

pub const REPLAY_EXAMPLES: &str = "Examples:
  crewdeck replay                              the newest session
  crewdeck replay --speed 8
  crewdeck replay 01993c5e                     the session whose id starts with this";

pub const COMPLETION_EXAMPLES: &str = "Examples:
  source <(crewdeck completions bash)          permanent: put this line in ~/.bashrc
  source <(crewdeck completions zsh)           permanent: in ~/.zshrc, after compinit
  crewdeck completions fish | source           permanent: in ~/.config/fish/config.fish";

pub const MANUAL_EXAMPLES: &str = "Examples:
  crewdeck man | man -l -
  mkdir -p ~/.local/share/man/man1 && crewdeck man > ~/.local/share/man/man1/crewdeck.1";
