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

/// Growing storage for entities of one kind.
#[derive(Clone, PartialEq)]
pub struct Arena<K, T> {
    items: Vec<T>,
    key: PhantomData<K>,
}

impl<K: EntityId, T> Arena<K, T> {
    /// An empty arena.
    pub fn new() -> Self {
        Arena {
            items: Vec::new(),
            key: PhantomData,
        }
    }

    /// Adds an entity.
    pub fn push(&mut self, item: T) -> K {
        let id = K::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// Forgets all entities but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    /// Number of entities.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True without entities.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The entity, or none if the id is not of this arena.
    pub fn get(&self, id: K) -> Option<&T> {
        self.items.get(id.index())
    }

    /// All entities in the order of their ids, by value.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = T> {
        self.items.into_iter()
    }

    /// All entities in the order of their ids, to change them.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.items.iter_mut()
    }

    /// All ids, rising.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = K> + use<K, T> {
        (0..self.items.len()).map(K::from_index)
    }

    /// All entities with their ids, rising.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &T)> {
        self.items
            .iter()
            .enumerate()
            .map(|(i, item)| (K::from_index(i), item))
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
        &self.items[id.index()]
    }
}

impl<K: EntityId, T> IndexMut<K> for Arena<K, T> {
    fn index_mut(&mut self, id: K) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<K: EntityId + std::fmt::Debug, T: std::fmt::Debug> std::fmt::Debug for Arena<K, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
