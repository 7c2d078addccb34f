//! Both sides of the handshake, at each step, against a peer that does not know the key.
#![no_main]

use bcl_node::JobKey;
use bcl_node::handshake::{Client, Nonce, Purpose, Server};
use bcl_types::Address;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (step, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let key = JobKey::of_user(0);
    let client: Address = "10.0.0.1:1024".parse().expect("an address");
    let server: Address = "10.0.0.1:7".parse().expect("an address");
    let (mut caller, hello) = Client::start(&key, Purpose::Connect, client, server, Nonce([1; 16]));
    let answer = |bytes: &[u8]| Server::on_hello(&key, server, Nonce([2; 16]), bytes);
    match step % 4 {
        0 => {
            let _ = Purpose::of_hello(bytes);
            // Anybody may say hello; nothing follows from it but a challenge.
            if let Ok((mut server, _)) = answer(bytes) {
                assert!(server.on_prove(bytes).is_err());
            }
        }
        1 => assert!(caller.on_challenge(bytes).is_err()),
        2 => {
            let (mut server, _) = answer(&hello).expect("our own hello");
            assert!(server.on_prove(bytes).is_err());
        }
        _ => {
            let (_, challenge) = answer(&hello).expect("our own hello");
            caller
                .on_challenge(&challenge)
                .expect("our own challenge")
                .prove(b"");
            assert!(caller.on_welcome(bytes).is_err());
        }
    }
});
