//! Place of a team in the league of a `teams` construct.

/// A team's number and the number of teams of its league.
#[derive(Clone, Copy, Debug)]
pub struct League {
    /// Number of this team.
    pub team: u32,
    /// Number of teams.
    pub teams: u32,
}

impl League {
    /// No `teams` construct is around.
    pub const NONE: Self = Self { team: 0, teams: 1 };
}
