//! Both sides of the handshake against each other, and against a peer that errs or lies.

use bcl_node::JobKey;
use bcl_node::handshake::{
    Challenged, Client, Failure, MAX_MESSAGE_BYTES, MAX_OFFER_BYTES, Nonce, Proved, Purpose,
    Reason, Server, Side, refuse,
};
use bcl_types::Address;
use proptest::prelude::*;

const CLIENT_OFFER: &[u8] = b"what the client offers";
const SERVER_OFFER: &[u8] = b"what the server offers";

fn key(digit: &str) -> JobKey {
    JobKey::from_hex(&digit.repeat(64)).unwrap()
}

fn client_address() -> Address {
    "10.0.0.1:1024".parse().unwrap()
}

fn server_address() -> Address {
    "10.0.0.1:7".parse().unwrap()
}

fn start(key: &JobKey) -> (Client, Vec<u8>) {
    Client::start(
        key,
        Purpose::Connect,
        client_address(),
        server_address(),
        Nonce([1; 16]),
    )
}

fn answer(key: &JobKey, hello: &[u8]) -> Result<(Server, Vec<u8>), Failure> {
    Server::on_hello(key, server_address(), Nonce([2; 16]), hello)
}

/// What both sides have come to in the end.
#[derive(Debug, Default)]
struct Outcome {
    client: Option<Result<Vec<u8>, Failure>>,
    server: Option<Result<Proved, Failure>>,
}

/// A whole handshake. `meddle` may change each message on its way, which it gets by number.
fn run(meddle: impl Fn(usize, &mut Vec<u8>)) -> Outcome {
    let mut outcome = Outcome::default();
    let send = |number, mut message: Vec<u8>| {
        meddle(number, &mut message);
        message
    };
    let (mut client, hello) = start(&key("a"));
    let (mut server, challenge) = match answer(&key("a"), &send(0, hello)) {
        Ok(next) => next,
        Err(failure) => {
            return Outcome {
                server: Some(Err(failure)),
                ..outcome
            };
        }
    };
    let prove = match client.on_challenge(&send(1, challenge)) {
        Ok(challenged) => challenged.prove(CLIENT_OFFER),
        Err(failure) => {
            return Outcome {
                client: Some(Err(failure)),
                ..outcome
            };
        }
    };
    let proved = outcome.server.insert(server.on_prove(&send(2, prove)));
    if proved.is_ok() {
        outcome.client = Some(client.on_welcome(&send(3, server.welcome(SERVER_OFFER))));
    }
    outcome
}

#[test]
fn both_sides_agree() {
    let outcome = run(|_, message| assert!(message.len() <= MAX_MESSAGE_BYTES));
    let proved = Proved {
        client: client_address(),
        purpose: Purpose::Connect,
        offer: CLIENT_OFFER.to_vec(),
    };
    assert_eq!(outcome.server, Some(Ok(proved)));
    assert_eq!(outcome.client, Some(Ok(SERVER_OFFER.to_vec())));
}

#[test]
fn every_changed_bit_is_noticed() {
    for number in 0..4 {
        let len_bytes = std::cell::Cell::new(0);
        run(|at, message| {
            if at == number {
                len_bytes.set(message.len());
            }
        });
        for bit in 0..len_bytes.get() * 8 {
            let outcome = run(|at, message| {
                if at == number {
                    message[bit / 8] ^= 1 << (bit % 8);
                }
            });
            let is_connected = matches!(outcome.client, Some(Ok(_)));
            assert!(!is_connected, "bit {bit} of message {number}");
            let is_served = matches!(outcome.server, Some(Ok(_)));
            assert_eq!(is_served, number == 3, "bit {bit} of message {number}");
        }
    }
}

#[test]
fn every_changed_length_is_noticed() {
    for number in 0..4 {
        for change in [
            |m: &mut Vec<u8>| m.push(0),
            |m: &mut Vec<u8>| m.truncate(m.len() - 1),
        ] {
            let outcome = run(|at, message| {
                if at == number {
                    change(message);
                }
            });
            assert!(!matches!(outcome.client, Some(Ok(_))), "message {number}");
        }
    }
}

#[test]
fn the_client_finds_out_about_a_different_key_and_tells() {
    let (mut client, hello) = start(&key("a"));
    let (mut server, challenge) = answer(&key("b"), &hello).unwrap();
    let failure = client.on_challenge(&challenge).unwrap_err();
    assert_eq!(
        (failure.refusal.reason, failure.refusal.by),
        (Reason::Key, Side::Us)
    );
    let told = server.on_prove(&failure.reply.unwrap()).unwrap_err();
    assert_eq!(
        (told.refusal.reason, told.refusal.by),
        (Reason::Key, Side::Peer)
    );
    assert_eq!(told.reply, None);
}

#[test]
fn a_proof_of_another_handshake_is_worthless() {
    let (mut client, hello) = start(&key("a"));
    let (_, challenge) = answer(&key("a"), &hello).unwrap();
    let recorded = client.on_challenge(&challenge).unwrap().prove(CLIENT_OFFER);
    let (mut server, _) =
        Server::on_hello(&key("a"), server_address(), Nonce([3; 16]), &hello).unwrap();
    assert_eq!(
        server.on_prove(&recorded).unwrap_err().refusal.reason,
        Reason::Key
    );
}

#[test]
fn the_servers_proof_cannot_be_returned_as_the_clients() {
    let (_, hello) = start(&key("a"));
    let (mut server, challenge) = answer(&key("a"), &hello).unwrap();
    let (mut client, _) = start(&key("a"));
    let mut prove = client.on_challenge(&challenge).unwrap().prove(b"");
    let proof_at = challenge.len() - 32;
    prove.truncate(8);
    prove.extend(&challenge[proof_at..]);
    assert_eq!(
        server.on_prove(&prove).unwrap_err().refusal.reason,
        Reason::Key
    );
}

#[test]
fn an_unknown_version_is_refused_by_both_numbers() {
    let (mut client, mut hello) = start(&key("a"));
    hello[4] = 9;
    hello.push(0); // The layout of another version is not known.
    let failure = answer(&key("a"), &hello).unwrap_err();
    assert_eq!(
        (failure.refusal.reason, failure.refusal.detail),
        (Reason::Version, 9)
    );
    let text = failure.to_string();
    assert!(
        text.contains("version 9") && text.contains("version 1"),
        "{text}"
    );

    // As the client of version 1 sees a server of version 9.
    let mut reply = failure.reply.unwrap();
    reply[4] = 9;
    let refusal = client.on_challenge(&reply).unwrap_err().refusal;
    assert_eq!(
        (refusal.reason, refusal.by, refusal.version),
        (Reason::Version, Side::Peer, 9)
    );
    assert!(refusal.to_string().contains("version 9"), "{refusal}");
}

#[test]
fn another_port_than_the_one_meant_refuses() {
    let (_, hello) = start(&key("a"));
    let elsewhere = "10.0.0.1:8".parse().unwrap();
    let failure = Server::on_hello(&key("a"), elsewhere, Nonce([2; 16]), &hello).unwrap_err();
    assert_eq!(
        (failure.refusal.reason, failure.refusal.detail),
        (Reason::NoPort, 8)
    );
}

#[test]
fn a_refusal_is_understood_at_every_step() {
    let refused =
        |failure: Failure| failure.refusal.reason == Reason::Limit && failure.reply.is_none();
    let refusal = refuse(Reason::Limit, 24);
    assert!(refused(answer(&key("a"), &refusal).unwrap_err()));
    let (mut client, hello) = start(&key("a"));
    let (mut server, challenge) = answer(&key("a"), &hello).unwrap();
    assert!(refused(server.on_prove(&refusal).unwrap_err()));
    client.on_challenge(&challenge).unwrap().prove(b"");
    assert!(refused(client.on_welcome(&refusal).unwrap_err()));
}

#[test]
fn messages_out_of_turn_are_refused() {
    let protocol = |failure: Failure| failure.refusal.reason == Reason::Protocol;
    let (mut client, hello) = start(&key("a"));
    let (mut server, challenge) = answer(&key("a"), &hello).unwrap();
    assert!(protocol(answer(&key("a"), &challenge).unwrap_err()));
    assert!(protocol(server.on_prove(&hello).unwrap_err()));
    let prove = client
        .on_challenge(&challenge)
        .map(|c: Challenged<'_>| c.prove(b""))
        .unwrap();
    server.on_prove(&prove).unwrap();
    assert!(protocol(server.on_prove(&prove).unwrap_err()));
    assert!(protocol(client.on_challenge(&challenge).unwrap_err()));
    // A client that has erred once stays refused.
    assert!(protocol(
        client.on_welcome(&server.welcome(b"")).unwrap_err()
    ));
}

#[test]
fn who_only_asks_for_counters_needs_no_port() {
    let me = Address {
        port: 0,
        ..client_address()
    };
    let (mut client, hello) = Client::start(
        &key("a"),
        Purpose::Stat,
        me,
        server_address(),
        Nonce([1; 16]),
    );
    let (mut server, challenge) = answer(&key("a"), &hello).unwrap();
    assert_eq!(server.claimed_client(), me);
    let prove = client.on_challenge(&challenge).unwrap().prove(b"");
    let proved = server.on_prove(&prove).unwrap();
    assert_eq!((proved.purpose, proved.client), (Purpose::Stat, me));
    assert_eq!(
        client.on_welcome(&server.welcome(b"page")).unwrap(),
        b"page"
    );
}

#[test]
fn the_longest_offers_pass() {
    let offer = [5; MAX_OFFER_BYTES];
    let (mut client, hello) = start(&key("a"));
    let (mut server, challenge) = answer(&key("a"), &hello).unwrap();
    let prove = client.on_challenge(&challenge).unwrap().prove(&offer);
    assert_eq!(prove.len(), MAX_MESSAGE_BYTES);
    assert_eq!(server.on_prove(&prove).unwrap().offer, offer);
    assert_eq!(client.on_welcome(&server.welcome(&offer)).unwrap(), offer);
}

#[test]
fn nonces_differ() {
    assert_ne!(Nonce::random().unwrap(), Nonce::random().unwrap());
}

proptest! {
    /// With and without a right beginning, so that not only the magic is tested.
    #[test]
    fn no_bytes_lead_anywhere(
        begin in prop_oneof![
            Just(vec![]),
            Just(b"BCLH".to_vec()),
            (1u8..6, 0u8..10).prop_map(|(kind, argument)| [b"BCLH\x01\0", &[kind, argument][..]].concat()),
        ],
        rest in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let bytes = [begin, rest].concat();
        let (mut client, hello) = start(&key("a"));
        let (mut server, challenge) = answer(&key("a"), &hello).unwrap();
        prop_assert!(server.on_prove(&bytes).is_err());
        prop_assert!(answer(&key("a"), &bytes).is_err());
        prop_assert!(start(&key("a")).0.on_challenge(&bytes).is_err());
        client.on_challenge(&challenge).unwrap().prove(b"");
        prop_assert!(client.on_welcome(&bytes).is_err());
    }
}
