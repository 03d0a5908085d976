//! Brings up the loopback interface of a new network namespace.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use socket2::{Domain, Protocol, Socket, Type};

/// The number of the socket family `AF_NETLINK`, and of its protocol `NETLINK_ROUTE`.
const NETLINK: (i32, i32) = (16, 0);
/// Fields of a netlink message as (value, length in bytes): `RTM_NEWLINK` with `NLM_F_REQUEST` and `NLM_F_ACK`, then an
/// `ifinfomsg` that sets `IFF_UP` on interface 1, the loopback of every namespace.
const LINK_UP_MESSAGE: &[(u32, usize)] = &[
    (32, 4),
    (16, 2),
    (5, 2),
    (1, 4),
    (0, 4),
    (0, 4),
    (1, 4),
    (1, 4),
    (1, 4),
];

/// Brings up the loopback interface of this process's network namespace.
///
/// # Errors
/// Fails if the kernel rejects a socket operation or the netlink message.
pub fn raise_loopback() -> std::io::Result<()> {
    let socket = Socket::new(
        Domain::from(NETLINK.0),
        Type::RAW,
        Some(Protocol::from(NETLINK.1)),
    )?;
    let mut socket = File::from(OwnedFd::from(socket));
    let message: Vec<u8> = LINK_UP_MESSAGE
        .iter()
        .flat_map(|(value, length)| {
            let bytes = value.to_ne_bytes();
            let skip = if cfg!(target_endian = "big") {
                4 - length
            } else {
                0
            };
            bytes
                .into_iter()
                .skip(skip)
                .take(*length)
                .collect::<Vec<u8>>()
        })
        .collect();
    socket.write_all(&message)?;
    let mut answer = [0; 512];
    let length = socket.read(&mut answer)?;
    // After the 16-byte header: 0, or a negated errno.
    let error = answer.get(16..20).filter(|_| length >= 20);
    match error
        .and_then(|bytes| bytes.try_into().ok())
        .map(i32::from_ne_bytes)
    {
        Some(0) => Ok(()),
        Some(error) => Err(std::io::Error::from_raw_os_error(-error)),
        None => Err(std::io::Error::other("the kernel sent no netlink response")),
    }
}
