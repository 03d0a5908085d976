//! The examples below the help pages.

pub const EXAMPLES: &str = "Examples:
  crewdeck --demo                              watch a scripted team work: no key, no network
  crewdeck                                     the dashboard in this directory
  crewdeck run \"Fix the failing test\"          the same crew without a screen
  crewdeck --resume                            go on where the last session stood
  crewdeck --provider openai --base-url http://127.0.0.1:11434/v1 --model qwen3:8b
  crewdeck task add \"Write the parser\" && crewdeck task list";

pub const RUN_EXAMPLES: &str = "Examples:
  crewdeck run \"Fix the failing test\"           text; progress goes to stderr
  crewdeck run --json \"Fix it\" | jq .type       one event a line
  crewdeck run --tool lead \"Update the docs\"    the lead decides what would be asked
  crewdeck run --resume \"And now the docs\"      go on with the last session";

pub const TASK_EXAMPLES: &str = "Examples:
  crewdeck task add \"Write the parser\" --tag rust
  crewdeck task add \"Test it\" --blocked-by 1
  crewdeck task add \"Describe it\"
  crewdeck task list --ready
  crewdeck task claim --as alice               exit code 3: nothing is ready
  crewdeck task done 1 --as alice
  crewdeck task edit 3 --blocked-by 2          task 3 waits for task 2
  crewdeck task show 3";

pub const MAIL_EXAMPLES: &str = "Examples:
  crewdeck mail send lead \"The format has changed\"
  crewdeck mail list                           all inboxes: how many messages wait
  crewdeck mail list lead                      look without taking
  crewdeck mail read user --json               take what agents wrote to you";

pub const TEAM_EXAMPLES: &str = "Examples:
  crewdeck team list
  crewdeck team list --json";

pub const WORKTREE_EXAMPLES: &str = "Examples:
  crewdeck worktree list
  crewdeck worktree diff 3                     what task 3 changes
  crewdeck worktree merge 3
  crewdeck worktree remove 3                   refused while work would be lost";

pub const DOCTOR_EXAMPLES: &str = "Examples:
  crewdeck doctor
  crewdeck doctor --mend                       asks before each; nothing is lost
  crewdeck doctor --json --base-url http://127.0.0.1:9000";

pub const REPLAY_EXAMPLES: &str = "Examples:
  crewdeck replay                              the newest session
  crewdeck replay --speed 8
  crewdeck replay 01993c5e                     the session whose id begins like this";

pub const COMPLETION_EXAMPLES: &str = "Examples:
  source <(crewdeck completions bash)          for good: this line in ~/.bashrc
  source <(crewdeck completions zsh)           for good: in ~/.zshrc, after compinit
  crewdeck completions fish | source           for good: in ~/.config/fish/config.fish";

pub const MANUAL_EXAMPLES: &str = "Examples:
  crewdeck man | man -l -
  mkdir -p ~/.local/share/man/man1 && crewdeck man > ~/.local/share/man/man1/crewdeck.1";
