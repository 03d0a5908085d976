//! The popup with the skills that agents can load.

mod lines;

use crate::ui::app::App;
use crate::ui::app::popup::open as open_popup;
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
use crate::ui::popups::skills::lines::lines;
use crate::ui::theme::Theme;

#[derive(Debug)]
pub struct SkillsPage;

pub fn open(app: &mut App) {
    open_popup(app, Pager::new(SkillsPage));
}

impl Page for SkillsPage {
    const TIP: &'static str = "Instructions that agents load when they need them";

    fn title(&self, _app: &App) -> String {
        "Skills".into()
    }

    fn rows(&self, app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        text_rows(lines(&app.model.skills, width, theme))
    }
}
