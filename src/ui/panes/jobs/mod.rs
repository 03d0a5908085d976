//! The pane with the background jobs of all agents.

use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::domain::text::one_line;
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
    selected: usize,
}

impl JobsPane {
    fn listed(&self, app: &App, inside: Rect) -> (usize, usize) {
        let len = app.model.jobs.listed().len();
        (
            len,
            first_row(len, self.selected.min(len.saturating_sub(1)), inside.height),
        )
    }
}

impl PaneFeature for JobsPane {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
        let all = app.model.jobs.listed();
        let (len, first) = self.listed(app, layout::inside(area));
        let titles = Titles {
            name: "Jobs".into(),
            bar: self.scrollbar(app, area),
            placeholder: (len == 0).then(|| "No background jobs.".into()),
            ..Titles::default()
        };
        let inner = frame::pane(app, Pane::Jobs, titles, canvas.theme, area, canvas.buffer);
        for ((at, job), area) in all.iter().enumerate().skip(first).zip(inner.rows()) {
            let text = fit(&one_line(&job.command), usize::from(area.width));
            let row = RowHighlight::of(app, Pane::Jobs, at, Some(self.selected));
            let spans = vec![Span::styled(text, canvas.theme.text)];
            frame::row(row, spans, canvas.theme, area, canvas.buffer);
        }
        None
    }

    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let inside = layout::inside(area);
        out.extend(rows(Pane::Jobs, inside, self.listed(app, inside)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let inside = layout::inside(area);
        let (len, first) = self.listed(app, inside);
        Scrollbar::of_list(area, inside, first, len)
    }

    fn content_rows(&self, app: &App) -> usize {
        app.model.jobs.listed().len()
    }

    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let len = app.model.jobs.listed().len();
        self.selected = step(self.selected, len, by, page(area, |inside| inside));
    }

    fn select(&mut self, _app: &App, row: usize) {
        self.selected = row;
    }

    fn open(&mut self, app: &mut App, _area: Option<Rect>) {
        jobs::open(app);
    }

    fn can_open(&self, app: &App) -> bool {
        !app.model.jobs.listed().is_empty()
    }

    fn copied(&self, app: &App) -> Option<(String, String)> {
        let all = app.model.jobs.listed();
        let job = all.get(self.selected)?;
        Some(("the command".into(), one_line(&job.command)))
    }
}
