// What every measured message carries and how its receiver checks it, as bench/worker/tally.hpp.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

const SEQUENCE_BITS: u32 = 40;
const LINE_BYTES: usize = 64;

fn filler(word: u64, at: usize) -> u8 {
    (word
        .wrapping_add(at as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        >> 56) as u8
}

pub struct Stamp {
    word: u64,
    fill: bool,
}

impl Stamp {
    pub fn new(connection: u64, fill: bool) -> Stamp {
        Stamp {
            word: connection << SEQUENCE_BITS,
            fill,
        }
    }

    // The next message. Without `fill` all but its number stays as it is.
    pub fn write(&self, message: &mut [u8]) {
        message[..8].copy_from_slice(&self.word.to_ne_bytes());
        if self.fill {
            for (at, byte) in message.iter_mut().enumerate().skip(8) {
                *byte = filler(self.word, at);
            }
        }
    }

    // It was sent.
    pub fn advance(&mut self) {
        self.word += 1;
    }
}

// Read by another thread; lines of their own, so that this does not slow down who counts.
#[derive(Default)]
#[repr(align(64))]
pub struct Count(AtomicU64);

impl Count {
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[derive(Default)]
pub struct Counts {
    pub messages: Count,
    pub faults: Count,
}

pub struct Tally {
    next: u64,
    message_bytes: usize,
    verify: bool,
    count: u64,
    counts: Arc<Counts>,
}

impl Tally {
    pub fn new(message_bytes: usize, verify: bool, counts: Arc<Counts>) -> Tally {
        Tally {
            next: 0,
            message_bytes,
            verify,
            count: 0,
            counts,
        }
    }

    pub fn take(&mut self, message: &[u8]) {
        if message.len() != self.message_bytes {
            return self.fault();
        }
        let word = u64::from_ne_bytes(message[..8].try_into().unwrap());
        if word != self.next {
            self.fault();
        }
        self.next += 1;
        read_lines(message);
        if self.verify
            && message
                .iter()
                .enumerate()
                .skip(8)
                .any(|(at, &byte)| byte != filler(word, at))
        {
            self.fault();
        }
        self.count += 1;
        self.counts.messages.0.store(self.count, Relaxed);
    }

    fn fault(&self) {
        self.counts.faults.0.fetch_add(1, Relaxed);
    }
}

// As the user of a message would; volatile, so that reading is not left out.
fn read_lines(message: &[u8]) {
    for line in message.chunks(LINE_BYTES).skip(1) {
        unsafe { std::ptr::read_volatile(line.as_ptr()) };
    }
}
