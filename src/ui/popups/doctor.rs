//! The page with the results of `crewdeck doctor`.

use ratatui::text::{Line, Span};

use crate::domain::text::one_line;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::open as open_popup;
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
use crate::ui::text::{pad, wrap};
use crate::ui::theme::Theme;

/// Width of the column with the name of the check, in columns.
const NAME_WIDTH: usize = 10;
/// Width of what precedes the text of a result, in columns: the symbol and the name of the check.
const INDENT: usize = 2 + NAME_WIDTH;

/// What one check of `crewdeck doctor` has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorResult {
    /// The severity of the problem; [`NoticeLevel::Info`] if the check found no problem.
    pub level: NoticeLevel,
    pub check: String,
    pub text: String,
    /// How to fix the problem; may be empty.
    pub remedy: String,
}

/// The page with the results of `crewdeck doctor`. `None` while the checks are running.
#[derive(Debug)]
pub struct DoctorPage(Option<Vec<DoctorResult>>);

/// Opens a pager for the results of `crewdeck doctor` and requests the checks with an effect.
pub fn open(app: &mut App, out: &mut Vec<Effect>) {
    open_popup(app, Pager::new(DoctorPage(None)));
    out.push(Effect::Diagnose);
}

impl App {
    /// Shows the results of `crewdeck doctor` in the pager that was opened for them. Does nothing if that pager is no
    /// longer the topmost popup.
    pub fn show_findings(&mut self, results: Vec<DoctorResult>) {
        if let Some(pager) = self.popups.top_mut::<Pager<DoctorPage>>() {
            pager.page.0 = Some(results);
            self.dirty = true;
        }
    }
}

impl Page for DoctorPage {
    const TIP: &'static str = "What works on this machine, what does not, and how to fix it";

    fn title(&self, _app: &App) -> String {
        "Doctor".into()
    }

    fn rows(&self, _app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        let Some(results) = &self.0 else {
            let words = "Checking terminal, settings, sandbox, model and project…";
            let words = wrap(words, width);
            let lines = words.into_iter().map(|line| Line::styled(line, theme.dim));
            return text_rows(lines.collect());
        };
        let summary = wrap(&summary(results), width).into_iter();
        let summary = summary.map(|line| Line::styled(line, theme.text));
        let results = results.iter().flat_map(|r| r.lines(width, theme));
        let lines = summary.chain([Line::default()]).chain(results);
        text_rows(lines.collect())
    }
}

impl DoctorResult {
    fn lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let (symbol, style) = match self.level {
            NoticeLevel::Info => ("✓", theme.ok),
            NoticeLevel::Warn => ("!", theme.warn),
            NoticeLevel::Error => ("✗", theme.error),
        };
        let room = width.saturating_sub(INDENT);
        let mut head = vec![
            Span::styled(symbol, style),
            Span::styled(
                format!(" {}", pad(&one_line(&self.check), NAME_WIDTH)),
                theme.dim,
            ),
        ];
        let blank = || vec![Span::raw(" ".repeat(INDENT))];
        let mut out = Vec::new();
        for line in wrap(&self.text, room) {
            let mut spans = std::mem::replace(&mut head, blank());
            spans.push(Span::styled(line, theme.text));
            out.push(Line::from(spans));
        }
        for line in wrap(&self.remedy, room.saturating_sub(2)) {
            let mut spans = blank();
            spans.push(Span::styled(format!("→ {line}"), theme.accent));
            out.push(Line::from(spans));
        }
        out
    }
}

fn summary(results: &[DoctorResult]) -> String {
    let count = |level| results.iter().filter(|r| r.level == level).count();
    match (count(NoticeLevel::Error), count(NoticeLevel::Warn)) {
        (0, 0) => "No problems.".into(),
        (0, 1) => "No failures, 1 warning.".into(),
        (0, warn) => format!("No failures, {warn} warnings."),
        (fail, 0) => format!("{fail} failed."),
        (fail, 1) => format!("{fail} failed, 1 warning."),
        (fail, warn) => format!("{fail} failed, {warn} warnings."),
    }
}
