//! Both sides prove that they know the key of the region's job, without telling it ([REFLECT-2.5]).

use std::fmt::Write;
use std::io;

use bcl_node::JobKey;

/// What both sides have to know.
pub struct Secret {
    key: JobKey,
    name: String,
}

/// Who proves.
#[derive(Clone, Copy)]
pub enum Role {
    Host,
    Asker,
}

/// The nonces of one exchange.
pub struct Nonces {
    pub asker: String,
    pub host: String,
}

impl Secret {
    pub fn new(key: JobKey, region: &str) -> Self {
        let name = region.to_owned();
        Self { key, name }
    }

    /// What only who knows the key can say, and of this exchange only.
    pub fn proof(&self, role: Role, nonces: &Nonces) -> String {
        let role = match role {
            Role::Host => "host",
            Role::Asker => "asker",
        };
        let (asker, host) = (&nonces.asker, &nonces.host);
        hex(&self
            .key
            .derive(&format!("region {role} {asker} {host} {}", self.name)))
    }

    /// What the keys of its packets between hosts are derived from ([REFLECT-8.1]).
    pub fn of_packets(&self) -> [u8; 32] {
        self.key.derive(&format!("region packets {}", self.name))
    }

    /// Whether that was said. Takes as long whatever is wrong.
    pub fn is_proved(&self, role: Role, nonces: &Nonces, said: &str) -> bool {
        let expected = self.proof(role, nonces);
        let differences = expected.bytes().zip(said.bytes());
        let differ = differences.fold(0, |differ, (ours, theirs)| differ | (ours ^ theirs));
        said.len() == expected.len() && differ == 0
    }
}

/// What is used once.
pub fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    bcl_os::random(&mut bytes)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_key_region_role_and_exchange() {
        let key = |byte: &str| JobKey::from_hex(&byte.repeat(32)).unwrap();
        let nonces = |asker: &str, host: &str| Nonces {
            asker: asker.into(),
            host: host.into(),
        };
        let (ours, these) = (Secret::new(key("01"), "a"), nonces("1", "2"));
        let said = ours.proof(Role::Host, &these);
        assert!(ours.is_proved(Role::Host, &these, &said));
        assert!(!ours.is_proved(Role::Asker, &these, &said));
        assert!(!ours.is_proved(Role::Host, &nonces("1", "3"), &said));
        assert!(!ours.is_proved(Role::Host, &these, &said[1..]));
        assert!(!Secret::new(key("02"), "a").is_proved(Role::Host, &these, &said));
        assert!(!Secret::new(key("01"), "b").is_proved(Role::Host, &these, &said));
    }
}
