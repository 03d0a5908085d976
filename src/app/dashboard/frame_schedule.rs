//! Decides when the dashboard draws its next frame.

use tokio::time::Instant;

use super::super::frame_limiter::{FrameCause, FrameLimiter};

/// Collects the reasons for a frame until it may be drawn.
#[derive(Debug)]
pub struct FrameSchedule {
    /// Why the screen must be drawn again; `None` if it is up to date.
    stale: Option<FrameCause>,
    limiter: FrameLimiter,
    opened: Instant,
}

impl FrameSchedule {
    /// Returns a schedule whose first frame is due at once.
    pub fn new() -> FrameSchedule {
        FrameSchedule {
            stale: Some(FrameCause::Key),
            limiter: FrameLimiter::default(),
            opened: Instant::now(),
        }
    }

    /// Asks for a frame. The cause with the highest priority since the last frame decides when it is due.
    pub fn request(&mut self, cause: FrameCause) {
        self.stale = self.stale.max(Some(cause));
    }

    /// Returns the time at which the next frame is due, which may be in the past; `None` if the screen is up to date.
    pub fn next(&self) -> Option<Instant> {
        let now = self.opened.elapsed();
        self.stale
            .map(|cause| self.opened + self.limiter.due(cause, now))
    }

    /// Records that a frame was drawn: nothing is stale any more, and the limiter counts the frame.
    pub fn drawn(&mut self) {
        self.stale = None;
        self.limiter.drawn(self.opened.elapsed());
    }
}
