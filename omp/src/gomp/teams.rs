//! `teams` on the host: the teams of a league run one after the other.

use crate::icv;
use crate::league::League;
use crate::task::Body;
use crate::worker::Worker;
use core::ffi::{c_uint, c_void};
use core::sync::atomic::Ordering;

fn limit_threads(limit: c_uint) -> u32 {
    let icv = Worker::current_here().current().icv();
    let before = icv.thread_limit.get();
    let default = icv::TEAMS_THREAD_LIMIT.load(Ordering::Relaxed);
    let limit = if limit == 0 { default } else { limit };
    if limit != 0 {
        icv::modify(|icv| icv.thread_limit.set(limit));
    }
    before
}

fn teams_or_default(teams: c_uint) -> u32 {
    let default = icv::TEAMS.load(Ordering::Relaxed);
    if teams == 0 { default.max(1) } else { teams }
}

/// `#pragma omp teams` outside `target`.
///
/// # Safety
/// As the compiler calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_teams_reg(
    body: Body,
    data: *mut c_void,
    teams: c_uint,
    limit: c_uint,
    _flags: c_uint,
) {
    let before = limit_threads(limit);
    let teams = teams_or_default(teams);
    for team in 0..teams {
        Worker::current_here()
            .team()
            .league
            .set(League { team, teams });
        // SAFETY: the compiler's outlined function with the argument it expects.
        unsafe { body(data) };
    }
    Worker::current_here().team().league.set(League::NONE);
    icv::modify(|icv| icv.thread_limit.set(before));
}

/// `teams` in a `target` region that runs on the host, as GCC up to 11 calls it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams(teams: c_uint, limit: c_uint) {
    limit_threads(limit);
    let league = League {
        team: 0,
        teams: teams.clamp(0, 1).max(1),
    };
    Worker::current_here().team().league.set(league);
}

/// `teams` since GCC 12: called before each team; true if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams4(_low: c_uint, high: c_uint, limit: c_uint, first: bool) -> bool {
    let current = &Worker::current_here().team().league;
    if first {
        limit_threads(limit);
        current.set(League {
            team: 0,
            teams: teams_or_default(high),
        });
        return true;
    }
    let League { team, teams } = current.get();
    let more = team + 1 < teams;
    current.set(if more {
        League {
            team: team + 1,
            teams,
        }
    } else {
        League::NONE
    });
    more
}
