//! How a password is proved without being sent: MD5 as old servers want it, and SCRAM-SHA-256.
//!
//! The costly step of SCRAM, 4096 rounds and more, is done once for all connections: one that is opened
//! again in the middle of a run must not hold the others up.
//! Sources: PostgreSQL documentation, "Message Flow" and "SASL Authentication"; RFC 5802, RFC 7677.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{digest, hmac, pbkdf2};

/// The mechanism, as servers name it.
pub(super) const MECHANISM: &str = "SCRAM-SHA-256";
/// Header of a client that binds to no channel, and the same in Base64.
const HEADER: &str = "n,,";
const HEADER_AGAIN: &str = "c=biws";
/// More rounds than any server asks for with good intent.
const ROUNDS_MAX: u32 = 10_000_000;

type Key = [u8; 32];

/// `md5` and the digest that is sent instead of a password: md5(md5(password user) salt), in hexadecimal.
pub(super) fn md5_of(user: &str, password: &str, salt: &[u8]) -> String {
    let inner = hex(&Md5::digest([password, user].concat()));
    format!("md5{}", hex(&Md5::digest([inner.as_bytes(), salt].concat())))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A password, and the key that the last exchange made of it, with its salt and rounds.
#[derive(Default)]
pub(super) struct Password {
    pub(super) text: String,
    salted: Mutex<Option<(Vec<u8>, u32, Key)>>,
}

impl Password {
    pub(super) fn of(text: &str) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    fn salted(&self, salt: &[u8], rounds: NonZeroU32) -> Key {
        let mut retained = self.salted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, times, key)) = &*retained
            && (known.as_slice(), *times) == (salt, rounds.get())
        {
            return *key;
        }
        let mut key = Key::default();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, self.text.as_bytes(), &mut key);
        *retained = Some((salt.to_vec(), rounds.get(), key));
        key
    }
}

/// One exchange.
pub(super) struct Scram {
    nonce: String,
    /// What the server must prove in turn; `None`: it has not been asked yet.
    wanted: Option<Vec<u8>>,
}

impl Scram {
    /// An exchange with a nonce of its own; `None`: the system has no random numbers.
    pub(super) fn new() -> Option<Self> {
        let mut bytes = [0; 18];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Self { nonce: STANDARD.encode(bytes), wanted: None })
    }

    /// The user's name is the one of the connection, and is left out here.
    fn first_bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// What the client says first.
    pub(super) fn first(&self) -> String {
        format!("{HEADER}{}", self.first_bare())
    }

    /// What it says to the server's challenge; `None`: that is none.
    pub(super) fn last(&mut self, challenge: &[u8], password: &Password) -> Option<String> {
        let challenge = std::str::from_utf8(challenge).ok()?;
        let mut parts = challenge.split(',');
        let nonce = parts.next()?.strip_prefix("r=")?;
        let salt = STANDARD.decode(parts.next()?.strip_prefix("s=")?).ok()?;
        let rounds: NonZeroU32 = parts.next()?.strip_prefix("i=")?.parse().ok()?;
        let is_ours = nonce.len() > self.nonce.len() && nonce.starts_with(&self.nonce);
        if !is_ours || rounds.get() > ROUNDS_MAX {
            return None;
        }
        let unproved = format!("{HEADER_AGAIN},r={nonce}");
        let all = [self.first_bare().as_str(), challenge, &unproved].join(",");
        let key = password.salted(&salt, rounds);
        let client = signed(&key, b"Client Key");
        let stored = digest::digest(&digest::SHA256, &client);
        let signature = signed(stored.as_ref(), all.as_bytes());
        let proof: Vec<u8> = client.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        self.wanted = Some(signed(&signed(&key, b"Server Key"), all.as_bytes()));
        Some(format!("{unproved},p={}", STANDARD.encode(proof)))
    }

    /// Whether the server knows the password too.
    pub(super) fn is_proved(&self, message: &[u8]) -> bool {
        let signature = message.strip_prefix(b"v=").and_then(|text| STANDARD.decode(text).ok());
        signature.is_some() && signature == self.wanted
    }
}

fn signed(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, 3, without the user's name, which PostgreSQL leaves out; so the proof is
    /// another, and the salted password the same.
    #[test]
    fn an_exchange_proves_both_sides_and_no_other_password_does() {
        let mut scram = Scram { nonce: "rOprNGfwEbeRWgbNEkqO".into(), wanted: None };
        assert_eq!(scram.first(), "n,,n=,r=rOprNGfwEbeRWgbNEkqO");
        let challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let last = scram.last(challenge, &Password::of("pencil")).unwrap();
        assert!(last.starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="));
        let wanted = STANDARD.encode(scram.wanted.clone().unwrap());
        assert!(scram.is_proved(format!("v={wanted}").as_bytes()));
        let mut other = Scram { nonce: scram.nonce.clone(), wanted: None };
        other.last(challenge, &Password::of("pen")).unwrap();
        assert!(!other.is_proved(format!("v={wanted}").as_bytes()));
    }

    /// RFC 7677, 3: from the salted password of the example follow its proof and its signature.
    #[test]
    fn the_numbers_are_those_of_the_standard() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let rounds = NonZeroU32::new(4096).unwrap();
        let password = Password::of("pencil");
        let key = password.salted(&salt, rounds);
        assert_eq!(password.salted(&salt, rounds), key, "kept");
        assert_ne!(password.salted(b"other", rounds), key, "of another salt");
        let all = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let server = signed(&signed(&key, b"Server Key"), all.as_bytes());
        assert_eq!(STANDARD.encode(server), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn a_challenge_that_is_none_is_refused() {
        let mut scram = Scram::new().unwrap();
        let nonce = scram.nonce.clone();
        for text in [
            String::new(),
            format!("r={nonce},s=AAAA,i=4096"),
            format!("r={nonce}x,s=AAAA,i=0"),
            format!("r={nonce}x,s=?,i=4096"),
            format!("r={nonce}x,s=AAAA,i=4000000000"),
            "r=other,s=AAAA,i=4096".into(),
        ] {
            assert_eq!(scram.last(text.as_bytes(), &Password::of("x")), None, "{text}");
        }
        assert!(!scram.is_proved(b"v=") && !scram.is_proved(b"e=other"));
    }

    #[test]
    fn md5_is_taken_twice_and_salted() {
        // md5(md5("secret" "me") "\x01\x02\x03\x04"), as `md5sum` has it.
        assert_eq!(md5_of("me", "secret", &[1, 2, 3, 4]), "md58322d584bf59f0253d58346307bb6ba3");
    }
}
