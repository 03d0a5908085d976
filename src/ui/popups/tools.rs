//! The popup with the names of the tools that agents of this crew have.

use ratatui::text::Line;

use crate::ui::app::App;
use crate::ui::app::popup::{Copied, open_once};
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
use crate::ui::text::wrap;
use crate::ui::theme::Theme;

#[derive(Debug)]
pub struct ToolsPage(String);

pub fn open(app: &mut App) {
    let tools = app.model.setup.as_ref().map(|setup| setup.tools.join(", "));
    open_once(app, Pager::new(ToolsPage(tools.unwrap_or_default())));
}

impl Page for ToolsPage {
    const TIP: &'static str = "The tools of this crew";

    fn title(&self, _app: &App) -> String {
        "Tools".into()
    }

    fn rows(&self, _app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        let lines = wrap(&self.0, width).into_iter();
        text_rows(lines.map(|line| Line::styled(line, theme.text)).collect())
    }

    fn clipboard_text(&self) -> Option<Copied> {
        Some(Copied::Text("the tools".into(), self.0.clone()))
    }
}
