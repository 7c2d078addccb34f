//! A member of a region of reflective memory, for tests: `bcl-member MEMBER MEMBERS LEN_BYTES HOSTS ADDRESS`. The folder and the key come from the
//! environment. It says `joined`, and then does what it is told, line by line.

use std::env;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

use bcl::Folder;
use bcl_reflect::{Life, Options, Region, Waited, reports};
use bcl_types::Random;

/// How long it waits for others.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [member, members, len_bytes, hosts, address] = &arguments[..] else {
        panic!("bcl-member MEMBER MEMBERS LEN_BYTES HOSTS ADDRESS");
    };
    let number = |text: &str| text.parse::<u64>().expect("it is a number");
    let ip = |text: &str| text.parse::<IpAddr>().expect("it is an address");
    let region = Options::new("shared", number(len_bytes))
        .member(number(member) as u16)
        .members(number(members) as u16)
        .hosts(hosts.split(',').map(ip))
        .address(ip(address))
        .join();
    match region {
        Ok(region) => {
            say("joined");
            obey(&region, number(len_bytes));
        }
        Err(error) => say(&format!("{error}")),
    }
}

fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().expect("somebody reads");
}

fn obey(region: &Region, len_bytes: u64) {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().expect("it is a number");
        let answer = match words[0] {
            "store" => told(region.write_word(number(1), number(2))),
            "load" => region
                .load(number(1))
                .map_or_else(|error| error.to_string(), |value| value.to_string()),
            "wait" => match region.wait(number(1), number(2), Some(PATIENCE)) {
                Ok(Waited::Changed(value)) => value.to_string(),
                other => format!("{other:?}"),
            },
            "storm" => told(storm(region, len_bytes, number(1), number(2))),
            "reached" => reached(region, number(1) as u16),
            "hash" => hash(region, len_bytes),
            "way" => way(),
            "life" => match region.life(number(1) as u16) {
                Ok(Life::There) => "there".into(),
                other => format!("{other:?}"),
            },
            "leave" => {
                say(&told(region.leave()));
                return;
            }
            other => panic!("bcl-member does not know {other}"),
        };
        say(&answer);
    }
}

fn told(result: Result<(), bcl_reflect::Error>) -> String {
    result.map_or_else(|error| error.to_string(), |()| "ok".into())
}

/// So many writes of all lengths into the member's own part of the region.
fn storm(
    region: &Region,
    len_bytes: u64,
    writes: u64,
    seed: u64,
) -> Result<(), bcl_reflect::Error> {
    let each = len_bytes / u64::from(region.members()) / 8 * 8;
    let start = each * u64::from(region.member());
    let mut random = Random::new(seed ^ start);
    for _ in 0..writes {
        let longest = match random.one_in(8) {
            true => each.min(20_000),
            false => each.min(200),
        };
        let len = random.between(1, longest);
        let at = start + random.below(each - len + 1);
        region.write(at, &random.bytes(len as usize))?;
    }
    Ok(())
}

/// Until so many members have all that this one has written.
fn reached(region: &Region, members: u16) -> String {
    match region.wait_until_reached(region.written(), Some(members), Some(PATIENCE)) {
        Ok(reached) if reached.is_enough => "ok".into(),
        other => format!("{other:?}"),
    }
}

/// How packets get to other hosts.
fn way() -> String {
    let reports = Folder::open(Folder::default_path()).map(|folder| reports(&folder));
    match reports.as_ref().map(|reports| reports.as_deref()) {
        Ok(Ok([report])) => report
            .network
            .as_ref()
            .map_or_else(|| "none".into(), |network| network.way.clone()),
        other => format!("{other:?}"),
    }
}

fn hash(region: &Region, len_bytes: u64) -> String {
    let mut content = vec![0; len_bytes as usize];
    let mut hasher = DefaultHasher::new();
    match region.read(0, &mut content) {
        Ok(()) => hasher.write(&content),
        Err(error) => return error.to_string(),
    }
    format!("{:016x}", hasher.finish())
}
