// Times by three significant digits: the steps are those of bench/worker/histogram.hpp.
const EXACT_BITS: u32 = 11;
const EXACT_COUNT: usize = 1 << EXACT_BITS;
const HALF_COUNT: usize = EXACT_COUNT / 2;
const STEP_COUNT: usize = EXACT_COUNT + (64 - EXACT_BITS as usize) * HALF_COUNT;

pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    pub fn new() -> Histogram {
        Histogram {
            counts: vec![0; STEP_COUNT],
        }
    }

    pub fn add(&mut self, ns: u64) {
        self.counts[index_of(ns)] += 1;
    }

    // Each step that has any, its lowest time and how many, as JSON.
    pub fn to_json(&self) -> String {
        let steps = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, &count)| count != 0);
        let texts: Vec<String> = steps
            .map(|(index, count)| format!("[{},{count}]", lowest(index)))
            .collect();
        format!("[{}]", texts.join(","))
    }
}

fn index_of(ns: u64) -> usize {
    if ns < EXACT_COUNT as u64 {
        return ns as usize;
    }
    let shift = u64::BITS - ns.leading_zeros() - EXACT_BITS;
    shift as usize * HALF_COUNT + (ns >> shift) as usize
}

fn lowest(index: usize) -> u64 {
    if index < EXACT_COUNT {
        return index as u64;
    }
    let shift = index / HALF_COUNT - 1;
    ((index - shift * HALF_COUNT) as u64) << shift
}
