//! The tables of the cost panel: one with a row per agent and a total, one with a row per task. A narrow panel shows
//! fewer columns.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::domain::budget::{UsageBudget, WARN_AT};
use crate::domain::ids::Name;
use crate::domain::text::{count_noun, one_line};
use crate::ui::app::App;
use crate::ui::model::costs::Used;
use crate::ui::model::{CrewModel, style};
use crate::ui::popups::costs::accounts::{Account, Accounts};
use crate::ui::popups::costs::sort::CostSort;
use crate::ui::popups::costs::{CostLine, CostTarget, limits};
use crate::ui::text;
use crate::ui::text::{count, fit, fit_name, pad, width};
use crate::ui::theme::Theme;

/// Maximum number of tasks in the table of tasks. A line below the table says how many tasks are omitted.
const TASKS_SHOWN: usize = 100;
/// The width of the bar that shows the share in the total, in terminal columns.
const BAR: usize = 10;
/// Maximum width of the column with the names, in terminal columns.
const NAMES_MAX: usize = 28;
/// Minimum width of the column with the names, in terminal columns.
const NAMES_MIN: usize = 14;

/// A column to the right of the names: a number, or the bar that shows the share in the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Calls,
    Input,
    Read,
    Written,
    Cached,
    Output,
    Tokens,
    Cost,
    Budget,
    Share,
    Bar,
}

use Column::{Bar, Budget, Cached, Calls, Cost, Input, Output, Read, Share, Tokens, Written};

/// The sets of columns that a table can have, widest first. A table has the first set that fits.
const FORMS: [&[Column]; 5] = [
    &[
        Calls, Input, Read, Written, Output, Cost, Budget, Share, Bar,
    ],
    &[Calls, Input, Read, Written, Output, Cost, Budget, Share],
    &[Calls, Input, Cached, Output, Cost, Budget, Share],
    &[Input, Cached, Output, Cost, Budget, Share],
    &[Tokens, Cost, Budget, Share],
];

impl Column {
    fn head(self) -> &'static str {
        match self {
            Calls => "calls",
            Input => "input",
            Read => "cache read",
            Written => "cache write",
            Cached => "cache",
            Output => "output",
            Tokens => "tokens",
            Cost => "cost",
            Budget => "budget",
            Share => "share",
            Bar => "",
        }
    }

    /// Returns the width of the column in terminal columns, including the space before it.
    fn width(self) -> usize {
        match self {
            Calls => 6,
            Input | Cached | Tokens | Share => 8,
            // Two blanks are before the heading with its mark.
            Output | Budget => 9,
            Cost => 10,
            Read => 12,
            Written => 13,
            Bar => BAR + 2,
        }
    }

    fn cell(self, used: &Used, share: u64, budget: Option<u64>) -> String {
        let usage = &used.usage;
        match self {
            // Journals of older versions contain no number of calls, so the number is unknown.
            Calls if used.calls == 0 && usage.total() > 0 => "–".into(),
            Calls => used.calls.to_string(),
            Input => count(usage.input),
            Read => count(usage.cache_read),
            Written => count(usage.cache_write),
            Cached => count(usage.cache_read.saturating_add(usage.cache_write)),
            Output => count(usage.output),
            Tokens => count(usage.total()),
            Cost | Share if usage.total() == 0 => String::new(),
            Cost => used
                .cost
                .map_or_else(|| "no price".into(), |cost| cost.to_string()),
            Budget => budget.map_or_else(String::new, |share| format!("{share}%")),
            Share if share < 5 => "<1%".into(),
            Share => format!("{}%", (share + 5) / 10),
            Bar => bar(share),
        }
    }
}

/// Returns a bar for `share` thousandths. If the share is not 0, at least one cell of the bar is filled. The bar
/// consists of line characters, like the board's progress bar, because block characters would look wrong in the
/// highlighted row.
fn bar(share: u64) -> String {
    let cells = usize::try_from(share).unwrap_or(1000) * BAR;
    let full = (cells + 500) / 1000;
    let full = if share > 0 { full.max(1) } else { full };
    format!("{}{}", "━".repeat(full), "┄".repeat(BAR - full))
}

/// Returns the widest set of columns that fits beside the names in `columns` terminal columns. The column of costs is
/// omitted if no price is known, and the column of budgets if agents have no budget. If no set fits, returns the
/// columns of tokens and of the share.
fn form(model: &CrewModel, accounts: &Accounts, columns: usize) -> Vec<Column> {
    let has_budget = [UsageBudget::AgentTokens, UsageBudget::AgentCost]
        .iter()
        .any(|c| model.limits.budgets.limit(*c).is_some());
    let mut kept = FORMS.iter().map(|form| {
        let kept = form.iter().filter(|c| match c {
            Budget => has_budget,
            Cost => accounts.is_priced(),
            Calls | Input | Read | Written | Cached | Output | Tokens | Share | Bar => true,
        });
        kept.copied().collect::<Vec<_>>()
    });
    let fits = |form: &Vec<Column>| NAMES_MIN + columns_width(form) <= columns;
    kept.find(fits).unwrap_or_else(|| vec![Tokens, Share])
}

fn columns_width(form: &[Column]) -> usize {
    form.iter().map(|c| c.width()).sum()
}

/// Formats the columns of a row to the right of its name. `share` is the share in the total, in thousandths; `budget`
/// is how much of the agent's budget is used, in percent.
fn figures(
    form: &[Column],
    used: &Used,
    share: u64,
    budget: Option<u64>,
    style: Style,
    theme: &Theme,
) -> Vec<Span<'static>> {
    form.iter()
        .map(|column| {
            let cell = column.cell(used, share, budget);
            let blanks = column.width().saturating_sub(width(&cell));
            let style = match column {
                Bar => theme.working,
                Budget if budget.is_some_and(|c| c >= WARN_AT) => theme.warn,
                Cost if used.cost.is_none() => theme.dim,
                Budget | Cost | Calls | Input | Read | Written | Cached | Output | Tokens
                | Share => style,
            };
            Span::styled(format!("{}{cell}", " ".repeat(blanks)), style)
        })
        .collect()
}

/// Returns the row with the headings of the columns. The heading of the column by which the table is sorted has a mark.
fn heads(title: &str, names: usize, form: &[Column], sort: CostSort, theme: &Theme) -> CostLine {
    let mark = |is_here: bool| if is_here { "▾" } else { "" };
    let mut out = pad(&format!("  {}{title}", mark(sort == CostSort::Name)), names);
    for column in form {
        let is_here = match column {
            Calls => sort == CostSort::Calls,
            Output => sort == CostSort::Output,
            Share => sort == CostSort::Share,
            _ => false,
        };
        let head = format!("{}{}", mark(is_here), column.head());
        out.push_str(&" ".repeat(column.width().saturating_sub(width(&head))));
        out.push_str(&head);
    }
    CostLine::plain(vec![Span::styled(out, theme.dim)])
}

/// Returns the table of agents: headings, one row per agent, and the total.
pub fn agents(
    app: &App,
    accounts: &Accounts,
    sort: CostSort,
    columns: usize,
    theme: &Theme,
) -> Vec<CostLine> {
    let form = form(app, accounts, columns);
    let names = columns
        .saturating_sub(columns_width(&form))
        .min(names_max(accounts, app));
    let mut out = vec![heads("agent", names, &form, sort, theme)];
    for account in &accounts.all {
        let style = if account.is_gone {
            theme.dim
        } else {
            theme.text
        };
        let (shape, shape_style) = shape(app, account, theme);
        let mut spans = vec![Span::styled(shape, shape_style), Span::raw(" ")];
        spans.extend(name_and_model(
            app,
            account,
            names.saturating_sub(2),
            style,
            theme,
        ));
        let budget = [UsageBudget::AgentTokens, UsageBudget::AgentCost]
            .into_iter()
            .filter_map(|c| limits::of_agent(app, account, c))
            .max();
        let share = accounts.share(&account.used);
        spans.extend(figures(&form, &account.used, share, budget, style, theme));
        out.push(match &account.name {
            Some(name) => CostLine::about(CostTarget::Agent(name.clone()), spans),
            None => CostLine::plain(spans),
        });
    }
    let mut sum = vec![Span::styled(pad("  all", names), theme.title)];
    // The total is always 100%, so its row has no bar.
    let form: Vec<Column> = form.into_iter().filter(|c| *c != Bar).collect();
    sum.extend(figures(&form, &accounts.sum, 1000, None, theme.text, theme));
    out.push(CostLine::plain(sum));
    out
}

/// Returns the label of the model of an account's agent; empty if it is unknown.
fn model_label<'a>(model: &'a CrewModel, account: &Account) -> &'a str {
    let agent = account
        .name
        .as_ref()
        .and_then(|name| model.agents.get(name));
    agent.map_or("", |agent| agent.model.text())
}

/// Returns the maximum width of the column with the names, in columns. If any models are known, the column has
/// additional room for the longest model label.
fn names_max(accounts: &Accounts, model: &CrewModel) -> usize {
    let labels = accounts.all.iter().map(|a| width(model_label(model, a)));
    match labels.max().unwrap_or(0) {
        0 => NAMES_MAX,
        most => NAMES_MAX + 1 + most,
    }
}

/// Returns the name of an account and, as far as there is room in `columns` columns, the model of its agent.
fn name_and_model(
    app: &App,
    account: &Account,
    columns: usize,
    style: Style,
    theme: &Theme,
) -> [Span<'static>; 2] {
    let name = fit_name(&label(account), columns);
    let room = columns.saturating_sub(width(&name) + 1);
    let model = format!(" {}", fit(model_label(app, account), room));
    let model = pad(&model, columns.saturating_sub(width(&name)));
    [Span::styled(name, style), Span::styled(model, theme.dim)]
}

fn shape(app: &App, account: &Account, theme: &Theme) -> (&'static str, Style) {
    match &account.name {
        Some(name) => {
            let (shape, _, style) = style::activity(&app.activity(name), app.now, theme);
            (shape, style)
        }
        None => ("·", theme.dim),
    }
}

/// Returns the name of an agent, followed by the number of subagents whose usage is included; for the row of former
/// agents, their number.
fn label(account: &Account) -> String {
    let of = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    match (&account.name, account.others) {
        (None, n) => of(n, "earlier agent", "earlier agents"),
        (Some(name), 0) => name.to_string(),
        (Some(name), n) => format!("{name} and {}", of(n, "subagent", "subagents")),
    }
}

/// Returns the table of tasks: headings, one row per task with usage, and a row for usage outside tasks. Empty if no
/// task has usage.
pub fn tasks(
    model: &CrewModel,
    accounts: &Accounts,
    sort: CostSort,
    columns: usize,
    theme: &Theme,
) -> Vec<CostLine> {
    let mut rows = model.costs.by_cost();
    sort.sort_tasks(&mut rows);
    if rows.is_empty() {
        return Vec::new();
    }
    let form = [Calls, Tokens, Cost, Share]
        .into_iter()
        .filter(|c| match c {
            Calls => columns >= 70,
            Cost => accounts.is_priced(),
            Input | Read | Written | Cached | Output | Tokens | Budget | Share | Bar => true,
        });
    let form: Vec<Column> = form.collect();
    let names = columns.saturating_sub(columns_width(&form));
    let mut out = vec![heads("task", names, &form, sort, theme)];
    let mut rest = accounts.sum;
    for (_, used) in &rows {
        rest = rest.since(*used);
    }
    for (id, used) in rows.iter().take(TASKS_SHOWN) {
        let share = accounts.share(used);
        let task = model.board.get(*id);
        let ((shape, style), words) = match task {
            Some(task) => {
                let by = Name::party(&task.owner).map_or_else(
                    |_| String::new(),
                    |n| format!("  @{}", text::display_name(n.as_str())),
                );
                let words = format!("{id} {}{by}", one_line(&task.subject));
                let (shape, _, style) = style::task(&model.board, task, theme);
                ((shape, style), words)
            }
            None => (("·", theme.dim), format!("{id} no longer on the board")),
        };
        let mut spans = vec![
            Span::styled(shape, style),
            Span::raw(" "),
            Span::styled(
                pad(
                    &fit(&words, names.saturating_sub(3)),
                    names.saturating_sub(2),
                ),
                theme.text,
            ),
        ];
        spans.extend(figures(&form, used, share, None, theme.text, theme));
        out.push(CostLine::about(CostTarget::Task(*id), spans));
    }
    let beyond = rows.len().saturating_sub(TASKS_SHOWN);
    if beyond > 0 {
        let words = format!("  … and {}", count_noun(beyond, "more task"));
        out.push(CostLine::plain(vec![Span::styled(words, theme.dim)]));
    }
    let share = accounts.share(&rest);
    let mut spans = vec![Span::styled(pad("  outside tasks", names), theme.dim)];
    spans.extend(figures(&form, &rest, share, None, theme.dim, theme));
    out.push(CostLine::plain(spans));
    out
}
