//! Which first page there is, by what was found at the start. Pure: facts go in, a page comes out.

use super::wire::{Lack, NoModel};
use crate::config::{PROJECT_FILE, Sensitive};
use crate::store::{FIRST_COMMIT, INIT_AND_COMMIT};
use crate::ui::{FirstPage, Offer, Weight};
use crate::ui::keymap::Action;

/// Most settings that are approved on a page, and the longest of them in bytes.
const APPROVE_MAX: usize = 24;
const APPROVE_LINE_MAX: usize = 1500;

/// What git offers to a team here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// Each task can have a worktree; or what is in the way is nothing that one step mends.
    Fine,
    /// Git is missing or too old: why.
    NoGit(String),
    /// The directory is in no repository. What lies in it.
    NoRepository(Files),
    /// The repository has no commit. What lies in it.
    NoCommits(Files),
}

/// What a first commit would hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Files {
    /// So many files, which may be none.
    Few(usize),
    /// The person should choose what belongs in a commit: why.
    Choose(&'static str),
    /// No repository should be made here: why.
    NotHere(&'static str),
}

/// The page for a start without a crew.
pub fn without_crew(lack: &NoModel) -> FirstPage {
    FirstPage {
        weight: Weight::Missing,
        ..model(lack, Vec::new())
    }
}

/// The page for a crew whose model will hardly answer.
pub fn with_crew(lack: &NoModel) -> FirstPage {
    let choose = Offer::new(Action::Models, "choose a model that the server has");
    let offers = match lack.lack {
        Lack::ThatModel => vec![choose],
        Lack::Model
        | Lack::Key
        | Lack::RightKey
        | Lack::Nobody
        | Lack::Server
        | Lack::AnyModel
        | Lack::Other => Vec::new(),
    };
    FirstPage {
        weight: Weight::Trouble,
        ..model(lack, offers)
    }
}

fn model(lack: &NoModel, mut offers: Vec<Offer>) -> FirstPage {
    let means = match lack.lack {
        Lack::Model => "crewdeck needs a language model, and nothing here says which.",
        Lack::Key => "crewdeck has chosen this server, and can not ask it without a key.",
        Lack::RightKey => {
            "The server is there and lets nobody in with this key: no agent could answer."
        }
        Lack::Nobody | Lack::Server => "Without it no agent can answer.",
        Lack::ThatModel => "No agent can answer until the server accepts the name of a model.",
        Lack::AnyModel => "The server is there and has nothing that could answer.",
        Lack::Other => "crewdeck can not start a crew like this.",
    };
    offers.push(Offer::new(Action::LookAgain, again(lack.lack)));
    let demo = "start the demo, in a folder of its own: no key, no network";
    offers.push(Offer::new(Action::StartDemo, demo));
    offers.push(Offer::new(Action::Close, "quit"));
    FirstPage {
        weight: Weight::Missing,
        what: sentence(&lack.reason),
        means: means.into(),
        steps: lack.steps.clone(),
        offers,
    }
}

/// The page for settings of the project that need approval. What is too long for a page is approved in a shell, where all of
/// it can be read.
pub fn approval(found: &Sensitive) -> FirstPage {
    let number = found.lines.len();
    let settings = if number == 1 { "setting" } else { "settings" };
    let steps: Vec<String> = found
        .lines
        .iter()
        .map(|line| format!("{}  ({})", line.text, line.effect))
        .collect();
    let is_short = number <= APPROVE_MAX && steps.iter().all(|s| s.len() <= APPROVE_LINE_MAX);
    let mut offers = Vec::new();
    if is_short {
        let words = "approve exactly these settings, for this directory";
        offers.push(Offer::new(Action::ApproveSettings, words));
    }
    let without = Offer::new(Action::WithoutSettings, "go on without them this time");
    let demo = "start the demo, in a folder of its own: no key, no network";
    offers.extend([
        without,
        Offer::new(Action::StartDemo, demo),
        Offer::new(Action::Close, "quit"),
    ]);
    let steps = if is_short {
        steps
    } else {
        vec![
            format!("They are too long for this page: {}.", found.names()),
            "Read and approve them in a shell: crewdeck trust".into(),
        ]
    };
    FirstPage {
        weight: Weight::Missing,
        what: format!("{PROJECT_FILE} of this project has {number} {settings} that need your approval."),
        means: "These settings came with this directory. No crew starts and nothing is sent until you approve them.".into(),
        steps,
        offers,
    }
}

/// What happened as a sentence.
fn sentence(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

fn again(lack: Lack) -> &'static str {
    match lack {
        Lack::Model => "look for a server and settings again (a new key: start again)",
        Lack::Key | Lack::RightKey => "read the settings again (a new key: start again)",
        Lack::Nobody | Lack::Server | Lack::AnyModel | Lack::ThatModel => "ask the server again",
        Lack::Other => "try again",
    }
}

/// The page while git makes the first commit.
pub fn making() -> FirstPage {
    FirstPage {
        weight: Weight::Advice,
        what: "Git makes the first commit…".into(),
        means: "It may take a while: there may be a lot to read, or a program of yours that git calls. When it is done, \
                crewdeck looks at everything again; what you write meanwhile stays."
            .into(),
        steps: Vec::new(),
        offers: vec![
            Offer::new(Action::LookAgain, "stop git and look again"),
            Offer::new(Action::Close, "stop git and quit"),
        ],
    }
}

/// The page for a team that has no ground to work on apart.
pub fn ground(ground: &Ground) -> Option<FirstPage> {
    let (what, command, files) = match ground {
        Ground::Fine => return None,
        Ground::NoGit(why) => return Some(no_git(why)),
        Ground::NoRepository(files) => (
            "This directory is no git repository.",
            INIT_AND_COMMIT,
            files,
        ),
        Ground::NoCommits(files) => (
            "This git repository has no commit yet.",
            FIRST_COMMIT,
            files,
        ),
    };
    let make = match ground {
        Ground::NoRepository(_) => "make it one: git init and a first commit",
        Ground::NoCommits(_) | Ground::NoGit(_) | Ground::Fine => "make one",
    };
    let offer = |words: &str| {
        let words = format!("{make}{words}");
        vec![Offer::new(Action::MakeRepository, words)]
    };
    let (step, offers) = match files {
        Files::Few(0) => (
            format!(
                "In a shell: {}",
                command.replace("git add -A && git commit", "git commit --allow-empty")
            ),
            offer(", empty as the directory is"),
        ),
        Files::Few(1) => (
            format!("In a shell: {command}"),
            offer(" of the one file here"),
        ),
        Files::Few(n) => (
            format!("In a shell: {command}"),
            offer(&format!(" of the {n} files here")),
        ),
        Files::Choose(why) => (
            format!("In a shell: {command}. Choose what belongs in it first: {why}."),
            Vec::new(),
        ),
        Files::NotHere(why) => (
            format!("{why}: start crewdeck in the directory of a project."),
            Vec::new(),
        ),
    };
    Some(FirstPage {
        weight: Weight::Advice,
        what: what.into(),
        means: MEANS.into(),
        steps: vec![step, ALL_THE_SAME.into()],
        offers,
    })
}

/// What it means that no task can have a worktree.
const MEANS: &str = "So all agents work in one directory and can get in each other's way. In a git repository with a \
                     commit each task gets a worktree, whose changes can be read and merged by themselves.";
/// That nobody has to do anything about it.
const ALL_THE_SAME: &str = "Or just say below what you want done: it works as it is, too.";

fn no_git(why: &str) -> FirstPage {
    FirstPage {
        weight: Weight::Advice,
        what: format!("{}.", why.split(':').next().unwrap_or(why)),
        means: MEANS.into(),
        steps: vec![
            "Install git 2.31 or newer and start crewdeck again.".into(),
            ALL_THE_SAME.into(),
        ],
        offers: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
