//! One-way time of a small message: half a round trip, both ends spinning, median.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Instant;

use bcl_udp::{Buffers, Datagram, Socket};

use crate::{Place, pin};

const ROUNDS: usize = 100_000;

/// The floor: connected sockets, `send`, and `recv` until something comes.
pub fn bare(here: &Place, there: &Place, bytes: usize) -> f64 {
    let (near, far) = (plain(here), plain(there));
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    let echo = thread::spawn(move || {
        pin(1);
        let mut buffer = [0; 2048];
        for _ in 0..ROUNDS {
            spin(|| far.recv(&mut buffer).ok());
            far.send(&buffer[..bytes]).unwrap();
        }
    });
    pin(0);
    let mut buffer = [0; 2048];
    let time = median(|| {
        near.send(&buffer[..bytes]).unwrap();
        spin(|| near.recv(&mut buffer).ok());
    });
    echo.join().unwrap();
    time
}

/// The same through [`Socket`], with a header and without a connection.
pub fn ours(here: &Place, there: &Place) -> f64 {
    let (mut near, mut far) = (here.bind(), there.bind());
    let to = far.local_address();
    let echo = thread::spawn(move || {
        pin(1);
        let mut buffers = Buffers::new();
        for _ in 0..ROUNDS {
            let from = take(&mut far, &mut buffers);
            put(&mut far, from);
        }
    });
    pin(0);
    let mut buffers = Buffers::new();
    let time = median(|| {
        put(&mut near, to);
        take(&mut near, &mut buffers);
    });
    echo.join().unwrap();
    time
}

fn plain(place: &Place) -> UdpSocket {
    let address = (place.address, 0);
    let socket = place.host.within(|| UdpSocket::bind(address).unwrap());
    socket.set_nonblocking(true).unwrap();
    socket
}

fn put(socket: &mut Socket, to: SocketAddr) {
    let message = Datagram {
        header: [1; 64],
        payload: [&[2; 8], &[]],
    };
    socket.send(to, &[message]).unwrap();
}

fn take(socket: &mut Socket, buffers: &mut Buffers) -> SocketAddr {
    spin(|| {
        let received = socket.receive(buffers).unwrap()?;
        let from = received.from();
        assert_eq!(received.map(|datagram| datagram.len()).sum::<usize>(), 72);
        Some(from)
    })
}

fn spin<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = attempt() {
            return found;
        }
    }
}

/// Half of the median time of `round`, in ns.
fn median(mut round: impl FnMut()) -> f64 {
    let mut times: Vec<u64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            round();
            start.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2] as f64 / 2.0
}
