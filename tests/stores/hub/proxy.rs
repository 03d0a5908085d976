//! A TCP proxy in front of a server, which interrupts, delays and counts what goes through it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Maximum number of connections at the same time. More are closed at once.
const CONNECTIONS_MAX: usize = 64;
const CHUNK: usize = 64 * 1024;
/// Pause between two looks at a setting that stops the traffic.
const POLL: Duration = Duration::from_millis(5);
/// Maximum time that a read or write blocks before the settings are looked at again.
const BLOCKS_FOR: Duration = Duration::from_millis(50);
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// How long a lost packet stops one direction, as a retransmission of TCP does.
const RETRANSMITTED_AFTER: Duration = Duration::from_millis(300);

/// A direction of the traffic, as an index.
pub const TO_SERVER: usize = 0;
pub const TO_CLIENT: usize = 1;

pub struct Proxy {
    port: u16,
    link: Arc<ProxiedLink>,
    accepting: Option<JoinHandle<()>>,
}

/// The settings and counters that all connections of a proxy share. Pairs are by direction.
#[derive(Default)]
struct ProxiedLink {
    is_over: AtomicBool,
    /// Whether connections are refused.
    is_closed: AtomicBool,
    /// How often all connections were closed. A connection of an earlier count ends.
    resets: AtomicUsize,
    is_stalled: [AtomicBool; 2],
    /// Delay of each chunk, in milliseconds.
    delay: AtomicU64,
    /// One chunk in this number is delayed as if it were lost; 0 for none.
    loss_every: AtomicU64,
    chunks: AtomicU64,
    bytes: [AtomicU64; 2],
    connections: AtomicUsize,
}

impl ProxiedLink {
    fn has_ended(&self, resets: usize) -> bool {
        self.is_over.load(Ordering::SeqCst) || self.resets.load(Ordering::SeqCst) != resets
    }

    fn is_stalled(&self, way: usize) -> bool {
        self.is_stalled[way].load(Ordering::SeqCst)
    }

    fn delay_chunk(&self) {
        let delay = self.delay.load(Ordering::SeqCst);
        if delay > 0 {
            std::thread::sleep(Duration::from_millis(delay));
        }
        let number = self.chunks.fetch_add(1, Ordering::SeqCst) + 1;
        let every = self.loss_every.load(Ordering::SeqCst);
        if number.is_multiple_of(every) {
            std::thread::sleep(RETRANSMITTED_AFTER);
        }
    }
}

impl Proxy {
    /// Starts a proxy on a free port of loopback, in front of the port `target` of loopback.
    pub fn start(target: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        let link = Arc::<ProxiedLink>::default();
        let shared = Arc::clone(&link);
        let target = SocketAddr::from(([127, 0, 0, 1], target));
        let accepting = std::thread::spawn(move || accept(&listener, target, &shared));
        Proxy {
            port,
            link,
            accepting: Some(accepting),
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops forwarding in a direction. Connections stay open.
    pub fn stall(&self, way: usize) {
        self.link.is_stalled[way].store(true, Ordering::SeqCst);
    }

    /// Closes all connections and refuses new ones.
    pub fn close(&self) {
        self.link.is_closed.store(true, Ordering::SeqCst);
        self.link.resets.fetch_add(1, Ordering::SeqCst);
    }

    /// Delays each chunk by `delay`, and one in `loss_every` as a lost packet is.
    pub fn slow(&self, delay: Duration, loss_every: u64) {
        let delay = u64::try_from(delay.as_millis()).unwrap();
        self.link.delay.store(delay, Ordering::SeqCst);
        self.link.loss_every.store(loss_every, Ordering::SeqCst);
    }

    /// Forwards without delay again. What was stalled is delivered late, or is lost with its connections if `is_reset`.
    pub fn resume(&self, is_reset: bool) {
        if is_reset {
            self.link.resets.fetch_add(1, Ordering::SeqCst);
        }
        self.slow(Duration::ZERO, 0);
        self.link.is_closed.store(false, Ordering::SeqCst);
        for stalled in &self.link.is_stalled {
            stalled.store(false, Ordering::SeqCst);
        }
    }

    /// Returns the number of bytes that were forwarded so far, to the server and to the client.
    pub fn bytes(&self) -> [u64; 2] {
        [TO_SERVER, TO_CLIENT].map(|way| self.link.bytes[way].load(Ordering::SeqCst))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.link.is_over.store(true, Ordering::SeqCst);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, target: SocketAddr, link: &Arc<ProxiedLink>) {
    while !link.is_over.load(Ordering::SeqCst) {
        let Ok((client, _)) = listener.accept() else {
            std::thread::sleep(POLL);
            continue;
        };
        let is_refused = link.is_closed.load(Ordering::SeqCst)
            || link.connections.load(Ordering::SeqCst) >= CONNECTIONS_MAX;
        if is_refused || client.set_nonblocking(false).is_err() {
            continue;
        }
        let link = Arc::clone(link);
        link.connections.fetch_add(1, Ordering::SeqCst);
        std::thread::spawn(move || {
            serve(&client, target, &link);
            link.connections.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

fn serve(client: &TcpStream, target: SocketAddr, link: &ProxiedLink) {
    let resets = link.resets.load(Ordering::SeqCst);
    while link.is_stalled(TO_SERVER) && link.is_stalled(TO_CLIENT) {
        if link.has_ended(resets) {
            return;
        }
        std::thread::sleep(POLL);
    }
    let Ok(server) = TcpStream::connect_timeout(&target, CONNECT_WITHIN) else {
        return;
    };
    for stream in [client, &server] {
        let prepared = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(BLOCKS_FOR)))
            .and_then(|()| stream.set_write_timeout(Some(BLOCKS_FOR)));
        if prepared.is_err() {
            return;
        }
    }
    let is_open = AtomicBool::new(true);
    let goes_on = || is_open.load(Ordering::SeqCst) && !link.has_ended(resets);
    let forward = |from: &TcpStream, to: &TcpStream, way: usize| {
        copy(from, to, way, link, &goes_on);
        is_open.store(false, Ordering::SeqCst);
        for stream in [from, to] {
            let _ = stream.shutdown(Shutdown::Both);
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(|| forward(client, &server, TO_SERVER));
        forward(&server, client, TO_CLIENT);
    });
}

fn is_temporary(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Forwards one direction until one side ends or `goes_on` returns false.
fn copy(
    mut from: &TcpStream,
    mut to: &TcpStream,
    way: usize,
    link: &ProxiedLink,
    goes_on: &dyn Fn() -> bool,
) {
    let mut buffer = vec![0; CHUNK];
    while goes_on() {
        if link.is_stalled(way) {
            std::thread::sleep(POLL);
            continue;
        }
        let count = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if is_temporary(&error) => continue,
            Err(_) => return,
        };
        link.delay_chunk();
        let mut left = &buffer[..count];
        while !left.is_empty() {
            if !goes_on() {
                return;
            }
            if link.is_stalled(way) {
                std::thread::sleep(POLL);
                continue;
            }
            match to.write(left) {
                Ok(0) => return,
                Ok(written) => {
                    link.bytes[way].fetch_add(written as u64, Ordering::SeqCst);
                    left = &left[written..];
                }
                Err(error) if is_temporary(&error) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &mut TcpStream) -> Option<u8> {
        let mut byte = [0];
        matches!(stream.read(&mut byte), Ok(1)).then_some(byte[0])
    }

    #[test]
    fn proxy_stalls_each_direction_and_delivers_late() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::start(server.local_addr().unwrap().port());
        let mut client = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        let (mut served, _) = server.accept().unwrap();
        for stream in [&client, &served] {
            let within = Some(Duration::from_millis(200));
            stream.set_read_timeout(within).unwrap();
        }
        client.write_all(b"a").unwrap();
        assert_eq!(read(&mut served), Some(b'a'));
        proxy.stall(TO_SERVER);
        std::thread::sleep(BLOCKS_FOR * 2);
        client.write_all(b"b").unwrap();
        served.write_all(b"c").unwrap();
        assert_eq!(read(&mut client), Some(b'c'));
        assert_eq!(read(&mut served), None);
        proxy.resume(false);
        served
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        assert_eq!(read(&mut served), Some(b'b'));
        // A byte is counted after it was delivered.
        let began = std::time::Instant::now();
        while proxy.bytes() != [2, 1] {
            assert!(
                began.elapsed() < Duration::from_secs(5),
                "{:?}",
                proxy.bytes()
            );
            std::thread::yield_now();
        }
        proxy.close();
        client
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        assert_eq!(read(&mut client), None);
    }
}
