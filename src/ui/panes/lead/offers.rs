//! The resources, resource templates and prompts of MCP servers that the completion list offers while the user types a
//! mention or a slash command.

use crate::domain::mcp::{ServerState, ServerStatus};
use crate::domain::mention;
use crate::domain::server_offers::{
    OfferedResource, ServerOffers, command, find_prompt, split_prompt,
};
use crate::domain::text::{escape_control_chars, one_line};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::frame::pick::PickerRow;
use crate::ui::keymap::pane::Focus;
use crate::ui::panes::lead::complete::{Choice, CompletionRow};
use crate::ui::text::fuzzy::FuzzyPattern;

/// Maximum number of resources in the completion list. To find others, the user types more characters.
const ROWS_MAX: usize = 100;

/// Asks the crew what the MCP servers offer when the user begins to type a mention or a slash command. Starts a server
/// when the user has typed its name and a colon.
pub fn ask(app: &mut App, out: &mut Vec<Effect>) {
    if !app.role.is_crew() || app.model.servers.all().is_empty() {
        return;
    }
    let Some(typed) = typed_query(app) else {
        return;
    };
    out.extend(app.model.servers.ask(&typed).map(Effect::Command));
}

/// Returns what the user has typed after `@` or `/`; `None` if the user types neither a mention nor a slash command.
fn typed_query(app: &App) -> Option<String> {
    app.file_query()
        .or_else(|| slash_word(app).map(str::to_string))
}

fn slash_word(app: &App) -> Option<&str> {
    let is_writing = app.popups.is_empty() && app.focus == Focus::Composer && app.replay.is_none();
    let word = app.input.composer.only_word().filter(|_| is_writing)?;
    word.strip_prefix('/')
}

/// Returns a row for each MCP server whose name begins with `query`. The row gives the number of the server's
/// resources, or says why none are listed. Leaves out disabled servers and running servers without resources. Empty if
/// `query` contains a colon.
pub fn servers(app: &App, query: &str) -> Vec<CompletionRow> {
    if query.contains(':') {
        return Vec::new();
    }
    let servers = app.model.servers.all().iter();
    let named = servers.filter(|server| begins(&server.name, query));
    let rows = named.filter_map(|server| {
        let about = match app.model.servers.offers_of(server) {
            Some(offers) => match offers.resources.len() {
                0 if offers.problem.is_empty() => return None,
                0 => offers.problem.clone(),
                1 => "MCP server: 1 resource".into(),
                count => format!("MCP server: {count} resources"),
            },
            None => format!("MCP server: {}", why_unlisted(server)?),
        };
        let words = format!("@{}:", server.name);
        let start = Choice::Start(words.chars().count());
        let marked = (1..=query.chars().count()).collect();
        Some(PickerRow {
            marked,
            ..PickerRow::new(words, about, start)
        })
    });
    rows.collect()
}

fn begins(name: &str, typed: &str) -> bool {
    let start = name.get(..typed.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(typed))
}

/// Returns a row for each resource that matches `query`, at most `ROWS_MAX`, best match first. Resources of which only
/// the description matches are last. If `query` names a server, only resources of that server are returned. Empty if
/// `query` is empty.
pub fn resources(app: &App, query: &str) -> Vec<CompletionRow> {
    if query.is_empty() {
        return Vec::new();
    }
    let named = app.model.servers.find_by_typed_name(query);
    let servers = app.model.servers.all().iter();
    let servers = servers.filter(|server| named.is_none_or(|named| named.name == server.name));
    let listed = servers.filter_map(|server| app.model.servers.offers_of(server));
    let mut pattern = FuzzyPattern::new(query);
    let mut found: Vec<(Option<u32>, CompletionRow)> = listed
        .flat_map(|offers| offers.resources.iter().map(move |one| (offers, one)))
        .filter_map(|(offers, one)| row(offers, one, query, &mut pattern))
        .collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let rows = found.into_iter().take(ROWS_MAX);
    rows.map(|(_, row)| row).collect()
}

fn row(
    offers: &ServerOffers,
    one: &OfferedResource,
    query: &str,
    pattern: &mut FuzzyPattern,
) -> Option<(Option<u32>, CompletionRow)> {
    let path = format!("{}:{}", offers.server, one.uri);
    let start = one.template_start();
    // A resource that is already typed, or a template whose fixed start is typed, is not offered, so that Enter sends
    // the message.
    let is_typed = path == query
        || start.is_some_and(|start| query.starts_with(&format!("{}:{start}", offers.server)));
    if is_typed {
        return None;
    }
    let (score, marked) = match pattern.find(&path) {
        Some(fit) => (Some(fit.score), fit.positions),
        // The description is searched too, because the URI alone often does not say what the resource is.
        None => (None, pattern.score(&one.about).map(|_| Vec::new())?),
    };
    // A template is not quoted, because only its start is inserted.
    let words = match start {
        Some(_) => format!("@{path}"),
        None => mention::format_mention(&path),
    };
    let offset = if words.starts_with("@\"") { 2 } else { 1 };
    let choice = match start {
        Some(start) => {
            let before = offset + offers.server.chars().count() + 1;
            Choice::Start(before + start.chars().count())
        }
        None => Choice::Resource,
    };
    let row = PickerRow {
        marked: marked.iter().map(|at| at + offset).collect(),
        ..PickerRow::new(words, one.about.clone(), choice)
    };
    Some((score, row))
}

/// Returns a row for each prompt of each MCP server, and a row for each server whose prompts are not known yet. `typed`
/// is the text after `/`; if it contains a colon, there are no rows for servers.
pub fn prompts(app: &App, typed: &str) -> Vec<CompletionRow> {
    let mut rows = Vec::new();
    for server in app.model.servers.all() {
        match app.model.servers.offers_of(server) {
            Some(offers) => rows.extend(offers.prompts.iter().map(|prompt| {
                let hint = one_line(&escape_control_chars(&prompt.hint()));
                let words = match (hint.as_str(), prompt.description.as_str()) {
                    ("", about) => about.to_string(),
                    (hint, "") => hint.to_string(),
                    (hint, about) => format!("{hint}: {about}"),
                };
                let words = if words.is_empty() {
                    format!("prompt of {}", server.name)
                } else {
                    words
                };
                let name = format!("/{}", command(&server.name, &prompt.name));
                PickerRow::new(name, words, Choice::Word)
            })),
            None => {
                let word = format!("{}:", server.name.to_ascii_lowercase());
                let Some(why) = why_unlisted(server).filter(|_| !typed.contains(':')) else {
                    continue;
                };
                let words = format!("/{word}");
                let start = Choice::Start(words.chars().count());
                rows.push(PickerRow::new(words, format!("MCP server: {why}"), start));
            }
        }
    }
    rows
}

/// Returns the arguments of the prompt that the slash command `word` calls; `None` if no such prompt is listed. `word`
/// includes the slash.
pub fn prompt_hint(app: &App, word: &str) -> Option<String> {
    let (server, typed, _) = split_prompt(word)?;
    let server = app
        .model
        .servers
        .find_by_typed_name(&format!("{server}:"))?;
    let offers = app.model.servers.offers_of(server)?;
    let prompt = find_prompt(&server.name, typed, &offers.prompts).ok()?;
    Some(one_line(&escape_control_chars(&prompt.hint())))
}

/// Returns the reason why no resources and prompts of a server are listed; `None` if the user has disabled the server.
fn why_unlisted(server: &ServerStatus) -> Option<String> {
    Some(match &server.state {
        ServerState::Disabled => return None,
        ServerState::Ready => "asking it…".into(),
        ServerState::Starting | ServerState::Restarting { .. } => "starting…".into(),
        ServerState::Idle => "not connected yet: choose it to connect".into(),
        ServerState::WaitsForApproval => {
            format!(
                "needs approval: run crewdeck mcp approve {} in a shell",
                server.name
            )
        }
        ServerState::NeedsLogin => "needs a login: see /mcp".into(),
        ServerState::Failed { .. } => "failed: see /mcp".into(),
    })
}

/// If the user has typed the name of an MCP server and a colon, returns why nothing of this server is listed. `None` if
/// the user has not typed that, or if the resources and prompts of the server are known.
pub fn note(app: &App) -> Option<String> {
    let typed = typed_query(app)?;
    let server = app.model.servers.find_by_typed_name(&typed)?;
    match app.model.servers.offers_of(server) {
        Some(offers) if !offers.problem.is_empty() => Some(offers.problem.clone()),
        Some(_) => None,
        None => {
            let why = match server.state {
                ServerState::Idle => "starting…".into(),
                _ => why_unlisted(server).unwrap_or_else(|| "disabled: see /mcp".into()),
            };
            Some(format!("{}: {why}", server.name))
        }
    }
}
