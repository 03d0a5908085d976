//! The status line at the top: agents, requests, cost, model and back-off.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::domain::team::Activity;
use crate::domain::text::{count_noun, one_line};
use crate::ui::app::App;
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::app::role::SessionRole;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout::has_request_tab;
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::model::style;
use crate::ui::shell::state::UiState;
use crate::ui::text::{count, fit, fit_end, fit_name, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::placed;
use crate::ui::widgets::placed::PlacedPart;

/// A piece of the status line, such as the branch or the cost. If the status line has too little room for all pieces,
/// those with the highest ranks are dropped first.
struct StatusPiece {
    rank: u8,
    text: String,
    style: Style,
    hit: Hit,
}

impl StatusPiece {
    fn plain(rank: u8, text: String, style: Style) -> StatusPiece {
        StatusPiece {
            rank,
            text,
            style,
            hit: Hit::Nothing,
        }
    }

    /// Sets the target of a click on this piece.
    fn leads(self, hit: Hit) -> StatusPiece {
        StatusPiece { hit, ..self }
    }
}

/// Rank up to which a piece on the left is essential. If the essential pieces do not fit, their short forms are used.
const ESSENTIAL: u8 = 4;

/// Maximum width of the name of the agent whose context is shown, in columns.
const AGENT_MAX: usize = 16;
/// Maximum width of the name of the model, in columns.
const MODEL_MAX: usize = 32;
/// Maximum width of a branch name, in columns, if the status line has no room for everything in full.
const BRANCH: usize = 27;
/// Maximum width of a branch name, in columns, if everything else in the status line fits beside it.
const BRANCH_MAX: usize = 72;
/// Maximum width of the address that receives the API key, in columns.
const ADDRESS_MAX: usize = 40;
/// Minimum width to which the address that receives the API key is cut, in columns.
const ADDRESS_MIN: usize = 20;
/// Widths, in columns, to which the address that receives the API key may be cut, widest first. The first width is used
/// at which all pieces up to the rank [`CONTEXT`] fit into the status line.
const ADDRESS_WIDTHS: [usize; 4] = [ADDRESS_MAX, 32, 26, ADDRESS_MIN];
/// Rank of the piece that shows how much of the context window is used, in percent.
const CONTEXT: u8 = 8;
/// Rank of the piece that shows the use of the context window, if the status line also shows the address that receives
/// the API key.
const CONTEXT_BESIDE_ADDRESS: u8 = 4;

pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    for placed in pieces(state, theme, row) {
        let piece = placed.what;
        Line::styled(format!(" {} ", piece.text), piece.style).render(placed.at, buffer);
    }
}

/// Returns the pieces of the status line that can be clicked, each as its area and the target of the click.
pub fn places(state: &UiState, row: Rect) -> Vec<PlacedPart<Hit>> {
    let pieces = pieces(state, &Theme::default(), row).into_iter();
    let pressed = pieces.filter(|placed| placed.what.hit != Hit::Nothing);
    pressed
        .map(|placed| placed.map(|piece| piece.hit))
        .collect()
}

/// Returns the pieces of the status line that fit into `row`, with their areas. The left pieces start at the left edge;
/// the right pieces end at the right edge.
fn pieces(state: &UiState, theme: &Theme, row: Rect) -> Vec<PlacedPart<StatusPiece>> {
    let columns = usize::from(row.width);
    let all = |address: usize| all_pieces(state, theme, columns, address);
    let is_complete = |(left, right): &(Vec<StatusPiece>, Vec<StatusPiece>)| {
        let dropped = without_place(left.iter().chain(right), columns);
        let mut pieces = left.iter().chain(right).enumerate();
        !pieces.any(|(at, piece)| piece.rank <= CONTEXT && dropped.contains(&at))
    };
    let mut forms = ADDRESS_WIDTHS.into_iter().map(all);
    let (mut left, mut right) = forms.find(is_complete).unwrap_or_else(|| all(ADDRESS_MIN));
    let dropped = without_place(left.iter().chain(&right), columns);
    let mut at = 0;
    let mut keeps = |_: &StatusPiece| {
        at += 1;
        !dropped.contains(&(at - 1))
    };
    left.retain(&mut keeps);
    right.retain(&mut keeps);
    let wide = |piece: StatusPiece| (width(&piece.text) + 2, piece);
    let behind = u16::try_from(total(&right))
        .unwrap_or(u16::MAX)
        .min(row.width);
    let end = Rect {
        x: row.right() - behind,
        width: behind,
        ..row
    };
    let mut out = placed::place(row, left.into_iter().map(wide));
    out.extend(placed::place(end, right.into_iter().map(wide)));
    out
}

/// Returns the left and right pieces for a status line of `columns` columns, including those that do not fit. The
/// address that receives the API key is cut to `address` columns.
fn all_pieces(
    state: &UiState,
    theme: &Theme,
    columns: usize,
    address: usize,
) -> (Vec<StatusPiece>, Vec<StatusPiece>) {
    let form = |is_short, branch| PieceForm {
        is_short,
        branch,
        address,
    };
    let left = left(state, theme, form(false, BRANCH));
    let right = right(state, theme);
    // If the essential pieces do not fit, their short forms are used before any of them is dropped.
    let essential = left.iter().filter(|p| p.rank <= ESSENTIAL);
    let is_short = essential.map(|p| width(&p.text) + 2).sum::<usize>() + 1 > columns;
    let branch = if is_short { BRANCH } else { BRANCH_MAX };
    let other = self::left(state, theme, form(is_short, branch));
    if is_short || total(&other) + total(&right) < columns {
        return (other, right);
    }
    (left, right)
}

/// Returns the indices of the pieces that do not fit into `columns`. The pieces with the lowest ranks are placed first;
/// those of rank 0 are placed even if they do not fit. After a piece that does not fit, a shorter one may still fit.
fn without_place<'a>(pieces: impl Iterator<Item = &'a StatusPiece>, columns: usize) -> Vec<usize> {
    let mut all: Vec<(usize, &StatusPiece)> = pieces.enumerate().collect();
    all.sort_by_key(|(_, piece)| piece.rank);
    let mut taken = 1;
    let mut dropped = Vec::new();
    for (at, piece) in all {
        let wide = width(&piece.text) + 2;
        if piece.rank == 0 || taken + wide <= columns {
            taken += wide;
        } else {
            dropped.push(at);
        }
    }
    dropped
}

fn total(pieces: &[StatusPiece]) -> usize {
    pieces.iter().map(|p| width(&p.text) + 2).sum()
}

/// How much room the pieces on the left of the status line take.
#[derive(Clone, Copy)]
struct PieceForm {
    /// Whether the pieces have their short texts.
    is_short: bool,
    /// Maximum width of the branch name, in columns.
    branch: usize,
    /// Maximum width of the address that receives the API key, in columns.
    address: usize,
}

impl PieceForm {
    /// Returns the text that marks a session whose answers come from a script and not from a model. On a narrow screen,
    /// it is shorter and does not contain the name `model`.
    fn scripted(self, model: &str) -> String {
        if self.branch < BRANCH_MAX {
            "scripted".into()
        } else {
            format!("scripted model {}", fit(&one_line(model), MODEL_MAX))
        }
    }
}

/// Returns the pieces on the left of the status line.
fn left(app: &App, theme: &Theme, form: PieceForm) -> Vec<StatusPiece> {
    let PieceForm {
        is_short, branch, ..
    } = form;
    let mut out = vec![StatusPiece::plain(0, "crewdeck".into(), theme.title)];
    let piece = StatusPiece::plain;
    let waiting = app.model.requests.for_user();
    if waiting > 0 && !has_request_tab(app) {
        // Before all pieces that come and go, so that the user always finds it in the same place.
        let words = if waiting == 1 { "needs" } else { "need" };
        out.push(
            piece(1, format!("◆ {waiting} {words} you"), theme.waiting)
                .leads(Hit::Button(Action::Waiting)),
        );
    }
    let (team_pane, problems) = (Hit::Tab(Pane::Team), Hit::Button(Action::Popup("problems")));
    out.extend(role(app, is_short, theme));
    if let Some(address) = app.key_address() {
        // The address that receives the API key is shown before the first request is sent.
        let text = format!("key to {}", shown_address(address, form.address));
        out.push(piece(2, text, theme.warn));
    }
    let Some(setup) = &app.model.setup else {
        // If no crew can start, the setup page says why.
        let is_missing = app.onboarding_page().map(|p| p.severity) == Some(PageSeverity::Missing);
        out.push(if is_missing {
            piece(1, "not started".into(), theme.warn)
        } else {
            piece(1, "starting…".into(), theme.dim)
        });
        return out;
    };
    let project = one_line(setup.project());
    if !project.is_empty() {
        // The project comes before the model, which has the same rank, because the user recognizes a window by its
        // project.
        out.push(piece(7, fit(&project, 24), theme.text));
    }
    // The branch is not shown without a crew, because only a crew reports its changes.
    if let Some(head) = app
        .model
        .head
        .as_ref()
        .filter(|_| app.role != SessionRole::NoCrew)
    {
        out.push(piece(
            10,
            fit(&one_line(&head.to_string()), branch),
            theme.dim,
        ));
    }
    if setup.scripted {
        let text = form.scripted(&setup.model);
        out.push(piece(1, text, theme.warn).leads(Hit::Button(Action::Models)));
    }
    let team = one_line(&app.model.team.team_name);
    if team != "default" && !team.is_empty() {
        out.push(piece(9, fit(&team, 20), theme.dim));
    }
    if let Some((until, cause)) = style::backoff(app) {
        let left = style::seconds(until, app.now);
        let text = if is_short {
            format!("◔ retry {left} s")
        } else {
            format!("◔ {cause}, retry in {left} s")
        };
        out.push(piece(3, text, theme.warn).leads(problems.clone()));
    }
    let activities: Vec<Activity> = app
        .present()
        .iter()
        .map(|name| app.activity(name))
        .collect();
    let count_of = |wanted: fn(&Activity) -> bool| activities.iter().filter(|a| wanted(a)).count();
    let working = count_of(Activity::is_busy);
    if working > 0 {
        // If all busy agents wait in the call queue, no spinner is shown.
        let shape = match count_of(Activity::is_running) {
            0 => "◔",
            _ => style::spinner(app.now),
        };
        out.push(
            piece(4, format!("{shape} {working} working"), theme.working).leads(team_pane.clone()),
        );
    }
    let jobs = app.model.jobs.running_count();
    if jobs > 0 {
        let words = if jobs == 1 { "job" } else { "jobs" };
        let piece = piece(5, format!("▷ {jobs} {words}"), theme.working);
        out.push(piece.leads(Hit::Button(Action::Popup("jobs"))));
    }
    let idle = count_of(|a| matches!(a, Activity::Idle));
    if idle > 0 {
        out.push(piece(5, format!("○ {idle} idle"), theme.dim).leads(team_pane));
    }
    let stuck = count_of(|a| matches!(a, Activity::Stuck { .. }));
    if stuck > 0 {
        out.push(piece(2, format!("▲ {stuck} stuck"), theme.warn).leads(problems.clone()));
    }
    let failed = count_of(|a| matches!(a, Activity::Failed { .. }));
    if failed > 0 {
        out.push(piece(2, format!("✗ {failed} failed"), theme.error).leads(problems));
    }
    out.extend(hosts(app, theme));
    out
}

/// Returns the piece about the role of this dashboard; `None` if the crew runs or starts in this process.
fn role(app: &App, is_short: bool, theme: &Theme) -> Option<StatusPiece> {
    let (whole, short) = app.role.status_label(&app.prefs.zone)?;
    let text = if is_short { short } else { whole };
    Some(match app.role.outage() {
        Some(_) => {
            StatusPiece::plain(0, text, theme.warn).leads(Hit::Button(Action::Popup("problems")))
        }
        None => StatusPiece::plain(0, text, theme.accent),
    })
}

/// Returns the pieces about the hosts of a crew on a hub.
fn hosts(app: &App, theme: &Theme) -> Vec<StatusPiece> {
    let (hosts, lost) = app.model.team.host_counts();
    let mut out = Vec::new();
    if hosts > 0 {
        let piece = StatusPiece::plain(6, count_noun(hosts, "host"), theme.dim);
        out.push(piece.leads(Hit::Tab(Pane::Team)));
    }
    if lost > 0 {
        let text = format!("▲ {} lost", count_noun(lost, "host"));
        let piece = StatusPiece::plain(2, text, theme.warn);
        out.push(piece.leads(Hit::Button(Action::Popup("problems"))));
    }
    out
}

/// Returns `address` if it fits into `columns` columns, otherwise only its host. A host that does not fit is cut at its
/// start: its end is the domain, which says whose server it is. The parts before the domain and after the host can be
/// chosen freely to mislead the user.
fn shown_address(address: &str, columns: usize) -> Cow<'_, str> {
    if width(address) <= columns {
        return address.into();
    }
    let host = address.split(['/', '\\', '?', '#']).next();
    let host = host.and_then(|host| host.rsplit('@').next());
    fit_end(host.unwrap_or_default(), columns)
}

fn right(app: &App, theme: &Theme) -> Vec<StatusPiece> {
    let mut out = Vec::new();
    let Some(setup) = &app.model.setup else {
        return out;
    };
    let piece = StatusPiece::plain;
    // The piece that marks a scripted session names the model.
    if !setup.scripted {
        let name = fit(&one_line(&setup.model), MODEL_MAX);
        out.push(piece(7, name, theme.dim).leads(Hit::Button(Action::Models)));
    }
    let agent = app.model.agents.get(&app.shown);
    if let Some((agent, share)) = agent.and_then(|a| Some((a, a.context_share()?))) {
        let style = if share >= 80 { theme.warn } else { theme.dim };
        let about = if agent.window_is_assumed { "~" } else { "" };
        let rank = match app.key_address() {
            Some(_) => CONTEXT_BESIDE_ADDRESS,
            None => CONTEXT,
        };
        let who = fit_name(app.shown.as_str(), AGENT_MAX);
        out.push(piece(rank, format!("{who} ctx {about}{share}%"), style));
    }
    let costs = Hit::Button(Action::Popup("costs"));
    let tokens = app.model.agents.tokens();
    if tokens > 0 {
        let text = format!("total {} tok", count(tokens));
        out.push(piece(6, text, theme.dim).leads(costs.clone()));
    }
    if let Some(cost) = app.model.agents.cost() {
        out.push(piece(6, cost.to_string(), theme.dim).leads(costs));
    }
    out
}
