//! The owner of a connection within this machine. Linux lists every socket with the user who made it.

use std::net::SocketAddr;

/// Whether the other end of a connection within this machine belongs to the user of this process. `false` where the
/// system does not show.
pub(super) fn is_own(peer: SocketAddr, local: SocketAddr) -> bool {
    table::is_own(peer, local)
}

#[cfg(target_os = "linux")]
mod table {
    use std::fs::{self, File};
    use std::io::{BufRead, BufReader};
    use std::net::{IpAddr, Ipv6Addr, SocketAddr};

    /// Tables of the sockets in this process's network.
    const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    /// State of a connected socket. One that its process has closed is listed too, as another user's.
    const ESTABLISHED: &str = "01";

    pub(super) fn is_own(peer: SocketAddr, local: SocketAddr) -> bool {
        let own = nix::unistd::Uid::effective().as_raw();
        // The system uses this one for every user that it cannot name.
        own != nobody_known() && of(peer, local) == Some(own)
    }

    fn nobody_known() -> u32 {
        let text = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
        text.trim().parse().unwrap_or(65_534)
    }

    /// The user whose socket has the address `of` and is connected to `with`.
    fn of(of: SocketAddr, with: SocketAddr) -> Option<u32> {
        TABLES.iter().find_map(|table| {
            let lines = BufReader::new(File::open(table).ok()?).lines();
            lines
                .map_while(Result::ok)
                .find_map(|line| owner(&line, of, with))
        })
    }

    /// The user of the socket in a line, if it is the one with these addresses.
    fn owner(line: &str, of: SocketAddr, with: SocketAddr) -> Option<u32> {
        let mut cells = line.split_ascii_whitespace().skip(1);
        let (own, other, state) = (cells.next()?, cells.next()?, cells.next()?);
        let is_this = state == ESTABLISHED
            && address(own)? == (of.ip().to_canonical(), of.port())
            && address(other)? == (with.ip().to_canonical(), with.port());
        // Queues, timers and retries come between.
        is_this.then(|| cells.nth(3)?.parse().ok()).flatten()
    }

    /// An address as the table has it: words of four bytes, each as a number of this machine, and the port.
    fn address(cell: &str) -> Option<(IpAddr, u16)> {
        let (words, port) = cell.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let mut bytes = Vec::new();
        for place in (0..words.len()).step_by(8) {
            let word = u32::from_str_radix(words.get(place..place + 8)?, 16).ok()?;
            bytes.extend(word.to_ne_bytes());
        }
        let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
            Ok(bytes) => IpAddr::from(bytes),
            Err(_) => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        };
        Some((ip.to_canonical(), port))
    }

    #[cfg(test)]
    mod tests {
        use std::net::{TcpListener, TcpStream};

        use super::*;

        #[cfg(target_endian = "little")]
        #[test]
        fn a_socket_is_found_by_both_its_addresses_however_they_are_written() {
            let line = |own: &str, other: &str, state: &str| {
                format!(
                    "   7: {own} {other} {state} 00000000:00000000 00:00000000 00000000  1234        0 99 1 0 20 4 30 10 -1"
                )
            };
            let parse = |address: &str| -> SocketAddr { address.parse().unwrap() };
            let (peer, local) = (parse("127.0.0.1:40000"), parse("127.0.0.1:8712"));
            let v4 = ("0100007F:9C40", "0100007F:2208");
            let mapped = (
                "0000000000000000FFFF00000100007F:9C40",
                "0000000000000000FFFF00000100007F:2208",
            );
            let v6 = (
                "00000000000000000000000001000000:9C40",
                "00000000000000000000000001000000:2208",
            );
            for (own, other) in [v4, mapped] {
                assert_eq!(owner(&line(own, other, "01"), peer, local), Some(1234));
                // The other end of the same connection is the viewer's own.
                assert_eq!(owner(&line(other, own, "01"), peer, local), None);
                // What its process has let go of is listed with the user 0.
                for state in ["02", "04", "05", "06", "08", "0A"] {
                    assert_eq!(owner(&line(own, other, state), peer, local), None);
                }
            }
            let (peer_v6, local_v6) = (parse("[::1]:40000"), parse("[::1]:8712"));
            assert_eq!(owner(&line(v6.0, v6.1, "01"), peer_v6, local_v6), Some(1234));
            assert_eq!(owner(&line(v6.0, v6.1, "01"), peer, local), None);
            let (peer_mapped, local_mapped) = (
                parse("[::ffff:127.0.0.1]:40000"),
                parse("[::ffff:127.0.0.1]:8712"),
            );
            assert_eq!(
                owner(&line(v4.0, v4.1, "01"), peer_mapped, local_mapped),
                Some(1234)
            );
            for other in ["127.0.0.1:40001", "127.0.0.2:40000"] {
                assert_eq!(owner(&line(v4.0, v4.1, "01"), parse(other), local), None);
            }
            for broken in [
                "",
                "  sl  local_address rem_address   st",
                "1: 0100007F:9C40",
                "1: é:1 é:2 01 a b c d",
            ] {
                assert_eq!(owner(broken, peer, local), None);
            }
        }

        #[test]
        fn a_connection_of_this_process_is_that_of_its_user_until_it_ends() {
            let own = nix::unistd::Uid::effective().as_raw();
            for address in ["127.0.0.1:0", "[::1]:0"] {
                // A machine may have no addresses of the sixth version.
                let Ok(listener) = TcpListener::bind(address) else {
                    assert_eq!(address, "[::1]:0");
                    continue;
                };
                let local = listener.local_addr().unwrap();
                let client = TcpStream::connect(local).unwrap();
                let peer = client.local_addr().unwrap();
                assert_eq!(of(peer, local), Some(own), "{address}");
                assert_eq!(super::super::is_own(peer, local), own != nobody_known());
                assert_eq!(of(local, SocketAddr::new(peer.ip(), 1)), None);
                drop(client);
                assert_eq!(of(peer, local), None);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod table {
    use std::net::SocketAddr;

    pub(super) fn is_own(_: SocketAddr, _: SocketAddr) -> bool {
        false
    }
}
