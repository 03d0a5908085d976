//! The composer's title and placeholder: recipient, open question and other drafts.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::app::answering;
use crate::ui::app::recipient;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, SLASH};
use crate::ui::model::style;
use crate::ui::panes::lead::offers;
use crate::ui::text::{fit, width};
use crate::ui::theme::Theme;

/// Minimum width of the question in the title, in columns. If there is less room, the question is omitted.
const QUESTION_LEAST: usize = 12;
/// Number of columns that the two titles cannot use: the two corners and the border between the titles.
const FRAME: usize = 4;

/// Returns the left and right title of a composer of `columns` columns. The recipient is drawn in the style `name`,
/// with the colour of its role. `has_card` is true if a card above the composer shows the request that the user answers
/// from the composer.
pub fn lines(
    app: &App,
    theme: &Theme,
    name: Style,
    columns: u16,
    has_card: bool,
) -> (Line<'static>, Line<'static>) {
    let room = usize::from(columns).saturating_sub(FRAME);
    if app.is_shell_mode() {
        return shell_lines(app, theme, room);
    }
    let named = recipient::named_recipient(app);
    let agent = named.as_ref().unwrap_or(&app.shown);
    let (to, name) = (
        agent.to_string(),
        style::agent_name(app, agent, name, theme),
    );
    let questions = answering::questions(app);
    // A draft that names its recipient is a message, even while a question is open.
    let question = questions.first().filter(|_| named.is_none());
    let Some(question) = question else {
        let goes = if app.role.is_crew() {
            " to "
        } else {
            " message to "
        };
        let taken = width(goes) + width(&to) + 1;
        let title = vec![
            Span::styled(goes, theme.dim),
            Span::styled(to, name),
            Span::raw(" "),
        ];
        let room = room.saturating_sub(taken);
        // Only the composer and the conversation have keys that decide the shown request.
        let can_decide = matches!(app.focus, Focus::Composer | Focus::Pane(Pane::Lead));
        let request = answering::request(app).filter(|_| can_decide && questions.is_empty());
        let aside = match (expected_arguments(app), request) {
            (Some(arguments), _) => aside_line(&arguments, room, theme),
            (None, Some(_)) => decision_keys(app, room, theme),
            (None, _) => aside_line(&other_drafts(app), room, theme),
        };
        return (Line::from(title), aside);
    };
    let number = match questions.len() {
        1 => String::new(),
        n => format!("1 of {n} "),
    };
    let goes = format!(" answer {number}to ");
    let taken = width(&goes) + width(&to) + 3;
    let mut title = vec![Span::styled(goes, theme.waiting), Span::styled(to, name)];
    let way_out = format!(" @{} … sends a message ", app.shown);
    let left = room.saturating_sub(taken);
    let has_both = left >= width(&way_out) + QUESTION_LEAST;
    let words = if has_both {
        left - width(&way_out)
    } else {
        left
    };
    if words >= QUESTION_LEAST && !has_card {
        let text = fit(&one_line(&question.body), words);
        title.push(Span::styled(": ", theme.dim));
        title.push(Span::styled(text, theme.text));
    }
    title.push(Span::raw(" "));
    let aside = if has_both {
        Line::styled(way_out, theme.dim)
    } else {
        Line::default()
    };
    (Line::from(title), aside)
}

/// Returns the right title while a request of the shown agent waits for the user's decision. The title names the keys
/// that approve and reject the request, and says what each key does with the draft. Empty if the draft is a slash
/// command or there is too little room.
fn decision_keys(app: &App, room: usize, theme: &Theme) -> Line<'static> {
    let draft = app.input.composer.draft();
    if draft.starts_with('/') {
        return Line::default();
    }
    let key = |action| app.prefs.keymap.key(Context::Composer, action);
    let (yes, no) = (key(Action::ApproveShown), key(Action::RejectShown));
    let send = key(Action::Send);
    let approve = vec![(yes.clone(), " approve"), (no.clone(), " reject")];
    let forms = if draft.trim().is_empty() {
        vec![vec![(yes, " or /approve"), (no, " or /reject")], approve]
    } else {
        vec![
            vec![
                (send.clone(), " message"),
                (yes.clone(), " approve with this comment"),
                (no.clone(), " reject with it"),
            ],
            vec![
                (send, " message"),
                (yes.clone(), " approve with it"),
                (no.clone(), " reject with it"),
            ],
            vec![(yes, " approve with it"), (no, " reject with it")],
            approve,
        ]
    };
    let line = |form: Vec<(String, &'static str)>| {
        let mut spans = vec![Span::raw(" ")];
        for (at, (key, words)) in form.into_iter().enumerate() {
            let gap = if at == 0 { "" } else { " · " };
            spans.push(Span::styled(gap, theme.dim));
            spans.push(Span::styled(key, theme.accent));
            spans.push(Span::styled(words, theme.text));
        }
        spans.push(Span::raw(" "));
        Line::from(spans)
    };
    let mut lines = forms.into_iter().map(line);
    lines.find(|line| line.width() <= room).unwrap_or_default()
}

/// Returns the left and right title while the draft is a shell command.
fn shell_lines(app: &App, theme: &Theme, room: usize) -> (Line<'static>, Line<'static>) {
    let place = if app.shown.is_lead() {
        " in the project ".to_string()
    } else {
        format!(" where {} works ", app.shown)
    };
    let name = " shell command";
    let taken = width(name) + width(&place);
    let title = vec![
        Span::styled(name, theme.warn),
        Span::styled(place, theme.dim),
    ];
    let key = app.prefs.keymap.key(Context::Composer, Action::Send);
    let aside = format!(" {key} runs it ");
    let aside = aside_line(&aside, room.saturating_sub(taken), theme);
    (Line::from(title), aside)
}

/// Returns the right title while the draft begins with a slash command from a file or an MCP server, followed by a
/// space: the command and its arguments. `None` for other drafts and for commands without arguments.
fn expected_arguments(app: &App) -> Option<String> {
    let draft = app.input.composer.draft();
    let (word, _) = draft.split_once(' ')?;
    let is_built_in = SLASH.iter().any(|(built_in, ..)| *built_in == word);
    let hint = match app.model.skills.command(word.strip_prefix('/')?) {
        Some(command) => command.hint.clone(),
        None => offers::prompt_hint(app, word)?,
    };
    (!is_built_in && !hint.is_empty()).then(|| format!(" {word} {hint} "))
}

fn aside_line(text: &str, room: usize, theme: &Theme) -> Line<'static> {
    if text.is_empty() || width(text) > room {
        return Line::default();
    }
    Line::styled(text.to_string(), theme.dim)
}

/// Returns the right title that names the other agents for whom the user has a draft; empty if there are none.
fn other_drafts(app: &App) -> String {
    let names: Vec<&str> = app.input.drafts.others().map(Name::as_str).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(" draft to {one} "),
        [one, two] => format!(" drafts to {one}, {two} "),
        more => format!(" drafts to {} agents ", more.len()),
    }
}

/// Returns the possible texts of the composer's placeholder while `question` is open, the longest first; the composer
/// shows the first one that fits. `has_card` is true if a card above the composer shows the choices.
pub fn invitations(prefs: &Preferences, question: &Request, has_card: bool) -> Vec<String> {
    let key = prefs.keymap.key(Context::Composer, Action::Send);
    let to = &question.from;
    let choices: Vec<String> = question
        .choices
        .iter()
        .enumerate()
        .map(|(at, choice)| format!("{} {}", at + 1, one_line(choice)))
        .collect();
    if choices.is_empty() {
        return vec![
            format!("Write the answer; {key} sends it. @{to} … sends a message instead"),
            format!("Write the answer; {key} sends it"),
        ];
    }
    let numbers = answering::choice_numbers(question.choices.len());
    let mut forms = vec![
        format!("Type {numbers} or your own answer; {key} sends it"),
        format!("Type {numbers} or your own answer"),
        format!("{numbers} or your own answer"),
    ];
    if !has_card {
        forms.insert(0, format!("{}, or your own answer", choices.join(" · ")));
    }
    forms
}
