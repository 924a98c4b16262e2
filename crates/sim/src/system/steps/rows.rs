//! Rows of a RAID5 with a stripe cache.

use crate::system::rows::Rows;
use crate::system::state::System;
use crate::volume::Portion;

impl System<'_> {
    /// A portion joins what is written of its row.
    pub(super) fn join_row(&mut self, number: u32, portion: &Portion, is_lazy: bool) {
        if self.rows.as_mut().is_some_and(|rows| rows.join(number, portion, is_lazy)) {
            self.go_on_with_row(number);
        }
    }

    fn go_on_with_row(&mut self, number: u32) {
        if let Some((leader, pieces)) = self.rows.as_mut().and_then(|rows| rows.go_on(number)) {
            self.launch_pieces(leader, pieces);
        }
    }

    /// What was under way of a row is done.
    pub(super) fn row_done(&mut self, leader: u32) {
        let Some(portions) = self.rows.as_mut().and_then(|rows| rows.done(leader)) else {
            self.go_on_with_row(leader);
            return self.begin_rows();
        };
        portions.into_iter().for_each(|portion| self.finish_portion(portion));
        self.begin_rows();
    }

    fn begin_rows(&mut self) {
        let waiting = self.rows.as_ref().map(Rows::may_begin).unwrap_or_default();
        waiting.into_iter().for_each(|portion| self.go_on_with_row(portion));
    }
}
