//! The popup with the version of crewdeck and the model in use.

use ratatui::text::Line;

use crate::ui::app::App;
use crate::ui::app::popup::open as open_popup;
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
use crate::ui::theme::Theme;

#[derive(Debug)]
pub struct AboutPage;

pub fn open(app: &mut App) {
    open_popup(app, Pager::new(AboutPage));
}

impl Page for AboutPage {
    const TIP: &'static str = "The version and the model";

    fn title(&self, _app: &App) -> String {
        "About".into()
    }

    fn rows(&self, app: &App, _width: usize, theme: &Theme) -> Vec<PagerRow> {
        let model = app.model.setup.as_ref().map_or("", |s| s.model.as_str());
        text_rows(vec![
            Line::styled(concat!("crewdeck ", env!("CARGO_PKG_VERSION")), theme.text),
            Line::styled(model.to_string(), theme.dim),
        ])
    }
}
