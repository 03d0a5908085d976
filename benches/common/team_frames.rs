//! Compares frame times of the Team pane: 1,000 agents on 50 hosts, and 50 agents on as many hosts as the floor, which
//! also fills the screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crewdeck::domain::host::{HostInfo, HostKind, HostName, HostPresence, HostState};
use crewdeck::domain::ids::Name;
use crewdeck::domain::team::{Activity, Member, MemberStatus, Team};
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::protocol::{AgentEvent, Event, EventKind, TeamEvent};
use crewdeck::ui::{Msg, Theme, UiState, ViewCache, draw, keys, update};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::common::{SIZE, report};

const HOSTS: usize = 50;
/// Number of agents on each host of the two teams.
const AGENTS_PER_HOST: [usize; 2] = [1, 20];
/// Frames per measurement.
const FRAMES: u32 = 60;
/// Number of measurements of each team; the two teams take turns. The fastest one counts, because other load on the
/// machine only makes a measurement slower.
const TURNS: usize = 15;
/// Maximum frame time of the large team, as a multiple of that of the small one.
const GOAL: f64 = 3.0;
const NOW: Timestamp = Timestamp(1_700_000_000.0);

/// A situation in which frame times are measured.
struct Case {
    name: &'static str,
    /// Keys to press before the measurement.
    before: &'static [&'static str],
    /// Called before each frame with the number of the frame in its measurement, from 0.
    each: fn(&mut TeamScreen, u32),
}

const CASES: &[Case] = &[
    Case {
        name: "hosts collapsed",
        before: &["esc", "4"],
        each: |_, _| {},
    },
    Case {
        name: "all agents listed",
        before: &["esc", "4", "/", "n", "enter"],
        each: |_, _| {},
    },
    Case {
        name: "all agents listed, to the end and back",
        before: &["esc", "4", "/", "n", "enter"],
        each: |screen, n| screen.key(if n % 2 == 0 { "G" } else { "g" }),
    },
    Case {
        name: "an agent changes its activity",
        before: &["esc", "4"],
        each: |screen, n| screen.change_activity(n),
    },
    Case {
        name: "a host reports",
        before: &["esc", "4"],
        each: |screen, n| screen.report_hosts(n),
    },
];

pub fn print() {
    for case in CASES {
        let mut screens = AGENTS_PER_HOST.map(|agents| {
            let mut screen = TeamScreen::new(agents);
            screen.draw();
            for key in case.before {
                screen.key(key);
            }
            screen.draw();
            screen
        });
        let mut best = [Duration::MAX; 2];
        for _ in 0..TURNS {
            for (screen, best) in screens.iter_mut().zip(&mut best) {
                let began = Instant::now();
                for n in 0..FRAMES {
                    (case.each)(screen, n);
                    screen.draw();
                }
                *best = (*best).min(began.elapsed() / FRAMES);
            }
        }
        let [few, many] = best.map(|time| time.as_secs_f64() * 1e6);
        let ratio = many / few;
        report(
            &format!("frame of the Team pane, {}", case.name),
            &format!(
                "{few:.0} µs with {} agents, {many:.0} µs with {}, ratio {ratio:.2}",
                HOSTS * AGENTS_PER_HOST[0],
                HOSTS * AGENTS_PER_HOST[1]
            ),
            &format!("ratio <= {GOAL:.0}"),
            ratio <= GOAL,
        );
    }
}

/// A dashboard of a crew on several hosts, drawn to an in-memory terminal.
struct TeamScreen {
    state: UiState,
    cache: ViewCache,
    theme: Theme,
    terminal: Terminal<TestBackend>,
    hosts: Vec<HostState>,
    seq: u64,
}

impl TeamScreen {
    fn new(agents_per_host: usize) -> TeamScreen {
        let (width, height) = SIZE;
        let mut screen = TeamScreen {
            state: UiState::new(width, height, TimeZone::UTC),
            cache: ViewCache::default(),
            theme: Theme::default(),
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
            hosts: (1..=HOSTS)
                .map(|host| worker(host, agents_per_host))
                .collect(),
            seq: 0,
        };
        let mut team = Team::default();
        for host in 1..=HOSTS {
            for agent in 1..=agents_per_host {
                let mut member = Member::new(agent_name(host, agent), "decoder");
                member.host = host_name(host);
                member.status = MemberStatus::Working;
                team.members.push(member);
            }
        }
        let agents: Vec<Name> = team.members.iter().map(|m| m.name.clone()).collect();
        let team = Arc::new(team);
        screen.apply(EventKind::Team(TeamEvent::RosterChanged { team }));
        screen.report_hosts(0);
        for agent in agents {
            let activity = Activity::Thinking;
            screen.apply(AgentEvent::ActivityChanged { activity }.of(agent));
        }
        screen
    }

    fn apply(&mut self, kind: EventKind) {
        self.seq += 1;
        let (seq, at) = (self.seq, NOW);
        update(&mut self.state, Msg::Event(Event { seq, at, kind }));
    }

    fn change_activity(&mut self, n: u32) {
        let activity = Activity::Tool {
            tool: "bash".into(),
            on: format!("cargo test part-{n}"),
        };
        self.apply(AgentEvent::ActivityChanged { activity }.of(agent_name(1, 1)));
    }

    fn report_hosts(&mut self, n: u32) {
        if let Some(host) = self.hosts.first_mut() {
            host.seen_at = Timestamp(NOW.0 + f64::from(n));
        }
        let hosts = self.hosts.clone();
        self.apply(EventKind::Team(TeamEvent::HostsChanged { hosts }));
    }

    fn key(&mut self, key: &str) {
        let key = keys::parse(key).unwrap();
        update(&mut self.state, Msg::Key(key, NOW));
    }

    fn draw(&mut self) {
        let (state, cache, theme) = (&self.state, &mut self.cache, &self.theme);
        self.terminal
            .draw(|frame| draw(state, cache, theme, frame))
            .unwrap();
    }
}

fn host_name(host: usize) -> String {
    format!("node-{host:02}")
}

fn agent_name(host: usize, agent: usize) -> Name {
    Name::member(&format!("n{host:02}-{agent:02}")).unwrap()
}

fn worker(host: usize, slots: usize) -> HostState {
    HostState {
        info: HostInfo {
            name: HostName::parse(&host_name(host)).unwrap(),
            kind: HostKind::Worker,
            slots: u16::try_from(slots).unwrap(),
            tags: vec!["gpu".into()],
            version: "1.0.0".into(),
            cores: 16,
            load: 4.25,
            is_draining: false,
            started_at: NOW,
        },
        session: format!("session-{host}"),
        presence: HostPresence::Present,
        seen_at: NOW,
    }
}
