//! Plans as pages: their Markdown in rows, kept so that a frame does not lay the same plan out again.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use ratatui::text::Line;

use crate::ui::theme::Theme;
use crate::ui::transcript::markdown;

/// Most pages that are kept: the card's and the one that is peeked at, each measured and drawn, and one to spare.
const PAGES_MAX: usize = 5;

/// The pages that were asked for last, at most [`PAGES_MAX`]. Their loss changes no pixel.
#[derive(Debug, Default)]
pub struct PlanPages(RefCell<VecDeque<Page>>);

#[derive(Debug)]
struct Page {
    columns: usize,
    theme: Theme,
    body: String,
    lines: Rc<[Line<'static>]>,
}

impl PlanPages {
    /// The plan `body` in lines of at most `columns`.
    pub fn get(&self, body: &str, columns: usize, theme: &Theme) -> Rc<[Line<'static>]> {
        let mut pages = self.0.borrow_mut();
        let is_it = |p: &Page| p.columns == columns && p.theme == *theme && p.body == body;
        let page = match pages.iter().position(is_it).and_then(|at| pages.remove(at)) {
            Some(page) => page,
            None => Page {
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
    fn a_plan_reads_without_its_signs() {
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
    fn a_page_is_laid_out_once_and_few_are_kept() {
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
