//! Mouse clicks in a transcript, which open or fold a tool call, a call group or a message.

use crate::ui::transcript::Transcript;
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::scroll::Viewport;

impl Transcript {
    /// Selects the cell in row `row` of the view, counted from 0 at the top, and opens or folds it. Does nothing unless
    /// the cell is a tool call, the header of a call group, or an inserted entry with a text, such as a message.
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
        let opens_at_click = match &self.log.cell(at).kind {
            CellKind::Tool(_) | CellKind::CallGroup(_) => true,
            CellKind::Injected(entry) => entry.is_foldable(),
            CellKind::Prompt(..) | CellKind::Answer(_) | CellKind::Notice(..) => false,
        };
        if opens_at_click {
            self.log.selected = Some(self.log.number(at));
            self.toggle_selected();
            self.reveal_selected(viewport);
        }
    }
}
