// iceoryx2 between two processes: publish and subscribe, each message written where the other end
// reads it. Nothing is copied and nothing is lost: the publisher waits for a full subscriber.
mod histogram;
mod options;
mod path;
mod tally;
mod worker;

use options::Role;
use path::{Inlet, Path};
use tally::Stamp;
use worker::{now_ns, Pace, Result, Worker};

fn receive(worker: &mut Worker) -> Result<()> {
    let path = Path::create(&worker.options, "there")?;
    let inlet = path.inlet()?;
    worker.ready();
    while !worker.stopping() {
        match inlet.receive()? {
            Some(sample) => worker.tally.take(&sample),
            None => inlet.rest()?,
        }
    }
    Ok(())
}

fn send(worker: &mut Worker) -> Result<()> {
    let path = Path::open(&worker.options, "there")?;
    let mut outlet = path.outlet(path::BYTES_PER_NOTICE)?;
    let mut stamp = Stamp::new(worker.options.connection_first, worker.options.verify);
    worker.ready();
    while !worker.stopping() {
        if worker.options.idle {
            std::thread::sleep(path::REST_MAX);
            continue;
        }
        if outlet.send(|message| stamp.write(message))? {
            stamp.advance();
        }
    }
    outlet.notify()
}

fn reply(worker: &mut Worker) -> Result<()> {
    let there = Path::create(&worker.options, "there")?;
    let back = Path::create(&worker.options, "back")?;
    let (inlet, mut outlet) = (there.inlet()?, back.outlet(0)?);
    worker.ready();
    while !worker.stopping() {
        let Some(request) = inlet.receive()? else {
            inlet.rest()?;
            continue;
        };
        worker.tally.take(&request);
        outlet.send(|message| message.copy_from_slice(&request))?;
    }
    Ok(())
}

// In turns: an open loop's late request counts from its intended time.
fn request(worker: &mut Worker) -> Result<()> {
    let there = Path::open(&worker.options, "there")?;
    let back = Path::open(&worker.options, "back")?;
    let (inlet, mut outlet) = (back.inlet()?, there.outlet(0)?);
    let mut stamp = Stamp::new(0, worker.options.verify);
    worker.ready();
    let pace = Pace::new(worker.options.rate);
    for sent in 0.. {
        if worker.stopping() {
            break;
        }
        let begin = pace.wait(sent, worker.options.sleeps());
        outlet.send(|message| stamp.write(message))?;
        stamp.advance();
        take_reply(worker, &inlet, begin)?;
    }
    Ok(())
}

fn take_reply(worker: &mut Worker, inlet: &Inlet, begin: i64) -> Result<()> {
    while !worker.stopping() {
        if let Some(reply) = inlet.receive()? {
            worker.tally.take(&reply);
            worker.round_trip(now_ns() - begin);
            return Ok(());
        }
        inlet.rest()?;
    }
    Ok(())
}

fn run(worker: &mut Worker) -> Result<()> {
    match worker.options.role {
        Role::Receive => receive(worker),
        Role::Send => send(worker),
        Role::Reply => reply(worker),
        Role::Request => request(worker),
    }
}

fn main() {
    worker::main(run);
}
