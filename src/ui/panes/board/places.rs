//! The layout of the board pane: filter, graph or list, details line, scrollbar. Pure.

use crate::ui::model::CrewModel;
use ratatui::layout::Rect;

use crate::domain::ids::TaskId;
use crate::domain::screen::BoardShape;
use crate::ui::graph;
use crate::ui::model::board::{index, train};
use crate::ui::panes::board::filter::BoardQuery;
use crate::ui::panes::board::{BoardPane, DrawnGraph, GRAPH_MAX, ListReason, PANNED_FROM, Shown};
use crate::ui::widgets::list::first_row;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Minimum height of the board's content, in rows, to show a line below the graph that describes the selected task.
pub const ABOUT_FROM: u16 = 5;

/// Minimum height of the board's content, in rows, to show a line about the merge train.
const TRAIN_FROM: u16 = 4;

/// Width of the mark before the selected node of the graph, with the blank after it, in columns.
pub const MARK_WIDTH: u16 = 2;

#[derive(Debug, Clone, PartialEq)]
pub struct BoardPaneLayout {
    /// The filter input and, if the filter is invalid, a row for the error; `None` if no filter is set or being typed.
    pub filter: Option<Rect>,
    /// The row that describes the merge train that runs; `None` if none runs, and if the pane has too few rows.
    pub train: Option<Rect>,
    /// The area of the graph or the list.
    pub body: Rect,
    /// The line below a graph that describes the selected task. `None` for a list, and if the pane has too few rows.
    pub about: Option<Rect>,
    /// What is shown in `body`: the graph, or the list and the reason for it.
    pub shown: Shown,
}

impl BoardPane {
    /// Computes the layout for `area`, the area inside the pane's frame.
    pub fn layout(&self, model: &CrewModel, area: Rect) -> BoardPaneLayout {
        let wanted_rows = if self.filter.is_set() {
            let query = BoardQuery::new(self.filter.text());
            1 + u16::from(!query.errors().is_empty())
        } else {
            0
        };
        let filter_rows = wanted_rows.min(area.height);
        let filter = (filter_rows > 0).then_some(Rect {
            height: filter_rows,
            ..area
        });
        let below = Rect {
            y: area.y + filter_rows,
            height: area.height - filter_rows,
            ..area
        };
        let has_train = train::is_running(model) && below.height >= TRAIN_FROM;
        let train = has_train.then_some(Rect { height: 1, ..below });
        let train_rows = u16::from(has_train);
        let body = Rect {
            y: below.y + train_rows,
            height: below.height - train_rows,
            ..below
        };
        let about_rows = u16::from(body.height >= ABOUT_FROM);
        let drawn = Rect {
            // The columns before the nodes of the first layer are for the selection mark. The last column is blank, as
            // in a list.
            x: body.x + body.width.min(MARK_WIDTH),
            width: body.width.saturating_sub(MARK_WIDTH + 1),
            height: body.height - about_rows,
            ..body
        };
        let shown = self.choose_view(model, drawn);
        match shown {
            Shown::List(_) => BoardPaneLayout {
                filter,
                train,
                body,
                about: None,
                shown,
            },
            Shown::Graph(_) => BoardPaneLayout {
                filter,
                train,
                body: drawn,
                about: (about_rows > 0).then_some(Rect {
                    y: drawn.bottom(),
                    height: 1,
                    ..body
                }),
                shown,
            },
        }
    }

    fn choose_view(&self, model: &CrewModel, room: Rect) -> Shown {
        if self.filter.is_set() {
            return Shown::List(ListReason::Filtered);
        }
        let count = model.board.len();
        if self.shape == BoardShape::List || count == 0 {
            return Shown::List(ListReason::Asked);
        }
        if count > GRAPH_MAX {
            return Shown::List(ListReason::Many(count));
        }
        let (columns, rows) = (usize::from(room.width), usize::from(room.height));
        // A graph may be up to twice as high as the pane, so that at least half of the graph is visible and scrolling
        // is easy to follow.
        let highest = rows * 2;
        // In a narrow pane, a list is more useful than a graph that needs horizontal scrolling.
        let widest = if columns < PANNED_FROM {
            columns
        } else {
            columns * 3 / 2
        };
        if self.shape == BoardShape::Fitting {
            // Checked before drawing, because drawing a graph that cannot fit is expensive.
            let (steps, least) = index(model).extent();
            if least > highest {
                return Shown::List(ListReason::Many(count));
            }
            let narrowest = self.camera.zoom.narrowest();
            if steps * narrowest > widest + narrowest {
                return Shown::List(ListReason::Deep(steps));
            }
        }
        let Some(DrawnGraph {
            drawing,
            is_readable,
        }) = self.graph_drawing(model, room)
        else {
            return Shown::List(ListReason::Tangled);
        };
        match self.shape {
            BoardShape::Fitting if drawing.height > highest => Shown::List(ListReason::Many(count)),
            BoardShape::Fitting if drawing.width > widest => {
                Shown::List(ListReason::Deep(drawing.layers))
            }
            BoardShape::Fitting if !is_readable => Shown::List(ListReason::Narrow),
            BoardShape::Fitting | BoardShape::Graph | BoardShape::List => Shown::Graph(drawing),
        }
    }

    /// Returns each visible node of the graph, or each visible row of the list: its area on the screen and its task.
    pub fn in_view(&self, model: &CrewModel, places: &BoardPaneLayout) -> Vec<(Rect, TaskId)> {
        let body = places.body;
        let index = index(model);
        let Some((selected_row, selected)) = self.selected_row(model) else {
            return Vec::new();
        };
        let Shown::Graph(drawing) = &places.shown else {
            let rows = self.rows(model);
            let first = first_row(rows.len(), selected_row, body.height);
            let listed = (first..rows.len()).zip(body.rows());
            let task = |(row, at)| Some((at, index.id(rows.get(row)?.task)?));
            return listed.filter_map(task).collect();
        };
        let Some(node) = index.place(selected) else {
            return Vec::new();
        };
        let (left, top) = self.camera.window(drawing, node, body);
        let nodes = drawing.nodes.iter().enumerate();
        let cells = |(at, node): (usize, &graph::Node)| {
            let (x, width) = clip_span((node.x, node.width), left, (body.x, body.width))?;
            let (y, height) = clip_span((node.y, node.height), top, (body.y, body.height))?;
            Some((Rect::new(x, y, width, height), index.id(at)?))
        };
        nodes.filter_map(cells).collect()
    }

    /// Returns the pane's vertical scrollbar, on the right edge of the pane's frame `area`. `None` if all content is
    /// visible.
    pub fn bar(
        &self,
        model: &CrewModel,
        places: &BoardPaneLayout,
        area: Rect,
    ) -> Option<Scrollbar> {
        let body = places.body;
        let (at, id) = self.selected_row(model)?;
        match &places.shown {
            Shown::List(_) => {
                let len = self.rows(model).len();
                Scrollbar::of_list(area, body, first_row(len, at, body.height), len)
            }
            Shown::Graph(drawing) => {
                let node = index(model).place(id).unwrap_or_default();
                let (_, top) = self.camera.window(drawing, node, body);
                Scrollbar::of_list(area, body, top, drawing.height)
            }
        }
    }
}

/// Clips a span of cells to the visible part of the content. The span starts at position `at` of the content and is
/// `length` cells long. The visible part starts at position `first` of the content; `place` is its start and length on
/// the screen. Returns the start and length of the clipped span on the screen, or `None` if the span is not visible.
fn clip_span((at, length): (usize, usize), first: usize, place: (u16, u16)) -> Option<(u16, u16)> {
    let from = at.max(first);
    let to = (at + length).min(first + usize::from(place.1));
    let count = to.checked_sub(from).filter(|count| *count > 0)?;
    let start = u16::try_from(from - first).ok()?;
    Some((place.0 + start, u16::try_from(count).ok()?))
}
