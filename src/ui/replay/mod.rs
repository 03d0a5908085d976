//! A recorded session that is played: where it stands, how fast it goes, what happens next. Pure.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::domain::stamp::Stamp;
use crate::protocol::Event;

/// Most events of a recording that are played; of a longer one, the newest.
pub const EVENTS_MAX: usize = 200_000;
/// Longest pause between two events, as it is played: nobody wants to watch a night go by.
pub const GAP_MAX: Duration = Duration::from_secs(3);
/// How far one jump goes.
pub const JUMP: Duration = Duration::from_secs(10);
/// The slowest and the fastest that a recording is played.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=1000.0;

/// Whether time goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// It does.
    Playing,
    /// It stands still.
    Paused,
}

/// A recording and the place in it. Times are those of the recording with its long pauses cut to [`GAP_MAX`].
#[derive(Debug)]
pub struct Player {
    events: Vec<Event>,
    /// When each event happens, counted from the first one.
    times: Vec<Duration>,
    /// How many have happened.
    happened: usize,
    /// The time that is shown.
    time: Duration,
    speed: f64,
    motion: Motion,
    /// The clock on the wall at the last look.
    looked: Option<Stamp>,
}

impl Player {
    /// A recording at its beginning, playing.
    pub fn new(mut events: Vec<Event>, speed: f64) -> Player {
        let surplus = events.len().saturating_sub(EVENTS_MAX);
        events.drain(..surplus);
        let mut time = Duration::ZERO;
        let mut before = events.first().map_or(Stamp::default(), |e| e.at);
        let mut times = Vec::with_capacity(events.len());
        for event in &events {
            time += event.at.since(before).min(GAP_MAX);
            before = event.at;
            times.push(time);
        }
        Player {
            events,
            times,
            happened: 0,
            time: Duration::ZERO,
            speed: bounded(speed),
            motion: Motion::Playing,
            looked: None,
        }
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// How many events have happened.
    pub fn happened(&self) -> usize {
        self.happened
    }

    /// The time that is shown.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// How long all of it takes at speed 1.
    pub fn length(&self) -> Duration {
        self.times.last().copied().unwrap_or_default()
    }

    /// How many times faster than recorded it is played.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Whether time goes by. At the end it stands still.
    pub fn motion(&self) -> Motion {
        if self.happened == self.events.len() {
            Motion::Paused
        } else {
            self.motion
        }
    }

    /// The events that have happened, the oldest first.
    pub fn past(&self) -> &[Event] {
        self.events.get(..self.happened).unwrap_or_default()
    }

    /// The time of the clock in the recording.
    pub fn clock(&self) -> Stamp {
        let at = self.happened.saturating_sub(1);
        match (self.events.get(at), self.times.get(at)) {
            (Some(event), Some(time)) => event.at.after(self.time.saturating_sub(*time)),
            _ => Stamp::default(),
        }
    }

    /// How long to wait for the next event; `None`: there is none, or time stands still.
    pub fn next_in(&self) -> Option<Duration> {
        let next = self.times.get(self.happened)?;
        match self.motion {
            Motion::Paused => None,
            Motion::Playing => Some(next.saturating_sub(self.time).div_f64(self.speed)),
        }
    }

    /// Lets the time up to `now`, of the clock on the wall, go by; the events that have happened meanwhile come back.
    pub fn go(&mut self, now: Stamp) -> &[Event] {
        let before = self.happened;
        let passed = self.looked.map_or(Duration::ZERO, |at| now.since(at));
        self.looked = Some(now);
        if self.motion() == Motion::Playing {
            let to = self.time + passed.mul_f64(self.speed);
            self.stand_at(to);
        }
        self.events.get(before..self.happened).unwrap_or_default()
    }

    /// Plays, or stands still; at the end it begins again.
    pub fn pause_or_play(&mut self) -> Seek {
        if self.happened == self.events.len() && !self.is_empty() {
            self.motion = Motion::Playing;
            return self.seek(Duration::ZERO);
        }
        self.motion = match self.motion {
            Motion::Playing => Motion::Paused,
            Motion::Paused => Motion::Playing,
        };
        Seek::On(0)
    }

    /// One event on, and stands still there.
    pub fn step(&mut self) -> Seek {
        self.motion = Motion::Paused;
        self.happen(self.happened + 1)
    }

    /// One event back, and stands still there.
    pub fn step_back(&mut self) -> Seek {
        self.motion = Motion::Paused;
        self.happen(self.happened.saturating_sub(1))
    }

    /// [`JUMP`] on.
    pub fn jump(&mut self) -> Seek {
        self.seek(self.time + JUMP)
    }

    /// [`JUMP`] back.
    pub fn jump_back(&mut self) -> Seek {
        self.seek(self.time.saturating_sub(JUMP))
    }

    /// To the place at `share` of the whole, from 0 to 1.
    pub fn seek_share(&mut self, share: f64) -> Seek {
        self.seek(self.length().mul_f64(share.clamp(0.0, 1.0)))
    }

    /// Twice as fast.
    pub fn faster(&mut self) {
        self.speed = bounded(self.speed * 2.0);
    }

    /// Half as fast.
    pub fn slower(&mut self) {
        self.speed = bounded(self.speed / 2.0);
    }

    fn seek(&mut self, time: Duration) -> Seek {
        let before = self.happened;
        self.stand_at(time);
        Seek::between(before, self.happened)
    }

    fn stand_at(&mut self, time: Duration) {
        self.time = time.min(self.length());
        self.happened = self.times.partition_point(|t| *t <= self.time);
    }

    fn happen(&mut self, count: usize) -> Seek {
        let before = self.happened;
        self.happened = count.min(self.events.len());
        let last = self.happened.checked_sub(1);
        let time = last.and_then(|at| self.times.get(at)).copied();
        self.time = time.unwrap_or_default();
        Seek::between(before, self.happened)
    }
}

/// What a move in the recording means for a screen that shows the events before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    /// So many of the newest events of [`Player::past`] are to be told.
    On(usize),
    /// The past is another: all of it is to be told anew.
    Back,
}

impl Seek {
    fn between(before: usize, after: usize) -> Seek {
        match after.checked_sub(before) {
            Some(more) => Seek::On(more),
            None => Seek::Back,
        }
    }
}

fn bounded(speed: f64) -> f64 {
    speed.clamp(*SPEEDS.start(), *SPEEDS.end())
}
