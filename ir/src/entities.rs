//! Typed 32-bit ids and the arenas they index.
//!
//! Ids are only meaningful in the function (or module) that gave them out. Data sits in an
//! [`Arena`]; facts about entities sit in side maps indexed by the same ids.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense 32-bit index with a type.
pub trait EntityId: Copy + Eq {
    /// The id with this index.
    fn from_index(index: usize) -> Self;
    /// The index of this id.
    fn index(self) -> usize;
}

macro_rules! entity {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl EntityId for $name {
            fn from_index(index: usize) -> Self {
                $name(u32::try_from(index).expect("arenas are bounded to 2^32 entities by the reader"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

entity! {
    /// An operation of a function.
    OpId "op";
    /// A value of a function: the result of an operation or an argument of a block.
    ValueId "v";
    /// A basic block of a function.
    BlockId "bb";
    /// A region (a list of blocks) of a function.
    RegionId "r";
    /// A location of a module.
    LocId "loc";
    /// A function of a module.
    FuncId "fn";
}

/// Entities of a chunk of an [`Arena`], as a power of two: chunks stay small enough to be recycled by an allocator.
const CHUNK_BITS: u32 = 9;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Growing storage for entities of one kind.
///
/// In chunks, which never move: a function may have 10^5 operations, and copying them while growing would
/// take longer than making them.
#[derive(Clone, PartialEq)]
pub struct Arena<K, T> {
    /// All full but the last; none is empty.
    chunks: Vec<Vec<T>>,
    key: PhantomData<K>,
}

impl<K: EntityId, T> Arena<K, T> {
    /// An empty arena.
    pub fn new() -> Self {
        Arena {
            chunks: Vec::new(),
            key: PhantomData,
        }
    }

    /// Adds an entity.
    pub fn push(&mut self, item: T) -> K {
        let id = K::from_index(self.len());
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(item),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(item);
                self.chunks.push(chunk);
            }
            // Most functions are small: their only chunk grows as it is filled.
            None => self.chunks.push(vec![item]),
        }
        id
    }

    /// Forgets all entities but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.chunks.truncate(len.div_ceil(CHUNK));
        if let Some(last) = len.checked_sub(1)
            && let Some(chunk) = self.chunks.get_mut(last >> CHUNK_BITS)
        {
            chunk.truncate((last & (CHUNK - 1)) + 1);
        }
    }

    /// Number of entities.
    pub fn len(&self) -> usize {
        match self.chunks.split_last() {
            Some((last, full)) => (full.len() << CHUNK_BITS) + last.len(),
            None => 0,
        }
    }

    /// True without entities.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The entity, or none if the id is not of this arena.
    pub fn get(&self, id: K) -> Option<&T> {
        let index = id.index();
        self.chunks.get(index >> CHUNK_BITS)?.get(index & (CHUNK - 1))
    }

    /// All entities in the order of their ids, by value.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = T> {
        self.chunks.into_iter().flatten()
    }

    /// All entities in the order of their ids, to change them.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }

    /// All ids, rising.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = K> + use<K, T> {
        (0..self.len()).map(K::from_index)
    }

    /// All entities with their ids, rising.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &T)> {
        self.chunks.iter().enumerate().flat_map(|(i, chunk)| {
            let item = move |(j, item)| (K::from_index((i << CHUNK_BITS) + j), item);
            chunk.iter().enumerate().map(item)
        })
    }
}

impl<K: EntityId, T> Default for Arena<K, T> {
    fn default() -> Self {
        Arena::new()
    }
}

impl<K: EntityId, T> Index<K> for Arena<K, T> {
    type Output = T;
    fn index(&self, id: K) -> &T {
        &self.chunks[id.index() >> CHUNK_BITS][id.index() & (CHUNK - 1)]
    }
}

impl<K: EntityId, T> IndexMut<K> for Arena<K, T> {
    fn index_mut(&mut self, id: K) -> &mut T {
        &mut self.chunks[id.index() >> CHUNK_BITS][id.index() & (CHUNK - 1)]
    }
}

impl<K: EntityId + std::fmt::Debug, T: std::fmt::Debug> std::fmt::Debug for Arena<K, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_is_one_list_over_its_chunks() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 7] {
            let mut arena: Arena<OpId, usize> = Arena::new();
            let ids: Vec<OpId> = (0..len).map(|i| arena.push(i)).collect();
            assert_eq!((arena.len(), arena.is_empty()), (len, len == 0));
            assert!(
                arena
                    .iter()
                    .map(|(id, &i)| (id.index(), i))
                    .eq((0..len).map(|i| (i, i)))
            );
            assert!(arena.iter().rev().map(|(id, _)| id.index()).eq((0..len).rev()));
            assert!(arena.ids().eq(ids.iter().copied()));
            assert!(ids.iter().all(|&id| arena[id] == id.index()));
            assert_eq!(arena.get(OpId::from_index(len)), None);
            for keep in [0, 1, CHUNK, CHUNK + 1, len] {
                let mut cut = arena.clone();
                cut.truncate(keep);
                assert_eq!(cut.len(), keep.min(len));
                let next = cut.push(99);
                assert_eq!((next.index(), cut[next]), (keep.min(len), 99));
            }
            assert!(arena.into_values().eq(0..len));
        }
    }
}
