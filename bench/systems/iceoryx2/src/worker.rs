// One end of a measurement. The system runs on the main thread; another obeys the lines on
// standard input: snap, record, stop (bench/worker/worker.hpp).
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;

use crate::histogram::Histogram;
use crate::options::{Options, Role};
use crate::tally::{Counts, Tally};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub fn now_ns() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

// What both threads look at.
#[derive(Default)]
struct Shared {
    stopping: AtomicBool,
    recording: AtomicBool,
    counts: Arc<Counts>,
}

pub struct Worker {
    pub options: Options,
    pub tally: Tally,
    round_trips: Histogram,
    shared: Arc<Shared>,
}

impl Worker {
    fn new(options: Options) -> Worker {
        let shared = Arc::new(Shared::default());
        let tally = Tally::new(options.message_bytes, options.verify, shared.counts.clone());
        Worker {
            options,
            tally,
            round_trips: Histogram::new(),
            shared,
        }
    }

    // Bound or connected: the other end may be started, or the clock.
    pub fn ready(&self) {
        answer(r#"{"ready":true,"port":0}"#);
        let shared = self.shared.clone();
        std::thread::spawn(move || obey(&shared));
    }

    pub fn stopping(&self) -> bool {
        self.shared.stopping.load(Relaxed)
    }

    pub fn round_trip(&mut self, ns: i64) {
        if self.shared.recording.load(Relaxed) {
            self.round_trips.add(ns.max(0) as u64);
        }
    }

    fn finish(&self) {
        let faults = self.shared.counts.faults.get();
        let times = match self.options.role {
            Role::Request => format!(r#","round_trips":{}"#, self.round_trips.to_json()),
            _ => String::new(),
        };
        answer(&format!(r#"{{"end":true,"faults":{faults}{times}}}"#));
    }
}

fn answer(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn obey(shared: &Shared) {
    for line in std::io::stdin().lock().lines() {
        match line.as_deref() {
            Ok("snap") => answer(&usage(&shared.counts)),
            Ok("record") => {
                shared.recording.store(true, Relaxed);
                answer("{}");
            }
            _ => break,
        }
    }
    shared.stopping.store(true, Relaxed);
}

fn usage(counts: &Counts) -> String {
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let ns = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec) * 1000;
    format!(
        r#"{{"ns":{},"cpu_ns":{},"switches":{},"resident_bytes":{},"messages":{},"faults":{}}}"#,
        now_ns(),
        ns(used.ru_utime) + ns(used.ru_stime),
        used.ru_nvcsw + used.ru_nivcsw,
        resident_bytes(),
        counts.messages.get(),
        counts.faults.get()
    )
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

fn pin_to(cpu: i32) {
    if cpu < 0 {
        return;
    }
    // A machine with fewer cores measures all the same.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set);
    }
}

// When requests are to be sent: each at its time (a rate), or when the last has returned.
pub struct Pace {
    interval_ns: f64,
    begin: i64,
}

impl Pace {
    pub fn new(rate: f64) -> Pace {
        Pace {
            interval_ns: if rate > 0.0 { 1e9 / rate } else { 0.0 },
            begin: now_ns(),
        }
    }

    // Until it is time for request `number`; says from when it counts.
    pub fn wait(&self, number: u64, sleeps: bool) -> i64 {
        if self.interval_ns == 0.0 {
            return now_ns();
        }
        let due = self.begin + (self.interval_ns * number as f64) as i64;
        loop {
            let left = due - now_ns();
            if left <= 0 {
                return due;
            }
            if sleeps {
                std::thread::sleep(Duration::from_nanos(left as u64));
            }
        }
    }
}

fn work(run: fn(&mut Worker) -> Result<()>) -> Result<()> {
    let options = Options::parse()?;
    pin_to(options.cpu);
    let mut worker = Worker::new(options);
    run(&mut worker)?;
    worker.finish();
    Ok(())
}

pub fn main(run: fn(&mut Worker) -> Result<()>) {
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        libc::signal(libc::SIGINT, libc::SIG_IGN); // Ctrl-C is for the command, which ends its workers
    }
    if let Err(error) = work(run) {
        let text = format!("{error}").replace(['"', '\\', '\n'], " ");
        answer(&format!(r#"{{"error":"{text}"}}"#));
        std::process::exit(1);
    }
}
