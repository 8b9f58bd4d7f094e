//! A VCPU has the keys of its kind

use crate::diagnostic::Report;
use crate::draft::{Draft, Field, KindDraft, VcpuDraft};

crate::rules::rule! {
    Error, "vcpu-keys",
    "a main VCPU has C and T, an I/O VCPU a utilisation",
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
            ("C", &vcpu.capacity, KindDraft::Main),
            ("T", &vcpu.period, KindDraft::Main),
            ("utilisation", &vcpu.utilisation, KindDraft::Io),
        ];
        for (name, field, kind) in keys {
            check_key(vcpu, name, field, kind, report);
        }
    }
}

fn check_key(
    vcpu: &VcpuDraft,
    key: &str,
    field: &Field<u64>,
    kind: KindDraft,
    report: &mut Report,
) {
    let name = &vcpu.name.value;
    match (field, vcpu.is(kind)) {
        (Field::Absent, true) => report.add(
            RULE.at(&vcpu.name.span, format!("VCPU `{name}` has no `{key}`"))
                .here("incomplete")
                .help("`C = \"2 ms\"` and `T = \"10 ms\"` for a main VCPU, `utilisation = 4` for an I/O VCPU"),
        ),
        (Field::Given(given), false) if vcpu.kind.or(KindDraft::Main).is_some() => report.add(
            RULE.at(&given.span, format!("VCPU `{name}` can have no `{key}`"))
                .here("of the other kind")
                .help("C and T are of main VCPUs, `utilisation` is of I/O VCPUs (`kind = \"io\"`)"),
        ),
        _ => {}
    }
}
