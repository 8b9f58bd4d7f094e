//! `footprint`: the size of the trusted base

use bulkhead_plan::manifest::Sizes;
use bulkhead_run::figures::Kind;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Report, Row};
use crate::setting::{Context, Setting};
use crate::sloc::lines_below;

const KIB: f64 = 1024.0;
/// Resident text of the monitor, bytes.
const TEXT_BOUND: f64 = 8.0 * KIB;
/// Stage-2 tables of a guest with 4 GiB, bytes.
const TABLES_BOUND: f64 = 24.0 * KIB;
/// Memory of that guest.
const GUEST_GIB: u64 = 4;
/// Layers with counted source lines, highest assurance first.
const LAYERS: [&str; 9] = [
    "abi", "monitor", "arch", "drivers", "lib", "rtos", "user", "linux", "host",
];

pub(crate) struct Footprint;

impl Bench for Footprint {
    fn id(&self) -> &'static str {
        "footprint"
    }

    fn reproduces(&self) -> &'static str {
        "001 section 3.1; 003 section 3"
    }

    fn kind(&self) -> Kind {
        Kind::Size
    }

    fn guarantee(&self) -> &'static str {
        "resident text of the monitor at most 8 KiB, tables of a 4 GiB guest at most 24 KiB"
    }

    fn takes_board(&self) -> bool {
        true
    }

    fn run(&self, context: &Context) -> Result<Report, BenchError> {
        let (setting, gibibytes) = largest(context)?;
        let linux = setting
            .manifest
            .partitions
            .iter()
            .position(|p| p.name == "linux");
        let sizes = &setting.manifest.sizes;
        let tables = linux.and_then(|index| sizes.stage2_tables.get(index));
        let mut rows = rows(
            sizes,
            tables.map_or(f64::NAN, |&bytes| bytes as f64),
            gibibytes,
        );
        rows.extend(LAYERS.map(|layer| {
            let lines = lines_below(&context.root.join(layer));
            Row::unbounded(
                &format!("source of {layer}/"),
                &[("lines", lines as f64)],
                "lines",
            )
        }));
        Ok(self.report(rows))
    }
}

/// The showcase with a Linux of 4 GiB, or of as many as it can address below the board's devices.
fn largest(context: &Context) -> Result<(Setting, u64), BenchError> {
    let built = |gibibytes: u64| {
        let memory = format!("partition.linux.memory={gibibytes} GiB");
        let setting = context.build("footprint", &context.showcase(), &[&memory], &[]);
        setting.map(|setting| (setting, gibibytes))
    };
    let smaller = (1..GUEST_GIB).rev();
    smaller.fold(built(GUEST_GIB), |found, gibibytes| match found {
        Err(BenchError::Refused { .. }) => built(gibibytes),
        found => found,
    })
}

fn rows(sizes: &Sizes, guest_tables: f64, gibibytes: u64) -> Vec<Row> {
    let size_row = |name, bytes: u64| Row::unbounded(name, &[("bytes", bytes as f64)], "B");
    let text = sizes.monitor_text as f64;
    vec![
        Row::at_most(
            "resident text, vectors included",
            &[("bytes", text)],
            "B",
            TEXT_BOUND,
        ),
        Row::at_most(
            &format!("stage-2 tables of a {gibibytes} GiB guest"),
            &[("bytes", guest_tables)],
            "B",
            TABLES_BOUND,
        ),
        size_row("read-only data", sizes.monitor_rodata),
        size_row("writable data", sizes.monitor_data),
        size_row("stacks and state of all cores", sizes.stacks),
        size_row("tables of EL2", sizes.el2_tables),
        size_row("configuration", sizes.config),
        size_row("boot part, dropped after boot", sizes.boot),
    ]
}
