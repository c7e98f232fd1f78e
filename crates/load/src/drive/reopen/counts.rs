//! How often connections ended and were opened again, by what happened.

use super::Reopener;

impl Reopener {
    pub(in crate::drive) fn reconnects(&self) -> u64 {
        self.reconnects
    }

    /// How often a connection ended unannounced, or on what was not asked for.
    pub(in crate::drive) fn broke(&self) -> u64 {
        self.broke
    }

    /// How many were replaced because a request on them was not answered in time.
    pub(in crate::drive) fn replaced(&self) -> u64 {
        self.replaced
    }

    /// How often none could be opened for want of a local port.
    pub(in crate::drive) fn out_of_ports(&self) -> u64 {
        self.out_of_ports
    }

    /// How often more came than a reply has.
    pub(in crate::drive) fn overlong(&self) -> u64 {
        self.overlong
    }

    /// How often one without a spare was sent `GOAWAY`.
    pub(in crate::drive) fn unrelieved(&self) -> u64 {
        self.unrelieved
    }
}
