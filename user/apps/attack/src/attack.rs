//! One attack: its program, and what becomes of the attacker

use bulkhead_rtos::{System, println};
use core::fmt::{self, Arguments};

/// Expected effect of an attack on the attacking partition.
pub(super) enum Fate {
    /// The attack is refused; the partition reports this and continues without a restart.
    Lives,
    /// The partition fails, and its policy restarts it.
    Dies,
    /// As `Dies`, but the core first takes exceptions without executing an instruction. The
    /// emulator's instruction clock does not advance meanwhile, so such a run uses the host's
    /// clock.
    Stalls,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lives => "lives",
            Self::Dies => "dies",
            Self::Stalls => "stalls",
        })
    }
}

/// An attack.
pub(super) struct Attack {
    /// Its name in `attack=NAME`.
    pub(crate) name: &'static str,
    /// Expected effect where violations are injected.
    pub(crate) fate: Fate,
    /// Description of the attempt, for the report.
    pub(crate) what: &'static str,
    pub(crate) run: fn(&mut Context<'_>),
}

/// Environment of an attack.
pub(super) struct Context<'s> {
    pub(crate) system: &'s System,
    pub(crate) name: &'static str,
    pub(crate) random: u64,
}

impl Context<'_> {
    /// One finding.
    pub(crate) fn say(&self, finding: Arguments<'_>) {
        self.system.beat();
        println!("attack {}: {finding}", self.name);
    }

    /// Keeps the watchdog quiet.
    pub(crate) fn beat(&self) {
        self.system.beat();
    }

    /// A number from the description's `key=N`, decimal or with 0x.
    pub(crate) fn number(&self, key: &str, default: u64) -> u64 {
        self.system.argument(key).and_then(parse).unwrap_or(default)
    }

    /// The next of a repeatable sequence (xorshift64*, Vigna 2016).
    pub(crate) fn random(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn cores(&self) -> u64 {
        u64::from(self.system.cores())
    }

    pub(crate) fn distributor(&self) -> u64 {
        self.system.interrupt_controller()[0]
    }

    pub(crate) fn redistributor(&self) -> u64 {
        self.system.interrupt_controller()[1]
    }

    /// Shared interrupts that are the partition's own: the doorbells it hears.
    pub(crate) fn owns(&self, intid: u32) -> bool {
        self.system
            .channels()
            .iter()
            .any(|end| end.doorbell_in == intid)
    }
}

pub(super) fn parse(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
