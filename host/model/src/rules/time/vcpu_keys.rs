//! A VCPU has the keys of its kind

use crate::diagnostic::Report;
use crate::draft::{Draft, Field, KindDraft, VcpuDraft};

crate::rules::declaration::rule! {
    Error, "vcpu-keys",
    "a main VCPU and a reservation have C and T, an I/O VCPU a utilisation",
    "A main VCPU is a budget in a period. An I/O VCPU has no period of its own: it takes that of the \
     main VCPU that waits for it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for vcpu in draft
        .partitions
        .iter()
        .flat_map(|partition| &partition.vcpus)
    {
        let keys = [
            ("C", &vcpu.capacity, false),
            ("T", &vcpu.period, false),
            ("utilisation", &vcpu.utilisation, true),
        ];
        for (name, field, of_io) in keys {
            check_key(vcpu, name, field, of_io, report);
        }
    }
}

fn check_key(vcpu: &VcpuDraft, key: &str, field: &Field<u64>, of_io: bool, report: &mut Report) {
    let name = &vcpu.name.value;
    let kind = vcpu.kind.or(KindDraft::Main);
    match (field, kind.is_some_and(|kind| (kind == KindDraft::Io) == of_io)) {
        (Field::Absent, true) => report.add(
            RULE.at(&vcpu.name.span, format!("VCPU `{name}` has no `{key}`"))
                .here("incomplete")
                .help("`C = \"2 ms\"` and `T = \"10 ms\"` for a main VCPU, `utilisation = 4` for an I/O VCPU"),
        ),
        (Field::Given(given), false) if kind.is_some() => report.add(
            RULE.at(&given.span, format!("VCPU `{name}` can have no `{key}`"))
                .here("of the other kind")
                .help("C and T are of main VCPUs and reservations, `utilisation` is of I/O VCPUs (`kind = \"io\"`)"),
        ),
        _ => {}
    }
}
