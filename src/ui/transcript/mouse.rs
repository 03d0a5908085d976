//! Mouse clicks in a transcript, which open or fold a tool call or a call group.

use crate::ui::transcript::Transcript;
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::scroll::Viewport;

impl Transcript {
    /// Selects the cell in row `row` of the view and opens or folds it, if it is a tool call or the header of a call
    /// group. Does nothing for other cells. Row 0 is the first visible one.
    pub fn toggle_at(&mut self, row: usize, viewport: Viewport) {
        let mut found = None;
        self.with_layouts(viewport, |place, log, layouts, rows| {
            let Some(top) = place.top(log, layouts, rows) else {
                return;
            };
            let mut left = row + top.line;
            let mut next = Some(top.at);
            while let Some(at) = next {
                next = log.next_shown(at);
                let height = layouts.get(log, at).len();
                if left < height {
                    found = Some(at);
                    return;
                }
                left -= height;
            }
        });
        let Some(at) = found else { return };
        if matches!(
            self.log.cell(at).kind,
            CellKind::Tool(_) | CellKind::CallGroup(_)
        ) {
            self.log.selected = Some(self.log.number(at));
            self.toggle_selected();
            self.reveal_selected(viewport);
        }
    }
}
