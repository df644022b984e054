//! What loops carry, branches give and combinations take: tiles, and tuples, arrays and vectors of them.

use crate::Tile;

/// Tiles in a fixed structure: one, none, a tuple, an array or a vector of them, nested as one likes.
///
/// Implement it for a struct of tiles to carry that through loops: give all tiles in an order, and take them back
/// in the same.
pub trait Carried<'k>: Sized {
    /// Appends all tiles, in an order of the type's own.
    fn tiles(&self, to: &mut Vec<Tile<'k>>);

    /// The same structure with other tiles, taken from the iterator in the order of [`Carried::tiles`].
    fn with_tiles(&self, from: &mut dyn Iterator<Item = Tile<'k>>) -> Self;
}

/// All tiles of a structure.
pub(crate) fn tiles_of<'k>(carried: &impl Carried<'k>) -> Vec<Tile<'k>> {
    let mut tiles = Vec::new();
    carried.tiles(&mut tiles);
    tiles
}

impl<'k> Carried<'k> for Tile<'k> {
    fn tiles(&self, to: &mut Vec<Tile<'k>>) {
        to.push(*self);
    }

    fn with_tiles(&self, from: &mut dyn Iterator<Item = Tile<'k>>) -> Self {
        from.next().unwrap_or(*self)
    }
}

impl<'k> Carried<'k> for () {
    fn tiles(&self, _: &mut Vec<Tile<'k>>) {}

    fn with_tiles(&self, _: &mut dyn Iterator<Item = Tile<'k>>) -> Self {}
}

impl<'k, C: Carried<'k>, const N: usize> Carried<'k> for [C; N] {
    fn tiles(&self, to: &mut Vec<Tile<'k>>) {
        self.iter().for_each(|item| item.tiles(to));
    }

    fn with_tiles(&self, from: &mut dyn Iterator<Item = Tile<'k>>) -> Self {
        self.each_ref().map(|item| item.with_tiles(from))
    }
}

impl<'k, C: Carried<'k>> Carried<'k> for Vec<C> {
    fn tiles(&self, to: &mut Vec<Tile<'k>>) {
        self.iter().for_each(|item| item.tiles(to));
    }

    fn with_tiles(&self, from: &mut dyn Iterator<Item = Tile<'k>>) -> Self {
        self.iter().map(|item| item.with_tiles(from)).collect()
    }
}

macro_rules! tuples {
    ($($($name:ident $index:tt),+;)*) => {$(
        impl<'k, $($name: Carried<'k>),+> Carried<'k> for ($($name,)+) {
            fn tiles(&self, to: &mut Vec<Tile<'k>>) {
                $(self.$index.tiles(to);)+
            }

            fn with_tiles(&self, from: &mut dyn Iterator<Item = Tile<'k>>) -> Self {
                ($(self.$index.with_tiles(from),)+)
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}
