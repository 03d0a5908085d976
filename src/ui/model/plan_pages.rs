//! A cache of rendered plans, so that the Markdown of a plan is not rendered again for each frame.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use ratatui::text::Line;

use crate::ui::theme::Theme;
use crate::ui::transcript::markdown;

/// Maximum number of rendered plans in the cache. If there are more, the plan that was used longest ago is dropped. The
/// card and the preview of a request need four entries: each of the two renders the plan in one width for measuring and
/// in another for drawing. One entry is spare.
const PAGES_MAX: usize = 5;

/// The plans that were rendered or used last, at most [`PAGES_MAX`]. Dropping them does not change the screen.
#[derive(Debug, Default)]
pub struct PlanPages(RefCell<VecDeque<PlanPage>>);

#[derive(Debug)]
struct PlanPage {
    columns: usize,
    theme: Theme,
    body: String,
    lines: Rc<[Line<'static>]>,
}

impl PlanPages {
    /// Renders the plan `body`, which is Markdown, into lines of at most `columns` columns. Returns the cached lines if
    /// the cache contains this plan with the same width and theme.
    pub fn get(&self, body: &str, columns: usize, theme: &Theme) -> Rc<[Line<'static>]> {
        let mut pages = self.0.borrow_mut();
        let is_it = |p: &PlanPage| p.columns == columns && p.theme == *theme && p.body == body;
        let page = match pages.iter().position(is_it).and_then(|at| pages.remove(at)) {
            Some(page) => page,
            None => PlanPage {
                columns,
                theme: *theme,
                body: body.to_string(),
                lines: lay_out(body, columns, theme),
            },
        };
        let lines = Rc::clone(&page.lines);
        pages.push_front(page);
        pages.truncate(PAGES_MAX);
        lines
    }
}

fn lay_out(body: &str, columns: usize, theme: &Theme) -> Rc<[Line<'static>]> {
    let rows = markdown::rows(body, columns, theme, &mut 0).into_iter();
    rows.map(|row| Line::from(row.spans)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::theme::ThemeName;
    use crate::ui::ColorDepth;

    fn words(lines: &[Line<'static>]) -> Vec<String> {
        lines
            .iter()
            .map(|l| l.to_string().trim_end().to_string())
            .collect()
    }

    #[test]
    fn plan_is_rendered_without_markdown_syntax() {
        let page = PlanPages::default().get(
            "# Plan\n\nThe **lexer** first.\n\n- `a.rs`\n- b",
            20,
            &Theme::default(),
        );
        let shown = words(&page).join("\n");
        assert!(shown.contains("The lexer first."), "{shown}");
        assert!(!shown.contains("**") && !shown.contains('`'), "{shown}");
    }

    #[test]
    fn pages_are_cached_up_to_the_limit() {
        let pages = PlanPages::default();
        let theme = Theme::default();
        let first = pages.get("a **b**", 40, &theme);
        assert!(Rc::ptr_eq(&first, &pages.get("a **b**", 40, &theme)));
        let light = Theme::new(ThemeName::Light, ColorDepth::True);
        for other in [
            pages.get("a **c**", 40, &theme),
            pages.get("a **b**", 41, &theme),
            pages.get("a **b**", 40, &light),
        ] {
            assert!(!Rc::ptr_eq(&first, &other));
        }
        assert!(Rc::ptr_eq(&first, &pages.get("a **b**", 40, &theme)));
        for columns in 1..=PAGES_MAX {
            pages.get("a **b**", columns, &theme);
        }
        assert_eq!(pages.0.borrow().len(), PAGES_MAX);
        assert!(!Rc::ptr_eq(&first, &pages.get("a **b**", 40, &theme)));
    }
}
