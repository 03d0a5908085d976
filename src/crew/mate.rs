//! A teammate's life: spawned, it works and rests by the idle machine until it leaves.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::lead::work;
use super::outfit::{Order, Outfit};
use super::{Shared, Standing};
use crate::agent::driver::{Control, blocking};
use crate::agent::idle::{Idle, Mail, Next, Person, Sight, Why};
use crate::agent::prompt;
use crate::agent::turn::{Input, Limits};
use crate::domain::chat::Block;
use crate::domain::graph::Claimer;
use crate::domain::ids::{LetterId, TaskId};
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::stamp::Stamp;
use crate::domain::team::{Activity, Member, MemberStatus, PlanRule};
use crate::protocol::event::{EventKind, Level, TurnEnd};
use crate::store::Which;
use crate::tools::Caller;
use crate::tools::policy::PlanGate;

/// Most calls of the model in one work phase; the reference's number.
const ROUNDS_MAX: u32 = 50;

/// Enters a member in the roster and starts it with its first prompt.
pub async fn start(shared: Arc<Shared>, member: Member, first: String) -> Result<(), String> {
    let (roster, entering) = (shared.roster.clone(), member.clone());
    let team = blocking(move || roster.enter(entering))
        .await
        .map_err(|e| e.to_string())?;
    let mates: Vec<String> = team
        .present()
        .filter(|m| !m.name.same(&member.name))
        .map(|m| format!("{} ({})", m.name, m.role))
        .collect();
    let system = |place: &prompt::Place| {
        prompt::mate(&member.name, &member.role, &team.team_name, &mates, place)
    };
    let outfit = shared.outfit(Order {
        name: member.name.clone(),
        caller: Caller::Teammate,
        limits: Limits {
            rounds: Some(ROUNDS_MAX),
            ..Limits::default()
        },
        identity: prompt::identity(&member.name, &member.role, &team.team_name),
        gate: match member.plan {
            PlanRule::Free => PlanGate::Open,
            PlanRule::Required => PlanGate::Closed,
        },
        tags: member.tags.clone(),
        system: &system,
    });
    shared.enroll(member.name.clone(), outfit.handle.clone());
    shared.read_team().await;
    let life = Life {
        shared: Arc::clone(&shared),
        idle: Idle::new(shared.idle_timeout),
        outfit,
        member,
        hold: Hold::No,
    };
    shared.tracker.spawn(life.live(first));
    Ok(())
}

/// Whether a teammate waits for mail although it has work: its model failed, or it was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    No,
    UntilMail,
}

/// What a turn was begun by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    Words,
    /// The wish to have the conversation summarised: no sign that the work is to go on.
    Compaction,
}

impl Begun {
    fn by(start: &Input) -> Begun {
        if matches!(start, Input::Compact { .. }) {
            Begun::Compaction
        } else {
            Begun::Words
        }
    }
}

impl Hold {
    /// Whether it waits for mail after a turn.
    fn after(self, begun: Begun, end: &TurnEnd) -> Hold {
        match (end, begun) {
            (TurnEnd::Interrupted | TurnEnd::Failed { .. }, _) => Hold::UntilMail,
            (TurnEnd::Done | TurnEnd::Stopped { .. }, Begun::Words) => Hold::No,
            (TurnEnd::Done | TurnEnd::Stopped { .. }, Begun::Compaction) => self,
        }
    }
}

struct Life {
    shared: Arc<Shared>,
    outfit: Outfit,
    member: Member,
    idle: Idle,
    hold: Hold,
}

impl Life {
    async fn live(mut self, first: String) {
        let mut changes = self.shared.changes.subscribe();
        let mut say = Some(Input::Say(vec![Block::text(first)]));
        loop {
            if let Some(start) = say.take()
                && self.work(start).await.is_none()
            {
                return;
            }
            changes.mark_unchanged();
            let sight = self.look().await;
            match self.idle.next(sight) {
                Next::Read => {
                    self.hold = Hold::No;
                    if !self.take_orders().await {
                        say = Some(Input::Say(Vec::new()));
                    }
                }
                Next::Resume(task) => say = Some(Input::Say(self.resume(task))),
                Next::Claim(task) => say = self.claim(task).await.map(Input::Say),
                Next::Stuck(task) => {
                    let why = format!("ended its turn twice with task {task} still open");
                    self.stuck(&why).await;
                    say = match self.rest(&mut changes, None).await {
                        Some(say) => say,
                        None => return,
                    };
                }
                Next::Rest(until) => {
                    say = match self.rest(&mut changes, until).await {
                        Some(say) => say,
                        None => return,
                    };
                }
                Next::Leave(why) => {
                    self.leave(why).await;
                    return;
                }
            }
        }
    }

    /// One turn. `None`: the crew stops.
    async fn work(&mut self, start: Input) -> Option<()> {
        self.shared
            .set_standing(&self.outfit.handle, Standing::Working);
        self.set_status(MemberStatus::Working).await;
        let begun = Begun::by(&start);
        let end = work(&self.shared, &mut self.outfit, start).await?;
        self.hold = self.hold.after(begun, &end);
        match end {
            TurnEnd::Done | TurnEnd::Interrupted => {}
            TurnEnd::Stopped { why } => {
                self.tell_lead(format!("{} stopped: {why}", self.member.name));
            }
            TurnEnd::Failed { error, .. } => {
                self.tell_lead(format!("{} can not go on: {error}", self.member.name));
            }
        }
        if self.outfit.driver.state.asked_to_go.is_some() {
            self.idle.ask_to_go();
        }
        Some(())
    }

    async fn look(&mut self) -> Sight {
        let name = self.member.name.clone();
        let heard = self.outfit.handle.desk.has_results();
        let mail = if heard || self.shared.has_mail(&name).await {
            Mail::Waiting
        } else {
            Mail::None
        };
        let board = self.shared.board.clone();
        let claimer = self.claimer();
        // As it was last seen: what changes meanwhile makes it look again.
        let seen = blocking(move || {
            board.ask(|graph| {
                let own = graph.open_task_of(&claimer.name).map(|t| t.id);
                (own, graph.claimable(&claimer).map(|t| t.id))
            })
        });
        let (own, claimable) = match seen.await {
            Ok(seen) => seen,
            Err(error) => {
                self.outfit
                    .driver
                    .trouble("The board can not be read", &error)
                    .await;
                (None, None)
            }
        };
        // What its background job comes to is what it waits for.
        let awaits = self.shared.jobs.is_running(Some(&name));
        let held = self.hold == Hold::UntilMail;
        Sight {
            mail,
            own: own.filter(|_| !held && !awaits),
            claimable: claimable.filter(|_| !held),
            person: if awaits || self.shared.has_open_request() {
                Person::Asked
            } else {
                Person::Free
            },
            now: self.shared.now(),
        }
    }

    fn claimer(&self) -> Claimer {
        Claimer {
            name: self.member.name.clone(),
            tags: self.member.tags.clone(),
        }
    }

    /// Letters that only say "go" need no model. True when there was nothing else to read.
    async fn take_orders(&mut self) -> bool {
        if self.outfit.driver.take_shutdown().await {
            self.idle.ask_to_go();
            return true;
        }
        false
    }

    fn resume(&self, task: TaskId) -> Vec<Block> {
        let graph = self.shared.graph();
        let subject = graph
            .get(task)
            .map(|t| t.subject.clone())
            .unwrap_or_default();
        vec![Block::text(prompt::resume(task.0, &subject))]
    }

    async fn claim(&mut self, task: TaskId) -> Option<Vec<Block>> {
        let (board, claimer, now) = (self.shared.board.clone(), self.claimer(), self.shared.now());
        // Somebody may have been faster, or changed the task: then look again.
        let claimed = blocking(move || board.claim(Some(task), &claimer, now))
            .await
            .ok()
            .flatten()?;
        let which = Which::These([task].into());
        self.shared.read_board(which).await;
        let agent = self.member.name.clone();
        let what = format!("claimed task {}: {}", claimed.id, claimed.subject);
        self.outfit
            .driver
            .publish(EventKind::Injected { agent, what })
            .await;
        let text = prompt::claimed(claimed.id.0, &claimed.subject, &claimed.description);
        Some(vec![Block::text(text)])
    }

    /// Rests until words come, something changes or `until`. Outer `None`: the crew stops.
    #[allow(clippy::option_option)] // stop / look again / words are three things
    async fn rest(
        &mut self,
        changes: &mut tokio::sync::watch::Receiver<u64>,
        until: Option<Stamp>,
    ) -> Option<Option<Input>> {
        self.set_status(MemberStatus::Idle).await;
        let standing = match self.hold {
            Hold::No => Standing::Resting,
            Hold::UntilMail => Standing::Held,
        };
        self.shared.set_standing(&self.outfit.handle, standing);
        let deadline = async {
            match until {
                Some(at) => tokio::time::sleep(at.since(self.shared.now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.shared.stop.cancelled() => None,
            control = self.outfit.control.recv() => match control {
                Some(Control::Say(blocks)) => Some(Some(Input::Say(blocks))),
                Some(Control::Compact(focus)) => Some(Some(Input::Compact { focus })),
                Some(Control::Interrupt) => Some(None),
                None => None,
            },
            changed = changes.changed() => changed.ok().map(|()| None),
            () = deadline => Some(None),
        }
    }

    async fn stuck(&self, why: &str) {
        self.outfit
            .driver
            .activity(Activity::Stuck { why: why.into() })
            .await;
        let agent = Some(self.member.name.clone());
        let text = format!(
            "{} is stuck: it {why}. Write to it with @{} .",
            self.member.name, self.member.name
        );
        self.outfit
            .driver
            .publish(EventKind::Notice {
                level: Level::Warn,
                agent,
                text,
            })
            .await;
        self.tell_lead(format!("{} is stuck: it {why}", self.member.name));
    }

    /// A line for the lead's next call, and a reason to wake it when everybody rests.
    fn tell_lead(&self, line: String) {
        if let Some(lead) = self.shared.handle(&crate::domain::ids::Name::lead()) {
            lead.desk.note(line);
            self.shared.news.fetch_add(1, Ordering::SeqCst);
        }
    }

    async fn leave(&mut self, why: Why) {
        let name = self.member.name.clone();
        if let Err(error) = self.shared.give_back(&name).await {
            self.outfit
                .driver
                .trouble("The task can not be given back", &error)
                .await;
        }
        let reason = match why {
            Why::Asked => "has shut down, as asked",
            Why::Rested => "has shut down: it had nothing to do",
        };
        if let (Why::Asked, Some(asked)) = (why, self.outfit.driver.state.asked_to_go.take()) {
            self.answer_shutdown(&asked).await;
        }
        self.set_status(MemberStatus::Shutdown).await;
        self.outfit.driver.activity(Activity::Gone).await;
        let agent = Some(name.clone());
        let text = format!("{name} {reason}.");
        self.shared
            .publish(EventKind::Notice {
                level: Level::Info,
                agent,
                text,
            })
            .await;
        if why == Why::Rested {
            self.tell_lead(format!("{name} {reason}"));
        }
        self.shared.end_jobs_of(&name);
        self.shared.dismiss(&name);
    }

    async fn answer_shutdown(&self, asked: &Letter) {
        let Ok(to) = crate::domain::ids::Name::party(&asked.from) else {
            return;
        };
        if to.is_user() {
            return;
        }
        let mut letter = Letter::new(
            LetterId((self.shared.new_id)()),
            LetterKind::ShutdownResponse,
            &self.member.name,
            &to,
            "I have finished and shut down.",
            self.shared.now(),
        );
        if let Some(id) = asked.request_id() {
            letter.extra.insert("request_id".into(), id.0.into());
        }
        letter.extra.insert("approve".into(), true.into());
        let post = self.shared.post.clone();
        if let Err(error) = blocking(move || post.send(&letter)).await {
            self.outfit
                .driver
                .trouble("The answer to a shutdown can not be written", &error)
                .await;
        }
    }

    async fn set_status(&mut self, status: MemberStatus) {
        if self.member.status == status {
            return;
        }
        self.member.status = status;
        let (roster, name, now) = (
            self.shared.roster.clone(),
            self.member.name.clone(),
            self.shared.now(),
        );
        if let Err(error) = blocking(move || roster.set_status(&name, status, now)).await {
            self.outfit
                .driver
                .trouble("The roster can not be written", &error)
                .await;
        }
        self.shared.read_team().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_teammate_still_waits_after_it_was_compacted() {
        let say = Begun::by(&Input::Say(vec![]));
        let focus = String::new();
        let compact = Begun::by(&Input::Compact { focus });
        let held = Hold::No.after(say, &TurnEnd::Interrupted);
        assert_eq!(held, Hold::UntilMail);
        assert_eq!(held.after(compact, &TurnEnd::Done), Hold::UntilMail);
        assert_eq!(held.after(say, &TurnEnd::Done), Hold::No);
        assert_eq!(Hold::No.after(compact, &TurnEnd::Done), Hold::No);
    }
}
