// What `netio bench` tells a worker on its command line, as far as this one can do it
// (bench/worker/options.hpp has all of it).
use crate::worker::Result;

#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    Receive,
    Send,
    Reply,
    Request,
}

pub struct Options {
    pub role: Role,
    pub name: String,
    pub message_bytes: usize,
    pub wait: String,
    pub cpu: i32,
    pub connection_first: u64,
    pub rate: f64,
    pub verify: bool,
    pub idle: bool,
}

impl Options {
    // Who is to be adaptive spins.
    pub fn sleeps(&self) -> bool {
        self.wait == "sleep"
    }

    pub fn parse() -> Result<Options> {
        let mut words = std::env::args().skip(1);
        let role = match words.next().as_deref() {
            Some("receive") => Role::Receive,
            Some("send") => Role::Send,
            Some("reply") => Role::Reply,
            Some("request") => Role::Request,
            _ => return Err("the first word is receive, send, reply or request".into()),
        };
        let mut options = Options {
            role,
            name: String::new(),
            message_bytes: 64,
            wait: "sleep".into(),
            cpu: -1,
            connection_first: 0,
            rate: 0.0,
            verify: false,
            idle: false,
        };
        while let Some(word) = words.next() {
            options.take(&word, &mut words)?;
        }
        if options.name.is_empty() {
            return Err("iceoryx2 is measured in shared memory: --name".into());
        }
        if options.message_bytes < 8 {
            return Err("a message has at least 8 bytes".into());
        }
        Ok(options)
    }

    fn take(&mut self, word: &str, words: &mut impl Iterator<Item = String>) -> Result<()> {
        match word {
            "--verify" => self.verify = true,
            "--idle" => self.idle = true,
            _ => {
                let value = words
                    .next()
                    .ok_or_else(|| format!("{word} needs a value"))?;
                match word {
                    "--name" => self.name = value,
                    "--size" => self.message_bytes = value.parse()?,
                    "--wait" => self.wait = value,
                    "--cpu" => self.cpu = value.parse()?,
                    "--connection-first" => self.connection_first = value.parse()?,
                    "--rate" => self.rate = value.parse()?,
                    "--mode" => (), // each message is handed over by itself, whatever the mode
                    "--connections" if value == "1" => (),
                    _ => return Err(format!("iceoryx2 has no {word} {value}").into()),
                }
            }
        }
        Ok(())
    }
}
