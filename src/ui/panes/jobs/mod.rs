//! The pane with the background jobs of all agents.

use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::domain::text::{escape_control_chars, one_line};
use crate::ui::app::App;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::{self, RowHighlight, Titles, layout};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::feature::{PaneCanvas, PaneFeature, page, rows};
use crate::ui::popups::jobs;
use crate::ui::text::fit;
use crate::ui::widgets::list::{first_row, step};
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

#[derive(Debug, Default)]
pub struct JobsPane {
    row: usize,
}

impl JobsPane {
    fn position(&self, app: &App, list: Rect) -> (usize, usize) {
        let len = app.model.jobs.ordered_jobs().len();
        (
            len,
            first_row(len, self.row.min(len.saturating_sub(1)), list.height),
        )
    }
}

impl PaneFeature for JobsPane {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
        let PaneCanvas { theme, buffer, .. } = canvas;
        let jobs = app.model.jobs.ordered_jobs();
        let list = layout::inside(area);
        let (len, first) = self.position(app, list);
        let titles = Titles {
            name: "Jobs".into(),
            bar: Scrollbar::of_list(area, list, first, len),
            placeholder: jobs.is_empty().then(|| jobs::NO_JOBS.into()),
            ..Titles::default()
        };
        let inner = frame::pane(app, Pane::Jobs, titles, theme, area, buffer);
        for ((at, job), area) in jobs.iter().enumerate().skip(first).zip(inner.rows()) {
            let text = format!("{} {}", job.agent, one_line(&job.title()));
            let spans = vec![Span::styled(
                fit(&text, usize::from(area.width)),
                theme.text,
            )];
            let row = RowHighlight::of(app, Pane::Jobs, at, Some(self.row));
            frame::row(row, spans, theme, area, buffer);
        }
        None
    }

    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let list = layout::inside(area);
        out.extend(rows(Pane::Jobs, list, self.position(app, list)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let list = layout::inside(area);
        let (len, first) = self.position(app, list);
        Scrollbar::of_list(area, list, first, len)
    }

    fn content_rows(&self, app: &App) -> usize {
        app.model.jobs.ordered_jobs().len()
    }

    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let len = app.model.jobs.ordered_jobs().len();
        self.row = step(self.row, len, by, page(area, |list| list));
    }

    fn select(&mut self, _app: &App, row: usize) {
        self.row = row;
    }

    fn open(&mut self, app: &mut App, _area: Option<Rect>) {
        jobs::open(app);
    }

    fn can_open(&self, app: &App) -> bool {
        !app.model.jobs.ordered_jobs().is_empty()
    }

    fn clipboard_text(&self, app: &App) -> Option<(String, String)> {
        let job = *app.model.jobs.ordered_jobs().get(self.row)?;
        let what = format!("the last output of {}", job.title());
        Some((what, escape_control_chars(&job.tail)))
    }
}
